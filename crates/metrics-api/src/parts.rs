//! The parts of the server that the process owns.

use std::fmt;
use std::sync::Arc;

use kedge_serving::ServingCertificate;

use crate::authentication::Trust;
use crate::health::Readiness;
use crate::review::Reviewer;
use crate::source::MetricSource;

/// What the process gives the server to work with.
#[derive(Clone)]
pub struct Parts {
    pub source: Arc<dyn MetricSource>,
    pub reviewer: Arc<dyn Reviewer>,
    pub trust: Trust,
    pub certificate: ServingCertificate,
    pub readiness: Readiness,
}

impl fmt::Debug for Parts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Parts").finish_non_exhaustive()
    }
}
