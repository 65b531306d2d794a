//! The next step of the rotation: a total function of the Secret's contents, the specification and the time.

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::contents::SecretContents;
use crate::parse::{self, CaCertificate, Leaf};
use crate::reason::Reason;
use crate::spec::{CertificateSpec, backdating};

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Nothing to do until then.
    Keep { until: DateTime<Utc> },
    /// Replace the leaf of the old CA by one of the new CA as soon as that is trusted everywhere, and at the latest then, when the old
    /// leaf expires.
    ReplaceLeaf { by: DateTime<Utc> },
    /// Issue a new leaf by the same CA, at once.
    RenewLeaf { because: Reason },
    /// Issue a new CA certificate.
    RenewCa { because: Reason },
    /// Drop the CA certificates that were replaced.
    DropOldCas,
}

/// Chooses the next step.
pub fn plan(found: &SecretContents, spec: &CertificateSpec, now: DateTime<Utc>) -> Plan {
    let (signer, others) = match parse::signer(found) {
        Ok(found) => found,
        Err(because) => return Plan::RenewCa { because },
    };
    let ca = signer.ca;
    if !ca.validity.contains(now) {
        return Plan::RenewCa { because: Reason::Expired };
    }
    if ca.validity.renew_at() <= now {
        return Plan::RenewCa { because: Reason::RenewalDue };
    }
    let leaf = match parse::leaf(found) {
        Ok(leaf) => leaf,
        Err(because) => return Plan::RenewLeaf { because },
    };
    plan_leaf(&leaf, &ca, &others, spec, now)
}

fn plan_leaf(
    leaf: &Leaf,
    ca: &CaCertificate,
    others: &[CaCertificate],
    spec: &CertificateSpec,
    now: DateTime<Utc>,
) -> Plan {
    if !leaf.validity.contains(now) {
        return Plan::RenewLeaf { because: Reason::Expired };
    }
    if !leaf.is_issued_by(ca, now) {
        let old = others.iter().find(|old| old.validity.contains(now) && leaf.is_issued_by(old, now));
        return match old {
            Some(old) => Plan::ReplaceLeaf { by: leaf.validity.not_after.min(old.validity.not_after) },
            None => Plan::RenewLeaf { because: Reason::OtherIssuer },
        };
    }
    if !leaf.covers(&spec.names) {
        return Plan::RenewLeaf { because: Reason::MissingName };
    }
    if leaf.validity.renew_at() <= now {
        return Plan::RenewLeaf { because: Reason::RenewalDue };
    }
    let renew_at = leaf.validity.renew_at().min(ca.validity.renew_at());
    match drop_at(leaf, others, spec) {
        Some(at) if at <= now => Plan::DropOldCas,
        Some(at) => Plan::Keep { until: at.min(renew_at) },
        None => Plan::Keep { until: renew_at },
    }
}

/// When to drop the old CA certificates: some time after the leaf was issued, or when the first of them expires.
fn drop_at(leaf: &Leaf, others: &[CaCertificate], spec: &CertificateSpec) -> Option<DateTime<Utc>> {
    let first_expiry = others.iter().map(|old| old.validity.not_after).min()?;
    let issued_at = leaf.validity.not_before + delta(backdating(spec.lifetimes.leaf));
    Some(first_expiry.min(issued_at + delta(spec.overlap())))
}

pub(crate) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

#[cfg(test)]
mod tests;
