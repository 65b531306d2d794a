//! The service account of the operator, and its optional parts.

/// The service account of the operator, and its optional parts.
#[derive(Clone, Debug)]
pub(super) struct Operator {
    pub(super) account: String,
    pub(super) namespace: String,
    pub(super) certificates: Certificates,
    pub(super) webhooks: Webhooks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certificates {
    Generated,
    Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Webhooks {
    Served,
    None,
}
