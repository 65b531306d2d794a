//! TokenReviews and SubjectAccessReviews, decided by the plane's options.

use kedge_schema::FieldError;
use serde_json::{Value, json};

use crate::api::error::ApiError;
use crate::api::identity::{Access, Identity};
use crate::api::request::Verb;
use crate::api::response::{ApiResponse, Content};
use crate::plane::RequestContext;

pub(crate) fn handle(context: &RequestContext<'_>) -> Result<ApiResponse, ApiError> {
    if context.call.verb != Verb::Create {
        return Err(ApiError::method_not_allowed());
    }
    let mut review = context.call.body.clone().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    review["apiVersion"] = json!(context.resource.gvr.api_version());
    review["kind"] = json!(context.resource.kind);
    if review["metadata"].is_null() {
        review["metadata"] = json!({});
    }
    check(context, &review["spec"])?;
    review["status"] = match context.resource.kind.as_str() {
        "TokenReview" => authenticated(context, &review["spec"]),
        _ => allowed(context, &review["spec"]),
    };
    Ok(ApiResponse { code: 201, content: Content::Other(review) })
}

/// An access review needs exactly one subject.
fn check(context: &RequestContext<'_>, spec: &Value) -> Result<(), ApiError> {
    let is_about_access = context.resource.gvr.group == "authorization.k8s.io";
    let subjects = ["resourceAttributes", "nonResourceAttributes"].iter().filter(|kind| !spec[**kind].is_null());
    if !is_about_access || subjects.count() == 1 {
        return Ok(());
    }
    let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    let problem = FieldError::invalid("spec.resourceAttributes", &spec["resourceAttributes"], detail);
    let mut error = ApiError::invalid(&context.resource.gvr.group, "", "", &[problem]);
    if let Some(details) = error.details.as_mut().and_then(Value::as_object_mut) {
        details.remove("kind");
    }
    Err(error)
}

fn authenticated(context: &RequestContext<'_>, spec: &Value) -> Value {
    match (context.plane.options().authenticate)(spec["token"].as_str().unwrap_or("")) {
        None => json!({ "user": {}, "error": "invalid bearer token" }),
        Some(Identity { name, groups }) => {
            let mut status = json!({ "authenticated": true, "user": { "username": name, "groups": groups } });
            if spec["audiences"].is_array() {
                status["audiences"] = spec["audiences"].clone();
            }
            status
        }
    }
}

fn allowed(context: &RequestContext<'_>, spec: &Value) -> Value {
    let user = match context.resource.kind.as_str() {
        "SelfSubjectAccessReview" => context.call.user.clone(),
        _ => spec["user"].as_str().unwrap_or("").to_owned(),
    };
    let groups = crate::api::meta::texts(&spec["groups"]).map(str::to_owned).collect();
    json!({ "allowed": (context.plane.options().authorize)(&Access { user, groups, spec: spec.clone() }) })
}
