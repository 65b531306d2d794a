//! The kind of the target.

use kedge_api::scaled_object::ScaledObjectSpec;

use crate::finding::{FieldPath, Finding, Rule, Severity};
use crate::neighbours::Neighbours;

pub static KIND_UNKNOWN: Rule = Rule {
    id: "target-kind-unknown",
    severity: Severity::Error,
    about: "the cluster serves no such kind as the target, or an HPA for a target of that name, has",
    counted_as: None,
};

pub fn check(spec: &ScaledObjectSpec, neighbours: &Neighbours) -> Vec<Finding> {
    let own = spec.scale_target_ref.api_version_and_kind();
    let explain = |named: &(String, String)| {
        let (api_version, kind) = named;
        let remedy = match *named == own {
            true => "correct apiVersion and kind, or install what defines them".to_owned(),
            // KEDA: an HPA for a target of the same name is enough.
            false => {
                "an HPA for a target of this name has that kind: delete it, or install what defines the kind".to_owned()
            }
        };
        let problem = format!("no matches for kind {kind:?} in version {api_version:?}");
        Finding::new(&KIND_UNKNOWN, FieldPath::of("spec.scaleTargetRef.kind"), problem, remedy)
    };
    neighbours.unserved.iter().map(explain).collect()
}
