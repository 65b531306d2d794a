//! What the tests of this package share.
//!
//! | module | what it holds |
//! |---|---|
//! | [`files`] | the folders that tests read |
//! | [`golden`] | golden folders: what is given, and what is expected of it |
//! | [`helm`] | the chart, rendered |
//! | [`page`] | tables of pages that tests read and users too |
//! | [`pattern`] | names chosen by patterns |
//! | [`csv`] | golden tables |
//! | [`schema`] | CRD schemas taken apart, to be compared |
//! | [`descriptors`] | compiled protos, to be compared |
//! | [`denier`] | an admission webhook that denies |
//! | [`exposition`] | a metrics endpoint whose values a test sets |
//! | [`guarded`] | a source that must be signed in to |
//! | [`source`] | a source whose answers a test sets, query by query |
//! | [`snapshot`] | a namespace as it is, to be compared |
//! | [`history`] | every version that the objects of a namespace had |
//! | [`leak`] | looking for secrets where they must not be |
//! | [`story`] | a namespace in which a test tells a story |
//! | [`external`] | external scalers as processes of their own, and triggers that ask them |
//! | [`unruly`] | an external scaler that does what no scaler should |
//! | [`programs`] | the programs of this checkout |

pub mod csv;
pub mod denier;
pub mod descriptors;
pub mod exposition;
pub mod external;
pub mod files;
pub mod golden;
pub mod guarded;
pub mod helm;
pub mod history;
pub mod leak;
pub mod page;
pub mod pattern;
pub mod programs;
pub mod schema;
pub mod snapshot;
pub mod source;
pub mod story;
pub mod unruly;
