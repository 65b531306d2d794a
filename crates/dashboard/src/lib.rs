//! The page that shows what scales, and why. [`Dashboard::handle`] is the one entry point: a request in, a response out. It opens no
//! socket, and asks its parts for everything: [`DashboardSource`] for what is shown, [`Access`] for who may see it, and [`Controls`],
//! where there are any, for what may be changed.
//!
//! | module | what it holds |
//! |---|---|
//! | `dashboard` | one request: checked, routed, answered |
//! | [`guard`] | which requests a browser may send |
//! | `route` | the paths |
//! | `page` | the page itself: `page/` holds its files |
//! | [`response`] | the headers of all responses |
//! | [`access`] | who may see which objects |
//! | [`controls`] | what can be changed from the page, in a playground |
//! | [`source`] | the trait that provides what is shown |
//! | [`view`] | what is shown |

pub mod access;
pub mod controls;
mod dashboard;
pub mod guard;
mod page;
pub mod response;
mod route;
pub mod source;
pub mod view;

pub use access::{Access, Denied, Visible};
pub use controls::{Action, Controls, Dial, Health};
pub use dashboard::{BODY_BYTES_MAX, Dashboard, READ_ONLY};
pub use guard::Hosts;
pub use page::is_page_file;
pub use source::DashboardSource;
