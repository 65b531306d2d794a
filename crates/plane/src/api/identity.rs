//! Users: who makes a request, and what an access review asks about.

use serde_json::Value;

/// An authenticated user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub groups: Vec<String>,
}

impl Identity {
    /// A user in the group `system:authenticated`; service accounts are in two more groups.
    pub fn named(name: &str) -> Self {
        let mut groups = Vec::new();
        if let Some(account) = name.strip_prefix("system:serviceaccount:") {
            let namespace = account.split(':').next().unwrap_or("");
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        groups.push("system:authenticated".to_owned());
        Self { name: name.to_owned(), groups }
    }
}

/// The request of an access review.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub user: String,
    pub groups: Vec<String>,
    /// The `spec` of the review.
    pub spec: Value,
}
