//! Reviews: whose token is it, and may they do that? Answered by what the options say.

use kedge_schema::FieldError;
use serde_json::{Value, json};

use crate::answer::{Answer, Content};
use crate::call::Verb;
use crate::error::ApiError;
use crate::verbs::Ask;

/// Who somebody is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub groups: Vec<String>,
}

impl Identity {
    /// A user of the group that everybody who is authenticated is in; service accounts are in two more.
    pub fn named(name: &str) -> Self {
        let mut groups = Vec::new();
        if let Some(account) = name.strip_prefix("system:serviceaccount:") {
            let namespace = account.split(':').next().unwrap_or("");
            groups = vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")];
        }
        groups.push("system:authenticated".to_owned());
        Self { name: name.to_owned(), groups }
    }
}

/// What somebody wants to do, as the review has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Access {
    pub user: String,
    pub groups: Vec<String>,
    /// The `spec` of the review.
    pub spec: Value,
}

pub(crate) fn answer(ask: &Ask<'_>) -> Result<Answer, ApiError> {
    if ask.call.verb != Verb::Create {
        return Err(ApiError::method_not_allowed());
    }
    let mut review = ask.call.body.clone().ok_or_else(|| ApiError::bad_request("the request has no body"))?;
    review["apiVersion"] = json!(ask.resource.gvr.api_version());
    review["kind"] = json!(ask.resource.kind);
    if review["metadata"].is_null() {
        review["metadata"] = json!({});
    }
    check(ask, &review["spec"])?;
    review["status"] = match ask.resource.kind.as_str() {
        "TokenReview" => authenticated(ask, &review["spec"]),
        _ => allowed(ask, &review["spec"]),
    };
    Ok(Answer { code: 201, content: Content::Other(review) })
}

/// Who asks about access asks about something.
fn check(ask: &Ask<'_>, spec: &Value) -> Result<(), ApiError> {
    let is_about_access = ask.resource.gvr.group == "authorization.k8s.io";
    let subjects = ["resourceAttributes", "nonResourceAttributes"].iter().filter(|kind| !spec[**kind].is_null());
    if !is_about_access || subjects.count() == 1 {
        return Ok(());
    }
    let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    let problem = FieldError::invalid("spec.resourceAttributes", &spec["resourceAttributes"], detail);
    let mut refusal = ApiError::invalid(&ask.resource.gvr.group, "", "", &[problem]);
    if let Some(details) = refusal.details.as_mut().and_then(Value::as_object_mut) {
        details.remove("kind");
    }
    Err(refusal)
}

fn authenticated(ask: &Ask<'_>, spec: &Value) -> Value {
    match (ask.plane.options().authenticate)(spec["token"].as_str().unwrap_or("")) {
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

fn allowed(ask: &Ask<'_>, spec: &Value) -> Value {
    let user = match ask.resource.kind.as_str() {
        "SelfSubjectAccessReview" => ask.call.user.clone(),
        _ => spec["user"].as_str().unwrap_or("").to_owned(),
    };
    let groups = crate::meta::texts(&spec["groups"]).map(str::to_owned).collect();
    json!({ "allowed": (ask.plane.options().authorize)(&Access { user, groups, spec: spec.clone() }) })
}
