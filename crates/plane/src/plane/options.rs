//! The options of a plane.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::api::identity::{Access, Identity};
use crate::api::request::Call;

/// The wall clock.
pub type Wall = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// Authenticates a token; none if it is not valid.
pub type Authenticate = Arc<dyn Fn(&str) -> Option<Identity> + Send + Sync>;

/// Issues a token for a user.
pub type Issue = Arc<dyn Fn(&str, &[String]) -> String + Send + Sync>;

/// Observes each call that comes from inside the process, with the status code of its response.
pub type Observe = Arc<dyn Fn(&Call, u16) + Send + Sync>;

/// Authorizes an access review. Requests themselves are never denied.
pub type Authorize = Arc<dyn Fn(&Access) -> bool + Send + Sync>;

/// The options of a plane.
#[derive(Clone)]
pub struct Options {
    pub wall: Wall,
    /// The length of the log of changes.
    pub history: usize,
    /// How long a watch lasts that names no `timeoutSeconds`. (The API server draws between 30 and 60 minutes.)
    pub watch_lasts: Duration,
    /// By default, `user:NAME` is a token of NAME.
    pub authenticate: Authenticate,
    /// By default, NAME gets the token `user:NAME`.
    pub issue: Issue,
    /// Allows everything by default.
    pub authorize: Authorize,
    /// Ignored by default.
    pub observe: Observe,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Options")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wall: Arc::new(Utc::now),
            history: 10_000,
            watch_lasts: Duration::from_secs(30 * 60),
            authenticate: Arc::new(|token| token.strip_prefix("user:").map(Identity::named)),
            issue: Arc::new(|user, _| format!("user:{user}")),
            authorize: Arc::new(|_| true),
            observe: Arc::new(|_, _| ()),
        }
    }
}
