//! The rules applied to documents. Each knows the others of all files: what admission looks up in a cluster is looked up there.

use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::{ScaledObject, names};
use kedge_core::hpa::render::hpa_name;
use kedge_scalers::http::connector::Connector;
use kedge_scalers::{NoCluster, Registry, Settings};
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use kedge_webhooks::index::Index;
use kedge_webhooks::neighbours::{Neighbours, Workload};
use kedge_webhooks::rules::authentication::Reach;
use kedge_webhooks::rules::{self, Run, requests};
use serde_json::Value;

use super::advice;
use super::shape::Shapes;

pub(super) static VERSION_UNKNOWN: Rule = Rule {
    id: "version-unknown",
    severity: Severity::Error,
    about: "A version of keda.sh that no cluster serves.",
    counted_as: None,
};

pub(super) static UNREADABLE: Rule = Rule {
    id: "unreadable",
    severity: Severity::Error,
    about: "An object that has the shape of its kind and still cannot be read.",
    counted_as: None,
};

/// What is needed to judge any document.
#[derive(Debug)]
pub(crate) struct Judge {
    shapes: Shapes,
    registry: Registry,
    index: Index,
}

impl Judge {
    /// One that knows these objects.
    pub(crate) fn knowing<'o>(objects: impl Iterator<Item = &'o Value>) -> Self {
        let index = Index::default();
        objects.for_each(|object| index.add(object));
        let registry = Registry::new(Settings::default(), Connector::tcp(), std::sync::Arc::new(NoCluster));
        Self { shapes: Shapes::new(), registry, index }
    }

    /// Everything that is to be said of an object; nothing at all of kinds that are not ours.
    pub(crate) fn judge(&self, object: &Value) -> Option<Vec<Finding>> {
        let (group, version) = object["apiVersion"].as_str()?.split_once('/')?;
        if group != names::GROUP {
            return None;
        }
        if version != names::VERSION {
            return Some(vec![unknown_version(version)]);
        }
        let kind = object["kind"].as_str().unwrap_or_default();
        let mut findings = self.shapes.check(kind, object);
        // Rules are for objects of the right shape.
        if findings.iter().all(|finding| finding.rule.id != super::shape::SCHEMA.id) {
            findings.extend(self.apply(kind, object).unwrap_or_else(|unreadable| vec![unreadable]));
        }
        Some(findings)
    }

    fn apply(&self, kind: &str, object: &Value) -> Result<Vec<Finding>, Finding> {
        match kind {
            "ScaledObject" => {
                let object: ScaledObject = read(object)?;
                let neighbours = self.look_around(&object);
                let mut findings = rules::scaled_object(&self.registry, &object, &[], &neighbours, Run::Real);
                findings.extend(advice::scaled_object(&object));
                Ok(findings)
            }
            "ScaledJob" => Ok(rules::scaled_job(&self.registry, &read::<ScaledJob>(object)?, &[])),
            "TriggerAuthentication" => self.authentication(object, Reach::Namespace),
            "ClusterTriggerAuthentication" => self.authentication(object, Reach::Cluster),
            _ => Ok(Vec::new()),
        }
    }

    fn authentication(&self, object: &Value, reach: Reach) -> Result<Vec<Finding>, Finding> {
        let spec: TriggerAuthenticationSpec = read(&object["spec"])?;
        Ok(rules::authentication::check(&spec, reach))
    }

    /// What the other documents say. A target that is not among them may well be in the cluster.
    fn look_around(&self, object: &ScaledObject) -> Neighbours {
        let namespace = object.metadata.namespace.as_deref().unwrap_or_default();
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let target = object.spec.scale_target_ref.name.as_str();
        let containers = requests::wanted(&object.spec).and_then(|kind| self.index.containers(kind, namespace, target));
        Neighbours {
            unserved: Vec::new(),
            same_target: self.index.same_target(namespace, target, name),
            same_hpa: self.index.same_hpa(namespace, &hpa_name(object), name),
            hpas: self.index.hpas(namespace, target),
            workload: containers.map_or(Workload::Unknown, Workload::Containers),
            defaults: self.index.defaults(namespace),
        }
    }
}

fn read<T: serde::de::DeserializeOwned>(object: &Value) -> Result<T, Finding> {
    T::deserialize(object).map_err(|error| Finding {
        rule: &UNREADABLE,
        path: FieldPath::default(),
        problem: format!("cannot be read: {error}"),
        remedy: "correct it".to_owned(),
    })
}

fn unknown_version(version: &str) -> Finding {
    Finding {
        rule: &VERSION_UNKNOWN,
        path: FieldPath::of("apiVersion"),
        problem: format!("there is no version {version} of {}", names::GROUP),
        remedy: format!("write {}/{}", names::GROUP, names::VERSION),
    }
}
