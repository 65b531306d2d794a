//! The environment variables by which a cloud identifies this process. The binary hands them over.

use std::collections::BTreeMap;
use std::fmt;

/// Variables of the process that identify it to a cloud. Some of them are credentials, so none is shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CloudEnvironment {
    pub variables: BTreeMap<String, String>,
}

impl CloudEnvironment {
    /// Every variable that is read.
    pub const NAMES: &'static [&'static str] = &[
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_REGION",
        "AWS_DEFAULT_REGION",
        "AWS_ROLE_ARN",
        "AWS_ROLE_SESSION_NAME",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_ENDPOINT_URL_STS",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
        "AWS_EC2_METADATA_DISABLED",
        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
        "AZURE_CLIENT_ID",
        "AZURE_TENANT_ID",
        "AZURE_FEDERATED_TOKEN_FILE",
        "AZURE_AUTHORITY_HOST",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GCE_METADATA_HOST",
    ];

    /// The value of a variable; what is blank is absent.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(Self::NAMES.contains(&name), "{name} is not among the variables that are handed over");
        self.variables.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for CloudEnvironment {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(variables: I) -> Self {
        Self { variables: variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect() }
    }
}

impl fmt::Debug for CloudEnvironment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_named_and_not_shown() {
        let cloud_environment: CloudEnvironment =
            [("AWS_SECRET_ACCESS_KEY", "hunter2"), ("AWS_REGION", " ")].into_iter().collect();
        assert_eq!(cloud_environment.get("AWS_SECRET_ACCESS_KEY"), Some("hunter2"));
        assert_eq!(cloud_environment.get("AWS_REGION"), None);
        assert_eq!(format!("{cloud_environment:?}"), r#"{"AWS_REGION", "AWS_SECRET_ACCESS_KEY"}"#);
    }
}
