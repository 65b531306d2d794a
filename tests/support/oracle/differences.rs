//! Where Kedge may answer otherwise than KEDA's scalers, and why.

use kedge_test_cluster::oracle::Family;

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// KEDA builds the trigger.
    KedgeRefuses,
    /// KEDA does not build the trigger.
    KedgeBuilds,
    Metric,
    Target,
    Reading,
}

/// Cases that differ for one reason.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    pub family: Family,
    pub kind: Kind,
    /// Names of cases, in which `*` is any text.
    pub cases: &'static [&'static str],
    /// Words of `docs/differences-from-keda.md` that give the reason.
    pub reason: &'static str,
}

pub const DIFFERENCES: &[Difference] = &[];
