//! What may be chosen about a plane.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::call::Call;
use crate::review::{Access, Identity};

/// Tells wall time.
pub type Wall = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// Says whose token it is; none if nobody's.
pub type Authenticate = Arc<dyn Fn(&str) -> Option<Identity> + Send + Sync>;

/// Makes a token for a user.
pub type Issue = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Is told of each call that comes from inside the process, with the code it was answered with.
pub type Observe = Arc<dyn Fn(&Call, u16) + Send + Sync>;

/// Says whether somebody may do something. Asked by access reviews only: requests themselves are never refused.
pub type Authorize = Arc<dyn Fn(&Access) -> bool + Send + Sync>;

/// What may be chosen about a plane.
#[derive(Clone)]
pub struct Options {
    pub wall: Wall,
    /// How many changes the log remembers.
    pub history: usize,
    /// How long a watch lasts that names no `timeoutSeconds`. (The API server draws between 30 and 60 minutes.)
    pub watch_lasts: Duration,
    /// A token `user:NAME` is NAME's, unless this says otherwise.
    pub authenticate: Authenticate,
    /// A user NAME gets the token `user:NAME`, unless this says otherwise.
    pub issue: Issue,
    /// Everything is allowed, unless this says otherwise.
    pub authorize: Authorize,
    /// Nobody is told, unless this says otherwise.
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
            issue: Arc::new(|user| format!("user:{user}")),
            authorize: Arc::new(|_| true),
            observe: Arc::new(|_, _| ()),
        }
    }
}
