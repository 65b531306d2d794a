//! The reasons for which a certificate is issued again.

use std::fmt;

/// Why a certificate is issued again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Missing,
    Unreadable,
    KeyMismatch,
    NotACa,
    /// Expired, or not valid yet.
    Expired,
    /// Two thirds of its lifetime have passed.
    RenewalDue,
    MissingName,
    OtherIssuer,
}

impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Missing => "it is missing",
            Self::Unreadable => "it cannot be read",
            Self::KeyMismatch => "its key does not match",
            Self::NotACa => "it is not a CA certificate",
            Self::Expired => "it is expired or not valid yet",
            Self::RenewalDue => "two thirds of its lifetime have passed",
            Self::MissingName => "a name is missing",
            Self::OtherIssuer => "another CA issued it",
        })
    }
}
