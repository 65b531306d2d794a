//! An object as a `Scale` (`autoscaling/v1`): the replicas and the selector at the paths that its resource names.

use kedge_schema::FieldError;
use serde_json::{Map, Value, json};

use crate::api::labels;
use crate::api::resource::{ScalePaths, Selector};

/// What is wrong with the replicas of a custom resource, whichever way they are written.
pub(crate) fn check_custom(paths: &ScalePaths, object: &Value) -> Vec<FieldError> {
    let problem = |path: &String| {
        let replicas = at(object, path)?.as_i64()?;
        let detail = match replicas {
            ..0 => "should be a non-negative integer".to_owned(),
            replicas if replicas > i64::from(i32::MAX) => format!("should be less than or equal to {}", i32::MAX),
            _ => return None,
        };
        Some(FieldError::invalid(path.clone(), &json!(replicas), &detail))
    };
    [&paths.spec_replicas, &paths.status_replicas].into_iter().filter_map(problem).collect()
}

/// An object as a scale.
pub(crate) fn render_scale(paths: &ScalePaths, object: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        metadata.extend(object["metadata"].get(field).map(|value| (field.to_owned(), value.clone())));
    }
    let replicas = at(object, &paths.spec_replicas).and_then(Value::as_i64);
    let mut spec = Map::new();
    if let Some(replicas) = replicas.filter(|replicas| *replicas != 0) {
        spec.insert("replicas".to_owned(), json!(replicas));
    }
    let mut status = json!({ "replicas": at(object, &paths.status_replicas).and_then(Value::as_i64).unwrap_or(0) });
    if let Some(selector) = selector(paths, object).filter(|text| !text.is_empty()) {
        status["selector"] = json!(selector);
    }
    json!({ "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec, "status": status })
}

/// A value at a path such as `.spec.replicas`.
pub(crate) fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, part| value.get(part))
}

pub(crate) fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = value;
}

fn selector(paths: &ScalePaths, object: &Value) -> Option<String> {
    match &paths.selector {
        Selector::Object => Some(labels::text(&object["spec"]["selector"])),
        Selector::Map => Some(labels::map_text(&object["spec"]["selector"])),
        Selector::Text(path) => at(object, path.as_deref()?)?.as_str().map(str::to_owned),
    }
}
