//! `/scale`: an object seen as a number of replicas, `autoscaling/v1`.

use kedge_schema::FieldError;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::call::{AsOf, Verb};
use crate::convert;
use crate::error::ApiError;
use crate::labels;
use crate::meta;
use crate::patch;
use crate::prepare::Part;
use crate::resource::{Gvr, ScalePaths, Selector};
use crate::verbs::{Ask, get};
use crate::write::{self, UidRule};

pub(crate) async fn answer(ask: &Ask<'_>, as_of: AsOf) -> Result<Answer, ApiError> {
    let paths = ask.resource.scale.as_ref().ok_or_else(ApiError::unknown_path)?;
    let object = match ask.call.verb {
        Verb::Get => {
            let found = convert::to_served(ask.resource, &get::find(&ask.plane.state(), ask, as_of)?);
            check_readable(ask, paths, &found)?;
            found
        }
        Verb::Update | Verb::Patch(_) => {
            write::rewrite(ask, Part::Main, UidRule::Precondition, |old| scaled(ask, paths, old)).await?
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    Ok(Answer::other(scale(paths, &object)))
}

/// The object with the replicas that the body wants.
fn scaled(ask: &Ask<'_>, paths: &ScalePaths, old: &Value) -> Result<Value, ApiError> {
    let body = ask.call.body.as_ref().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    let wanted = match ask.call.verb {
        Verb::Patch(kind) => patch::apply(kind, &Gvr::new("autoscaling", "v1", "scales"), &scale(paths, old), body)?,
        _ => body.clone(),
    };
    check(ask, &wanted)?;
    let mut object = old.clone();
    set(&mut object, &paths.spec_replicas, json!(wanted["spec"]["replicas"].as_i64().unwrap_or(0)));
    for field in ["resourceVersion", "uid"] {
        if !meta::text(&wanted, field).is_empty() {
            meta::copy(&mut object, &wanted, field);
        }
    }
    Ok(object)
}

fn check(ask: &Ask<'_>, wanted: &Value) -> Result<(), ApiError> {
    if let (Some(kind), Some(version)) = (wanted["kind"].as_str(), wanted["apiVersion"].as_str())
        && (kind, version) != ("Scale", "autoscaling/v1")
    {
        let version = version.rsplit('/').next().unwrap_or(version);
        let why = format!("converting ({version}.{kind}) to (autoscaling.Scale): unknown conversion");
        return Err(ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a Scale: {why}"
        )));
    }
    write::check_name(ask, wanted)?;
    match wanted["spec"]["replicas"].as_i64() {
        Some(replicas) if replicas < 0 && !ask.resource.is_custom() => {
            let problem = FieldError::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
            Err(ApiError::invalid("autoscaling", "Scale", ask.name(), &[problem]))
        }
        _ => Ok(()),
    }
}

/// A custom resource has no scale before it has replicas.
fn check_readable(ask: &Ask<'_>, paths: &ScalePaths, object: &Value) -> Result<(), ApiError> {
    let path = &paths.spec_replicas;
    match ask.resource.is_custom() && at(object, path).is_none() {
        true => Err(ApiError::internal(&format!("the spec replicas field {path:?} does not exist"))),
        false => Ok(()),
    }
}

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
pub(crate) fn scale(paths: &ScalePaths, object: &Value) -> Value {
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
fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.trim_start_matches('.').split('.').try_fold(object, |value, part| value.get(part))
}

fn set(object: &mut Value, path: &str, value: Value) {
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
