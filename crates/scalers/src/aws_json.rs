//! Requests to AWS services that speak JSON: signed, and errors in the service's own words.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use http::{HeaderMap, Method, StatusCode};
use serde_json::Value;

use crate::error::{Endpoint, ReadError, cut};
use crate::field::Field;
use crate::http::{Address, Call, HttpClient, TlsProfile};
use crate::identity::{CloudIdentity, Signer, aws};
use crate::metadata::{Reader, convert};
use crate::shared::Shared;
use crate::trigger::{FieldError, TriggerConfig};

/// Where requests go, in place of the endpoint of the region.
pub(crate) const ENDPOINT: Field = Field::optional("awsEndpoint").url().help(
    "The URL of the service, in place of that of the region: for services that imitate AWS, and for private endpoints",
);

const TARGET: HeaderName = HeaderName::from_static("x-amz-target");

/// The service that a type asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    /// As in its host name, and in signatures.
    pub(crate) name: &'static str,
    /// What the header `X-Amz-Target` begins with.
    pub(crate) target: &'static str,
    pub(crate) content_type: &'static str,
}

/// A service in a region, and who asks it.
#[derive(Clone, Debug)]
pub(crate) struct AwsClient {
    service: Service,
    address: Address,
    client: Arc<HttpClient>,
    signer: Arc<Signer>,
    /// The region whose endpoint is asked; none where `awsEndpoint` is given.
    region: Option<String>,
    limit: Duration,
}

impl AwsClient {
    /// Reads the identity, the region and the endpoint of a trigger. None where it is only checked.
    pub(crate) fn parse(
        read: &mut Reader<'_>,
        trigger: &TriggerConfig<'_>,
        shared: &Shared,
        service: Service,
    ) -> Option<Self> {
        let given = read.optional(ENDPOINT, |text| {
            Address::parse(text)
                .map_err(|problem| convert::ConversionError::new(problem, "give a URL, as in https://sqs.example.com"))
        });
        let is_invalid = given.is_none() && read.text(ENDPOINT).is_some();
        // Authentication and the operator's own environment, which give the rest, are not known to a check.
        if !read.is_building() {
            return None;
        }
        let settings = shared.http.settings();
        let before = read.error_count();
        let identity = aws::parse(read, trigger, &settings.cloud_environment, service.name);
        if identity.is_none() && read.error_count() == before {
            let remedy = "give `awsRoleArn`, or `awsAccessKeyID` and `awsSecretAccessKey`, in a TriggerAuthentication; or a podIdentity";
            read.error(FieldError::new("awsAccessKeyID", "is missing, and so is every other identity", remedy));
        }
        let identity = identity.filter(|_| !is_invalid)?;
        let region = given.is_none().then(|| identity.region().to_owned());
        let address = match given {
            Some(address) => address,
            None => Address::parse(&endpoint(service.name, identity.region())).ok()?,
        };
        let host = address.uri.host().unwrap_or_default().to_owned();
        let permitted = CloudIdentity::Aws(identity).permitted(&settings.outbound_policy, trigger.namespace, &host);
        let identity = read.take(permitted)?;
        let signer = read.take(shared.signers.signer(&identity, &shared.http))?;
        let client = read.take(shared.http.client(&TlsProfile::default()))?;
        Some(Self { service, address, client, signer, region, limit: settings.limit(None) })
    }

    /// The host that is asked.
    pub(crate) fn host(&self) -> Option<String> {
        self.address.host()
    }

    /// The answer to a question of the service, and where it is from.
    pub(crate) async fn ask(
        &self,
        action: &str,
        question: &Value,
        now: DateTime<Utc>,
    ) -> Result<(Endpoint, Value), ReadError> {
        let mut headers = HeaderMap::new();
        let target = format!("{}.{action}", self.service.target);
        headers.insert(TARGET, HeaderValue::try_from(target).expect("names of actions are ASCII"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.service.content_type));
        let body = Bytes::from(question.to_string());
        let mut call = Call::new(Method::POST, self.address.clone(), headers, body, self.limit);
        let endpoint = call.endpoint();
        self.signer.sign(&mut call, now).await?;
        let (status, body) = self.client.fetch_any(&call).await.map_err(|error| self.explain(error))?;
        if body.len() > ANSWER_BYTES_MAX {
            return Err(ReadError::Malformed {
                endpoint,
                problem: format!("it is larger than {ANSWER_BYTES_MAX} bytes"),
            });
        }
        let answer: Option<Value> = serde_json::from_slice(&body).ok();
        match (status, answer) {
            (StatusCode::OK, Some(answer)) => Ok((endpoint, answer)),
            (StatusCode::OK, None) => Err(ReadError::Malformed { endpoint, problem: "it is not JSON".to_owned() }),
            (status, answer) => Err(refusal(endpoint, status, answer.as_ref())),
        }
    }
}

impl AwsClient {
    /// An endpoint that is not there may be that of a region that is not there.
    fn explain(&self, error: ReadError) -> ReadError {
        match (error, &self.region) {
            (ReadError::Connect { endpoint, problem }, Some(region)) => {
                ReadError::Connect { endpoint, problem: format!("{problem}; check `awsRegion`, which is {region:?}") }
            }
            (error, _) => error,
        }
    }
}

/// What an answer may have: parsed, it takes many times as much.
const ANSWER_BYTES_MAX: usize = 256 << 10;

fn endpoint(service: &str, region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://{service}.{region}.{domain}/")
}

/// The error of a service. Further lines of a message repeat the request, which may have a token.
fn refusal(endpoint: Endpoint, status: StatusCode, answer: Option<&Value>) -> ReadError {
    let code = status.as_u16();
    let named = answer.and_then(|answer| answer["__type"].as_str());
    let Some(name) = named.map(|name| name.rsplit('#').next().unwrap_or(name)) else {
        return ReadError::Status { endpoint, code };
    };
    let words = answer.and_then(|answer| answer["message"].as_str().or(answer["Message"].as_str())).unwrap_or_default();
    let words = cut(format!("{name}: {}", words.lines().next().unwrap_or_default()).trim_end_matches([':', ' ', '.']));
    let message = remedy(name).map_or_else(|| words.clone(), |remedy| format!("{words}; {remedy}"));
    let is_denied = matches!(code, 401 | 403)
        || [
            "AccessDenied",
            "ExpiredToken",
            "InvalidClientTokenId",
            "SignatureDoesNotMatch",
            "UnrecognizedClient",
            "InvalidSignature",
            "IncompleteSignature",
            "MissingAuthentication",
        ]
        .iter()
        .any(|denial| name.starts_with(denial));
    match is_denied {
        true => ReadError::Denied { endpoint, message },
        false => ReadError::Refused { endpoint, message },
    }
}

fn remedy(error: &str) -> Option<&'static str> {
    let is = |names: &[&str]| names.iter().any(|name| error.starts_with(name));
    if is(&["QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"]) {
        Some("check `queueURL` and `awsRegion`")
    } else if is(&["ExpiredToken"]) {
        Some("give a new `awsSessionToken`, or another identity")
    } else if is(&["AccessDenied"]) {
        Some("allow the identity the action, and check `awsRegion`")
    } else if is(&["InvalidClientTokenId", "UnrecognizedClient", "SignatureDoesNotMatch", "InvalidSignature"]) {
        Some("check `awsAccessKeyID` and `awsSecretAccessKey`, or the identity, and `awsRegion`")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_are_in_the_words_of_the_service_without_what_it_repeats() {
        let at = || Endpoint::from_host("sqs".to_owned());
        let rows = [
            (
                400,
                Some(json!({ "__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no such queue" })),
                "sqs answered: QueueDoesNotExist: no such queue; check `queueURL` and `awsRegion`",
                false,
            ),
            (
                403,
                Some(json!({ "__type": "InvalidClientTokenId", "Message": "The token is invalid." })),
                "sqs denied access: InvalidClientTokenId: The token is invalid; check `awsAccessKeyID` and `awsSecretAccessKey`, or the identity, and `awsRegion`",
                true,
            ),
            (
                400,
                Some(
                    json!({ "__type": "SignatureDoesNotMatch", "message": "It does not match.\n\nx-amz-security-token:hunter2" }),
                ),
                "sqs denied access: SignatureDoesNotMatch: It does not match; check `awsAccessKeyID` and `awsSecretAccessKey`, or the identity, and `awsRegion`",
                true,
            ),
            (400, Some(json!({ "__type": "Throttled" })), "sqs answered: Throttled", false),
            (503, Some(json!("x")), "sqs answered with status 503", false),
            (502, None, "sqs answered with status 502", false),
        ];
        for (status, answer, expected, is_denied) in rows {
            let error = refusal(at(), StatusCode::from_u16(status).unwrap(), answer.as_ref());
            assert_eq!(error.to_string(), expected);
            assert_eq!(error.is_denied(), is_denied, "{expected}");
        }
    }

    #[test]
    fn each_region_has_an_endpoint() {
        assert_eq!(endpoint("sqs", "eu-west-1"), "https://sqs.eu-west-1.amazonaws.com/");
        assert_eq!(endpoint("monitoring", "cn-north-1"), "https://monitoring.cn-north-1.amazonaws.com.cn/");
    }
}
