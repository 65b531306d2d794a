//! `/scale`: an object seen as a number of replicas, `autoscaling/v1`.

use kedge_schema::FieldError;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::meta;
use crate::api::request::{AsOf, Verb};
use crate::api::resource::{Gvr, ScalePaths};
use crate::api::response::ApiResponse;
use crate::apiextensions::conversion;
use crate::builtin::scale::{at, render_scale, set};
use crate::patch;
use crate::plane::RequestContext;
use crate::registry::get;
use crate::registry::rewrite::{self, UidRule};
use crate::registry::strategy::Part;

pub(crate) async fn handle(context: &RequestContext<'_>, as_of: AsOf) -> Result<ApiResponse, ApiError> {
    let paths = context.resource.scale.as_ref().ok_or_else(ApiError::unknown_path)?;
    let object = match context.call.verb {
        Verb::Get => {
            let found = conversion::to_served(context.resource, &get::find(&context.plane.state(), context, as_of)?);
            check_readable(context, paths, &found)?;
            found
        }
        Verb::Update | Verb::Patch(_) => {
            rewrite::rewrite(context, Part::Main, UidRule::Precondition, |old| scaled(context, paths, old)).await?
        }
        _ => return Err(ApiError::method_not_allowed()),
    };
    Ok(ApiResponse::other(render_scale(paths, &object)))
}

/// The object with the replicas that the body wants.
fn scaled(context: &RequestContext<'_>, paths: &ScalePaths, old: &Value) -> Result<Value, ApiError> {
    let body = context.call.body.as_ref().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    let wanted = match context.call.verb {
        Verb::Patch(kind) => {
            patch::apply(kind, &Gvr::new("autoscaling", "v1", "scales"), &render_scale(paths, old), body)?
        }
        _ => body.clone(),
    };
    check(context, &wanted)?;
    let mut object = old.clone();
    set(&mut object, &paths.spec_replicas, json!(wanted["spec"]["replicas"].as_i64().unwrap_or(0)));
    for field in ["resourceVersion", "uid"] {
        if !meta::text(&wanted, field).is_empty() {
            meta::copy(&mut object, &wanted, field);
        }
    }
    Ok(object)
}

fn check(context: &RequestContext<'_>, wanted: &Value) -> Result<(), ApiError> {
    if let (Some(kind), Some(version)) = (wanted["kind"].as_str(), wanted["apiVersion"].as_str())
        && (kind, version) != ("Scale", "autoscaling/v1")
    {
        let version = version.rsplit('/').next().unwrap_or(version);
        let why = format!("converting ({version}.{kind}) to (autoscaling.Scale): unknown conversion");
        return Err(ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a Scale: {why}"
        )));
    }
    rewrite::check_name(context, wanted)?;
    match wanted["spec"]["replicas"].as_i64() {
        Some(replicas) if replicas < 0 && !context.resource.is_custom() => {
            let problem = FieldError::invalid("spec.replicas", &json!(replicas), "must be greater than or equal to 0");
            Err(ApiError::invalid("autoscaling", "Scale", context.name(), &[problem]))
        }
        _ => Ok(()),
    }
}

/// A custom resource has no scale before it has replicas.
fn check_readable(context: &RequestContext<'_>, paths: &ScalePaths, object: &Value) -> Result<(), ApiError> {
    let path = &paths.spec_replicas;
    match context.resource.is_custom() && at(object, path).is_none() {
        true => Err(ApiError::internal(&format!("the spec replicas field {path:?} does not exist"))),
        false => Ok(()),
    }
}
