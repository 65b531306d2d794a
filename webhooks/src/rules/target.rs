//! The kind of the target.

use kedge_api::scaled_object::ScaledObjectSpec;

use crate::neighbours::Neighbours;
use crate::violation::{FieldPath, Rule, Severity, Violation};

pub static UNKNOWN_TARGET_KIND: Rule = Rule {
    id: "unknown-target-kind",
    severity: Severity::Error,
    about: "the cluster does not serve the kind of the target, or the kind that an HPA for a target of that name refers to",
    counted_as: None,
};

pub fn check(spec: &ScaledObjectSpec, neighbours: &Neighbours) -> Vec<Violation> {
    let own = spec.scale_target_ref.api_version_and_kind();
    let explain = |(api_version, kind): &(String, String)| {
        let remedy = match (api_version.as_str(), kind.as_str()) == own {
            true => "correct apiVersion and kind, or install what defines them".to_owned(),
            // KEDA: an HPA for a target of the same name is enough.
            false => {
                "an HPA for a target of this name has that kind: delete it, or install what defines the kind".to_owned()
            }
        };
        let problem = format!("no matches for kind {kind:?} in version {api_version:?}");
        Violation::new(&UNKNOWN_TARGET_KIND, FieldPath::new("spec.scaleTargetRef.kind"), problem, remedy)
    };
    neighbours.unserved.iter().map(explain).collect()
}
