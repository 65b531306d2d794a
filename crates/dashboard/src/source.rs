//! Where the page gets what it shows: implemented by the process, called by this crate.

use std::collections::BTreeSet;

use crate::view::{LoggedStep, ObjectDetail, ObjectSummary, Standby};

pub trait DashboardSource: Send + Sync + 'static {
    /// The present, in milliseconds since 1970: in a playground it may run faster than the clock of the browser.
    fn now(&self) -> i64;

    /// Whether another replica has what there is to show.
    fn standby(&self) -> Option<Standby>;

    /// The namespaces that have objects.
    fn namespaces(&self) -> BTreeSet<String>;

    /// All objects, by namespace and name.
    fn objects(&self) -> Vec<ObjectSummary>;

    fn object(&self, namespace: &str, name: &str) -> Option<ObjectDetail>;

    /// What all objects logged after an entry, in order.
    fn steps_after(&self, id: u64) -> Vec<LoggedStep>;
}
