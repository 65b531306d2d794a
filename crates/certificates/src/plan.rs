//! What is to be done about what was found: a total function of the Secret's contents, what is wanted, and the time.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::contents::Contents;
use crate::reading::{self, Authority, Leaf};
use crate::wanted::{Wanted, backdating};

/// The next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    /// All is well until then.
    Keep { until: DateTime<Utc> },
    /// The leaf is of an authority that is being replaced. It is followed by one of the new authority as soon as that is trusted, and at the
    /// latest then, when the old one is of no use any more.
    Follow { by: DateTime<Utc> },
    /// A new leaf, of the same authority, at once.
    RenewLeaf { because: Reason },
    /// A new authority.
    RenewAuthority { because: Reason },
    /// The authorities that were replaced are no longer needed.
    DropOldAuthorities,
}

/// Why something is made anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Missing,
    Unreadable,
    KeyDoesNotFit,
    NotAnAuthority,
    /// Its time is over, or has not come.
    OutOfTime,
    /// Two thirds of its time are over.
    Aged,
    NameMissing,
    OfAnotherAuthority,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "it is missing",
            Self::Unreadable => "it cannot be read",
            Self::KeyDoesNotFit => "its key does not fit",
            Self::NotAnAuthority => "it is not an authority",
            Self::OutOfTime => "its time is over, or has not come",
            Self::Aged => "two thirds of its time are over",
            Self::NameMissing => "a name is missing",
            Self::OfAnotherAuthority => "it is of another authority",
        })
    }
}

/// Chooses the next step.
pub fn plan(found: &Contents, wanted: &Wanted, now: DateTime<Utc>) -> Plan {
    let (signer, others) = match reading::signer(found) {
        Ok(found) => found,
        Err(because) => return Plan::RenewAuthority { because },
    };
    let authority = signer.authority;
    if !authority.validity.holds_at(now) {
        return Plan::RenewAuthority { because: Reason::OutOfTime };
    }
    if authority.validity.renew_at() <= now {
        return Plan::RenewAuthority { because: Reason::Aged };
    }
    let leaf = match reading::leaf(found) {
        Ok(leaf) => leaf,
        Err(because) => return Plan::RenewLeaf { because },
    };
    plan_leaf(&leaf, &authority, &others, wanted, now)
}

fn plan_leaf(leaf: &Leaf, authority: &Authority, others: &[Authority], wanted: &Wanted, now: DateTime<Utc>) -> Plan {
    if !leaf.validity.holds_at(now) {
        return Plan::RenewLeaf { because: Reason::OutOfTime };
    }
    if !leaf.is_issued_by(authority, now) {
        let old = others.iter().find(|old| old.validity.holds_at(now) && leaf.is_issued_by(old, now));
        return match old {
            Some(old) => Plan::Follow { by: leaf.validity.not_after.min(old.validity.not_after) },
            None => Plan::RenewLeaf { because: Reason::OfAnotherAuthority },
        };
    }
    if !leaf.names_all(&wanted.names) {
        return Plan::RenewLeaf { because: Reason::NameMissing };
    }
    if leaf.validity.renew_at() <= now {
        return Plan::RenewLeaf { because: Reason::Aged };
    }
    let renew_at = leaf.validity.renew_at().min(authority.validity.renew_at());
    match drop_at(leaf, others, wanted) {
        Some(at) if at <= now => Plan::DropOldAuthorities,
        Some(at) => Plan::Keep { until: at.min(renew_at) },
        None => Plan::Keep { until: renew_at },
    }
}

/// When the old authorities are no longer needed: some time after the leaf was made, or when the first of them is over.
fn drop_at(leaf: &Leaf, others: &[Authority], wanted: &Wanted) -> Option<DateTime<Utc>> {
    let first_over = others.iter().map(|old| old.validity.not_after).min()?;
    let made_at = leaf.validity.not_before + delta(backdating(wanted.lifetimes.leaf));
    Some(first_over.min(made_at + delta(wanted.overlap())))
}

pub(crate) fn delta(duration: Duration) -> TimeDelta {
    TimeDelta::from_std(duration).unwrap_or(TimeDelta::MAX)
}

#[cfg(test)]
mod tests;
