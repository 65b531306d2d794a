//! The certificates that Kedge serves with: made here, kept in one Secret that all replicas share, renewed in time, and put
//! into the objects by which the API server trusts them. Nothing restarts, and no request is lost.
//!
//! | module | what it holds | pure |
//! |---|---|---|
//! | [`contents`] | the four parts of the Secret | yes |
//! | [`wanted`] | names, lifetimes, and the times that follow from them | yes |
//! | [`mod@plan`] | what is to be done about what was found | yes |
//! | [`make`] | doing it: keys and certificates | but for randomness |
//! | `reading` | certificates and keys as they are found | yes |
//! | [`keeper`] | the Secret kept, and its certificate shown | |
//! | [`bundles`] | the authority in the APIService and in the webhook configuration | |
//! | [`files`] | certificates that somebody else keeps in files | |
//!
//! A leaf is the certificate that servers show; the authority is who issued it, and whom the API server is told to trust.
//!
//! How an authority is replaced: the new one joins the old one in `ca.crt`, first in it, and its key takes the place of the old key; the
//! leaf stays. Every replica writes both authorities into the bundles. When the bundles are seen to hold the new one, and a grace for
//! the caches of the API servers is over, a leaf of the new authority is made. A while later the old authority leaves.

pub mod bundles;
pub mod contents;
pub mod files;
pub mod keeper;
pub mod make;
pub mod plan;
mod reading;
pub mod wanted;

pub use bundles::Target;
pub use contents::Contents;
pub use keeper::{Keeper, Part, Settings};
pub use plan::{Plan, Reason, plan};
pub use wanted::{Lifetimes, Wanted};
