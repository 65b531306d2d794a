//! The Secret, read and written whole with its version.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kedge_cluster::{Projection, ResourceQuery};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};

use super::Settings;
use crate::contents::Contents;

/// KEDA: the labels of its Secret.
const LABELS: [(&str, &str); 4] = [
    ("app", "keda-operator"),
    ("app.kubernetes.io/component", "keda-operator"),
    ("app.kubernetes.io/name", "keda-operator"),
    ("app.kubernetes.io/part-of", "keda"),
];

pub(super) struct SecretStore {
    api: Api<Secret>,
    namespace: String,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Yes,
    /// Somebody else wrote first.
    TooLate,
}

/// What a Secret holds.
pub(super) fn contents(secret: &Secret) -> Contents {
    secret.data.as_ref().map(Contents::from_data).unwrap_or_default()
}

impl SecretStore {
    pub(super) fn new(client: &Client, settings: &Settings) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &settings.namespace),
            namespace: settings.namespace.clone(),
            name: settings.secret.clone(),
        }
    }

    /// What to watch for a sign that it changed. Its content is read when that is so.
    pub(super) fn subject(&self) -> ResourceQuery {
        ResourceQuery {
            path: format!("/api/v1/namespaces/{}/secrets", self.namespace),
            label_selector: None,
            field_selector: Some(format!("metadata.name={}", self.name)),
            projection: Projection::Metadata,
        }
    }

    pub(super) async fn fetch(&self) -> kube::Result<Option<Secret>> {
        self.api.get_opt(&self.name).await
    }

    /// Creates it, or replaces the one that was read.
    pub(super) async fn write(&self, stored: Option<Secret>, contents: &Contents) -> kube::Result<Written> {
        let outcome = match stored {
            None => self.api.create(&PostParams::default(), &self.fresh(contents)).await,
            Some(mut secret) => {
                contents.write_to(secret.data.get_or_insert_default());
                self.api.replace(&self.name, &PostParams::default(), &secret).await
            }
        };
        match outcome {
            Ok(_) => Ok(Written::Yes),
            // Created, changed or deleted meanwhile.
            Err(kube::Error::Api(status))
                if matches!(status.code, 404 | 409) && !is_lost_namespace(&status.message) =>
            {
                Ok(Written::TooLate)
            }
            Err(error) => Err(error),
        }
    }

    fn fresh(&self, contents: &Contents) -> Secret {
        let mut data = BTreeMap::new();
        contents.write_to(&mut data);
        let labels = LABELS.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                namespace: Some(self.namespace.clone()),
                labels: Some(labels.into()),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..Secret::default()
        }
    }
}

/// Whether it is the namespace that is missing, which reading again does not change.
fn is_lost_namespace(message: &str) -> bool {
    message.starts_with("namespaces ")
}
