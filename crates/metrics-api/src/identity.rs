//! Who a caller is, once that is known.

use std::collections::BTreeMap;

use k8s_openapi::api::authentication::v1::UserInfo;

pub(crate) const ANONYMOUS: &str = "system:anonymous";
pub(crate) const MASTERS: &str = "system:masters";
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) user: String,
    pub(crate) uid: Option<String>,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl Identity {
    pub(crate) fn anonymous() -> Self {
        Self { user: ANONYMOUS.to_owned(), groups: vec![UNAUTHENTICATED.to_owned()], ..Self::default() }
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        self.user == ANONYMOUS
    }

    pub(crate) fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }

    /// The same caller, marked as known. kube-apiserver sends some of its own requests without any group, and what
    /// those may do hangs on this one.
    pub(crate) fn marked_authenticated(mut self) -> Self {
        if !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

impl From<UserInfo> for Identity {
    fn from(info: UserInfo) -> Self {
        Self {
            user: info.username.unwrap_or_default(),
            uid: info.uid.filter(|uid| !uid.is_empty()),
            groups: info.groups.unwrap_or_default(),
            extra: info.extra.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_callers_are_marked_once() {
        let rows: [(&[&str], &[&str]); 4] = [
            (&[], &["system:authenticated"]),
            (&["dev"], &["dev", "system:authenticated"]),
            (&["system:authenticated", "dev"], &["system:authenticated", "dev"]),
            (&["system:unauthenticated"], &["system:unauthenticated"]),
        ];
        for (groups, expected) in rows {
            let groups = groups.iter().map(|group| (*group).to_owned()).collect();
            let identity = Identity { user: "ann".to_owned(), groups, ..Identity::default() };
            assert_eq!(identity.marked_authenticated().groups, expected);
        }
    }
}
