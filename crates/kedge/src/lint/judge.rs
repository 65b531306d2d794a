//! The rules applied to documents. Each knows the others of all files: what admission looks up in a cluster is looked up there.

use kedge_api::authentication::TriggerAuthenticationSpec;
use kedge_api::scaled_job::ScaledJob;
use kedge_api::{ScaledObject, names};
use kedge_core::hpa::render::hpa_name;
use kedge_scalers::http::connector::Connector;
use kedge_scalers::{NoCluster, Registry, Settings};
use kedge_webhooks::finding::{FieldPath, Finding, Rule, Severity};
use kedge_webhooks::index::Index;
use kedge_webhooks::nearest::nearest;
use kedge_webhooks::neighbours::{Neighbours, Workload};
use kedge_webhooks::rules::authentication::Reach;
use kedge_webhooks::rules::replicas::MIN_ABOVE_MAX;
use kedge_webhooks::rules::{self, Run, requests};
use serde_json::Value;

use super::advice;
use super::shape::{Checked, SCHEMA, Shapes};

pub(super) static VERSION_UNKNOWN: Rule = Rule {
    id: "version-unknown",
    severity: Severity::Error,
    about: "the apiVersion is missing, or one that no cluster serves",
    counted_as: None,
};

pub(super) static KIND_UNKNOWN: Rule =
    Rule { id: "kind-unknown", severity: Severity::Error, about: "keda.sh has no such kind", counted_as: None };

/// The group of KEDA's first version.
const OLD_GROUP: &str = "keda.k8s.io";

/// What is the same for all documents, and dear to make.
#[derive(Debug)]
pub(crate) struct Tools {
    shapes: Shapes,
    registry: Registry,
}

impl Tools {
    pub(crate) fn new() -> Self {
        let registry = Registry::new(Settings::default(), Connector::tcp(), std::sync::Arc::new(NoCluster));
        Self { shapes: Shapes::new(), registry }
    }
}

/// What is needed to judge any document.
#[derive(Debug)]
pub(crate) struct Judge<'t> {
    tools: &'t Tools,
    index: Index,
}

impl<'t> Judge<'t> {
    /// One that knows these objects.
    pub(crate) fn knowing<'o>(tools: &'t Tools, objects: impl Iterator<Item = &'o Value>) -> Self {
        let index = Index::default();
        objects.for_each(|object| index.add(object));
        Self { tools, index }
    }

    /// Everything that is to be said of an object; nothing at all of kinds that are not ours.
    pub(crate) fn judge(&self, object: &Value) -> Option<Vec<Finding>> {
        let kind = object["kind"].as_str().unwrap_or_default();
        let api_version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let is_our_kind = self.tools.shapes.kinds().any(|known| known == kind);
        match group {
            names::GROUP if version == names::VERSION && is_our_kind => Some(self.judge_kind(kind, object)),
            names::GROUP if version == names::VERSION => Some(vec![self.unknown_kind(kind)]),
            names::GROUP => Some(vec![unknown_version(api_version)]),
            // Others may have such kinds, too; of these the group is known.
            "" | OLD_GROUP if is_our_kind => Some(vec![unknown_version(api_version)]),
            _ => None,
        }
    }

    /// Rules are asked even of an object with a wrong shape, if it can be read: then everything is told at once.
    fn judge_kind(&self, kind: &str, object: &Value) -> Vec<Finding> {
        let Some(Checked { mut findings, meant }) = self.tools.shapes.check(kind, object) else { return Vec::new() };
        let is_sound = findings.iter().all(|finding| finding.rule != &SCHEMA);
        match self.apply(kind, &meant) {
            Ok(found) => {
                findings.retain(|finding| !is_said_better(finding, &found));
                findings.extend(found);
            }
            Err(unreadable) if is_sound => findings.push(unreadable),
            Err(_) => {}
        }
        findings
    }

    fn apply(&self, kind: &str, object: &Value) -> Result<Vec<Finding>, Finding> {
        match kind {
            "ScaledObject" => {
                let object: ScaledObject = read(object)?;
                let neighbours = self.look_around(&object);
                let mut findings = rules::scaled_object(&self.tools.registry, &object, &[], &neighbours, Run::Real);
                findings.extend(advice::scaled_object(&object));
                Ok(findings)
            }
            "ScaledJob" => {
                let job: ScaledJob = read(object)?;
                let mut findings = rules::scaled_job(&self.tools.registry, &job, &[]);
                findings.extend(advice::scaled_job(&job));
                Ok(findings)
            }
            "TriggerAuthentication" => self.authentication(object, Reach::Namespace),
            "ClusterTriggerAuthentication" => self.authentication(object, Reach::Cluster),
            _ => Ok(Vec::new()),
        }
    }

    fn unknown_kind(&self, kind: &str) -> Finding {
        let problem = format!("{}/{} has no kind {kind:?}", names::GROUP, names::VERSION);
        let remedy = match nearest(kind, self.tools.shapes.kinds()) {
            Some(meant) => format!("write {meant}"),
            None => format!("use one of {}", self.tools.shapes.kinds().collect::<Vec<_>>().join(", ")),
        };
        Finding::new(&KIND_UNKNOWN, FieldPath::of("kind"), problem, remedy)
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

/// Whether a rule says the same of the same field, with a better remedy.
fn is_said_better(finding: &Finding, found: &[Finding]) -> bool {
    let same_field = |other: &Finding| other.rule.severity == Severity::Error && other.path == finding.path;
    // The schema knows of these bounds, too, but not whose they are.
    let is_of_bounds =
        finding.path == FieldPath::of("spec") && finding.problem.contains("minReplicaCount must be less");
    let are_bounds_told = found.iter().any(|other| other.rule == &MIN_ABOVE_MAX);
    finding.rule == &SCHEMA && (found.iter().any(same_field) || is_of_bounds && are_bounds_told)
}

fn read<T: serde::de::DeserializeOwned>(object: &Value) -> Result<T, Finding> {
    T::deserialize(object)
        .map_err(|error| Finding::new(&SCHEMA, FieldPath::default(), format!("cannot be read: {error}"), "correct it"))
}

fn unknown_version(api_version: &str) -> Finding {
    let problem = match api_version {
        "" => "is missing".to_owned(),
        version => format!("no cluster serves {version}"),
    };
    let remedy = format!("write {}/{}", names::GROUP, names::VERSION);
    Finding::new(&VERSION_UNKNOWN, FieldPath::of("apiVersion"), problem, remedy)
}
