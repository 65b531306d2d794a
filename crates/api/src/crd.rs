//! The CustomResourceDefinitions, generated from the types of this crate.
//!
//! kube's derive writes schemas that are close to what KEDA's users have, not equal: optional fields become nullable, and
//! Kubernetes' own types come without defaults and list keys. `structural` corrects the first, `job_template` the
//! second, so that the API server validates, defaults and prunes exactly as it does with KEDA's CRDs.

mod job_template;
mod structural;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde_json::{Value, json};

use crate::{ClusterTriggerAuthentication, ScaledJob, ScaledObject, TriggerAuthentication};

/// The API server's pattern of a quantity, e.g. `500m`, `1.5` or `2Gi`.
pub(crate) const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// All CRDs of Kedge, in the order of their names.
pub fn all() -> Vec<CustomResourceDefinition> {
    let keep = |_: &mut Value| {};
    vec![
        finish(ClusterTriggerAuthentication::crd(), keep),
        finish(ScaledJob::crd(), adjust_scaled_job),
        finish(ScaledObject::crd(), keep),
        finish(TriggerAuthentication::crd(), keep),
    ]
}

/// The name of the file that holds this CRD: group, then plural.
pub fn file_name(crd: &CustomResourceDefinition) -> String {
    format!("{}_{}.yaml", crd.spec.group, crd.spec.names.plural)
}

/// The CRD as a YAML document with a note on where it comes from.
pub fn render_yaml(crd: &CustomResourceDefinition) -> String {
    let mut value = serde_json::to_value(crd).expect("a CRD is plain data");
    structural::write_integers(&mut value);
    let yaml = serde_saphyr::to_string(&value).expect("JSON is a subset of YAML");
    format!("# Generated from crates/api by `kedge crds`; edit the types there.\n---\n{yaml}")
}

fn finish(mut crd: CustomResourceDefinition, adjust: impl Fn(&mut Value)) -> CustomResourceDefinition {
    crd.spec.names.list_kind = Some(format!("{}List", crd.spec.names.kind));
    for version in &mut crd.spec.versions {
        let schema = version.schema.as_mut().and_then(|validation| validation.open_api_v3_schema.as_mut());
        let schema = schema.expect("kube's derive writes a schema");
        let mut value = serde_json::to_value(&*schema).expect("a schema is plain data");
        structural::normalise(&mut value);
        add_type_meta(&mut value);
        adjust(&mut value);
        *schema = serde_json::from_value(value).expect("a normalised schema is a schema");
    }
    crd
}

fn add_type_meta(root: &mut Value) {
    root["properties"]["apiVersion"] =
        json!({ "type": "string", "description": "The version of this API: keda.sh/v1alpha1." });
    root["properties"]["kind"] = json!({ "type": "string", "description": "The kind of this object." });
    root["properties"]["metadata"] = json!({ "type": "object" });
}

fn adjust_scaled_job(root: &mut Value) {
    // KEDA: a ScaledJob without a spec is let in and fails in the operator.
    structural::remove(root, "required");
    let spec = &mut root["properties"]["spec"]["properties"];
    // KEDA: Jobs have no HPA, so the field is pruned.
    structural::remove(&mut spec["triggers"]["items"]["properties"], "metricType");
    job_template::normalise(&mut spec["jobTargetRef"]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema_of(kind: &str) -> Value {
        let crd = all().into_iter().find(|crd| crd.spec.names.kind == kind).unwrap();
        let schema = crd.spec.versions[0].schema.clone().unwrap().open_api_v3_schema.unwrap();
        serde_json::to_value(schema).unwrap()
    }

    /// Calls `visit` with the path of every property of a schema.
    fn each_property(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            visit(&path, property);
            each_property(&path, property, visit);
        }
        for inner in ["items", "additionalProperties"] {
            if let Some(inner) = schema.get(inner) {
                each_property(&format!("{path}[]"), inner, visit);
            }
        }
    }

    #[test]
    fn every_field_of_ours_has_a_description() {
        let mut described = 0;
        for kind in ["ScaledObject", "ScaledJob", "TriggerAuthentication", "ClusterTriggerAuthentication"] {
            each_property("", &schema_of(kind), &mut |path, property| {
                if path.starts_with(".spec.jobTargetRef.") || path == ".metadata" {
                    return;
                }
                let text = property["description"].as_str().unwrap_or_default();
                assert!(text.len() > 15, "{kind}{path} has no description: {text:?}");
                described += 1;
            });
        }
        assert!(described > 300, "only {described} fields were checked");
    }

    #[test]
    fn the_job_template_has_no_descriptions() {
        each_property(
            "",
            &schema_of("ScaledJob")["properties"]["spec"]["properties"]["jobTargetRef"],
            &mut |path, property| {
                assert_eq!(property.get("description"), None, "{path}");
            },
        );
    }

    #[test]
    fn client_side_apply_can_hold_every_crd() {
        for crd in all() {
            let size = serde_json::to_vec(&crd).unwrap().len();
            assert!(size < 256 * 1024, "{} is {size} bytes", file_name(&crd));
        }
    }

    #[test]
    fn nothing_is_nullable() {
        for crd in all() {
            assert!(!render_yaml(&crd).contains("nullable"), "{}", file_name(&crd));
        }
    }
}
