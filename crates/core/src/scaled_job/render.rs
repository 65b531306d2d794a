//! The Job for a ScaledJob.

use std::collections::BTreeMap;

use kedge_api::ScaledJob;
use kedge_api::names::{annotations, labels};
use serde_json::{Map, Value, json};

use crate::owned::{owner_reference, with_labels_of_owner};

/// KEDA: what a pod template says that says nothing. The default of pods, `Always`, is not allowed in Jobs.
const RESTART_POLICY_DEFAULT: &str = "OnFailure";

/// Renders a Job with this name. As JSON: the template is kept as its author wrote it.
pub fn render_job(object: &ScaledJob, name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": object.metadata.namespace,
            "labels": render_labels(object, version),
            "annotations": render_annotations(object),
            "ownerReferences": [owner_reference("ScaledJob", &object.metadata)],
        },
        "spec": render_spec(object),
    })
}

fn name_of(object: &ScaledJob) -> &str {
    object.metadata.name.as_deref().unwrap_or_default()
}

fn render_labels(object: &ScaledJob, version: &str) -> BTreeMap<String, String> {
    let name = name_of(object).to_owned();
    let own = [
        (labels::NAME, name.clone()),
        (labels::VERSION, version.to_owned()),
        (labels::PART_OF, name.clone()),
        (labels::MANAGED_BY, labels::MANAGED_BY_OPERATOR.to_owned()),
    ];
    let mut rendered = with_labels_of_owner(own, &object.metadata, annotations::JOB_EXCLUDED_LABELS);
    // Jobs are counted by this one, so that no label of the object replaces it.
    rendered.insert(labels::SCALED_JOB_NAME.to_owned(), name);
    rendered
}

fn render_annotations(object: &ScaledJob) -> BTreeMap<String, String> {
    let mut rendered = object.metadata.annotations.clone().unwrap_or_default();
    // Jobs of another generation are deleted, so that no annotation of the object replaces this one.
    rendered.insert(annotations::JOB_GENERATION.to_owned(), generation_of(object).to_string());
    rendered
}

/// The generation of an object; 0 where the API server has set none.
pub fn generation_of(object: &ScaledJob) -> i64 {
    object.metadata.generation.unwrap_or_default()
}

fn render_spec(object: &ScaledJob) -> Map<String, Value> {
    let mut spec = object.spec.job_target_ref.0.clone();
    let template = object_at(&mut spec, "template");
    let metadata = object_at(template, "metadata");
    metadata.insert("generateName".to_owned(), json!(format!("{}-", name_of(object))));
    object_at(metadata, "labels").insert(labels::SCALED_JOB_NAME.to_owned(), json!(name_of(object)));
    let pod = object_at(template, "spec");
    if pod.get("restartPolicy").and_then(Value::as_str).unwrap_or_default().is_empty() {
        pod.insert("restartPolicy".to_owned(), json!(RESTART_POLICY_DEFAULT));
    }
    spec
}

/// The object in this field, which is made one if it is none.
fn object_at<'a>(parent: &'a mut Map<String, Value>, field: &str) -> &'a mut Map<String, Value> {
    let value = parent.entry(field).or_insert_with(|| json!({}));
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(metadata: Value, template: Value) -> Value {
        let mut object = json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob",
            "metadata": { "name": "drain", "namespace": "shop", "uid": "u", "generation": 3 },
            "spec": { "jobTargetRef": { "backoffLimit": 2, "template": template }, "triggers": [] },
        });
        json_patch::merge(&mut object["metadata"], &metadata);
        render_job(&serde_json::from_value(object).unwrap(), "drain-3-1", "1.2.3")
    }

    #[test]
    fn a_job_is_its_template_with_an_owner_and_marks() {
        let template =
            json!({ "metadata": { "labels": { "app": "drain" } }, "spec": { "containers": [{ "name": "main" }] } });
        let job = rendered(json!({}), template);
        assert_eq!(
            job["metadata"],
            json!({
                "name": "drain-3-1", "namespace": "shop",
                "labels": {
                    "app.kubernetes.io/name": "drain", "app.kubernetes.io/version": "1.2.3",
                    "app.kubernetes.io/part-of": "drain", "app.kubernetes.io/managed-by": "keda-operator",
                    "scaledjob.keda.sh/name": "drain",
                },
                "annotations": { "scaledjob.keda.sh/generation": "3" },
                "ownerReferences": [{
                    "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "name": "drain", "uid": "u",
                    "controller": true, "blockOwnerDeletion": true,
                }],
            })
        );
        assert_eq!(
            job["spec"],
            json!({
                "backoffLimit": 2,
                "template": {
                    "metadata": { "generateName": "drain-", "labels": { "app": "drain", "scaledjob.keda.sh/name": "drain" } },
                    "spec": { "containers": [{ "name": "main" }], "restartPolicy": "OnFailure" },
                },
            })
        );
    }

    #[test]
    fn a_restart_policy_is_kept_and_an_empty_one_is_not() {
        for (given, expected) in [("Never", "Never"), ("Always", "Always"), ("", "OnFailure")] {
            let job = rendered(json!({}), json!({ "metadata": null, "spec": { "restartPolicy": given } }));
            assert_eq!(job["spec"]["template"]["spec"]["restartPolicy"], expected, "{given:?}");
        }
    }

    #[test]
    fn labels_and_annotations_are_copied_but_for_excluded_labels_and_our_own_marks() {
        let job = rendered(
            json!({
                "labels": {
                    "team": "a", "tier": "b", " spaced": "c", "app.kubernetes.io/name": "mine", "scaledjob.keda.sh/name": "other",
                },
                "annotations": {
                    "scaledjob.keda.sh/job-excluded-labels": "tier, spaced", "note": "kept", "scaledjob.keda.sh/generation": "9",
                },
            }),
            json!({ "metadata": { "labels": { "scaledjob.keda.sh/name": "other" } } }),
        );
        let labels = &job["metadata"]["labels"];
        assert_eq!((&labels["team"], &labels["tier"]), (&json!("a"), &Value::Null));
        assert_eq!(labels["app.kubernetes.io/name"], "mine", "the object's labels win");
        assert_eq!(labels[labels::SCALED_JOB_NAME], "drain", "but for the one that Jobs are counted by");
        assert_eq!(job["metadata"]["annotations"]["note"], "kept");
        assert_eq!(job["metadata"]["annotations"][annotations::JOB_GENERATION], "3");
        assert_eq!(job["spec"]["template"]["metadata"]["labels"][labels::SCALED_JOB_NAME], "drain");
    }
}
