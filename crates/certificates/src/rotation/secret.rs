//! The Secret, read and replaced with its resource version.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Secret;
use kedge_cluster::{Projection, ResourceQuery};
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};

use super::Settings;
use crate::contents::SecretContents;

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
pub(super) enum WriteOutcome {
    Written,
    /// Another replica wrote first.
    Conflict,
}

/// The contents of a Secret.
pub(super) fn contents(secret: &Secret) -> SecretContents {
    secret.data.as_ref().map(SecretContents::from_data).unwrap_or_default()
}

impl SecretStore {
    pub(super) fn new(client: &Client, settings: &Settings) -> Self {
        Self {
            api: Api::namespaced(client.clone(), &settings.namespace),
            namespace: settings.namespace.clone(),
            name: settings.secret.clone(),
        }
    }

    /// The query that watches it, by metadata alone; its contents are fetched after a change.
    pub(super) fn query(&self) -> ResourceQuery {
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
    pub(super) async fn write(&self, stored: Option<Secret>, contents: &SecretContents) -> kube::Result<WriteOutcome> {
        let outcome = match stored {
            None => self.api.create(&PostParams::default(), &self.fresh(contents)).await,
            Some(mut secret) => {
                contents.write_to(secret.data.get_or_insert_default());
                self.api.replace(&self.name, &PostParams::default(), &secret).await
            }
        };
        match outcome {
            Ok(_) => Ok(WriteOutcome::Written),
            // Created, changed or deleted in between.
            Err(kube::Error::Api(status))
                if matches!(status.code, 404 | 409) && !is_missing_namespace(&status.message) =>
            {
                Ok(WriteOutcome::Conflict)
            }
            Err(error) => Err(error),
        }
    }

    fn fresh(&self, contents: &SecretContents) -> Secret {
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

/// Whether the namespace is missing, which a retry does not change.
fn is_missing_namespace(message: &str) -> bool {
    message.starts_with("namespaces ")
}
