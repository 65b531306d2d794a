//! Asking the management API.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};

use super::management::{self, Counted, Queues, Unusable};
use super::mode::QueueNumbers;
use crate::error::ReadError;
use crate::http::{Address, Call, HttpClient};
use crate::identity::Signer;
use crate::oauth::OAuthToken;

/// A question to the management API.
#[derive(Debug)]
pub(super) struct ManagementSource {
    pub(super) client: Arc<HttpClient>,
    pub(super) address: Address,
    pub(super) queues: Queues,
    pub(super) counted: Counted,
    pub(super) sign_in: SignIn,
    pub(super) limit: Duration,
}

/// How requests sign in.
#[derive(Debug)]
pub(super) enum SignIn {
    /// With a header, or with the credentials of the URL.
    Basic(HeaderMap),
    OAuth(Arc<OAuthToken>),
    WorkloadIdentity(Arc<Signer>),
}

impl ManagementSource {
    pub(super) async fn fetch(&self, now: DateTime<Utc>) -> Result<QueueNumbers, ReadError> {
        let call = self.call(now).await?;
        let endpoint = call.endpoint();
        let (status, body) = self.client.fetch_any(&call).await?;
        if let (StatusCode::UNAUTHORIZED, SignIn::OAuth(token)) = (status, &self.sign_in) {
            token.discard().await;
        }
        if status != StatusCode::OK {
            return Err(self.refusal(status, &call));
        }
        management::parse(&body, &self.queues, self.counted).map_err(|unusable| match unusable {
            Unusable::Malformed(problem) => ReadError::Malformed { endpoint, problem },
            Unusable::NoValue(problem) => ReadError::NoValue { endpoint, problem },
        })
    }

    async fn call(&self, now: DateTime<Utc>) -> Result<Call, ReadError> {
        let call = |headers: HeaderMap| Call::get(self.address.clone(), headers, self.limit);
        Ok(match &self.sign_in {
            SignIn::Basic(headers) => call(headers.clone()),
            SignIn::OAuth(token) => {
                let mut call = call(HeaderMap::new());
                call.set_header(AUTHORIZATION, token.header(now).await?);
                call
            }
            SignIn::WorkloadIdentity(signer) => {
                let mut call = call(HeaderMap::new());
                signer.sign(&mut call, now).await?;
                call
            }
        })
    }

    /// The meaning of a status, with what to check.
    fn refusal(&self, status: StatusCode, call: &Call) -> ReadError {
        let (endpoint, code) = (call.endpoint(), status.as_u16());
        match (status, &self.queues, &self.sign_in) {
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _, SignIn::Basic(_)) => {
                let message = format!(
                    "status {code}; check the user and the password in `host`, or `username` and `password`; the user needs the tag management, and permissions in the vhost"
                );
                ReadError::Denied { endpoint, message }
            }
            (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, _, _) => {
                let message = format!("status {code}; check the scopes and the audience of the token");
                ReadError::Denied { endpoint, message }
            }
            (StatusCode::NOT_FOUND, Queues::Named(name), _) => {
                let problem = format!(
                    "there is no queue {name:?} in this vhost, or no such vhost; check `queueName`, and `vhostName` or the path of `host`"
                );
                ReadError::NoValue { endpoint, problem }
            }
            (StatusCode::NOT_FOUND, Queues::Matching { .. }, _) => {
                let problem = "there is no such vhost; check `vhostName`, or the path of `host`".to_owned();
                ReadError::NoValue { endpoint, problem }
            }
            (StatusCode::BAD_REQUEST, Queues::Matching { .. }, _) => {
                let message = format!("status {code}; check that `queueName` is a regular expression, and `pageSize`");
                ReadError::Refused { endpoint, message }
            }
            _ => ReadError::Status { endpoint, code },
        }
    }

    pub(super) fn host(&self) -> Option<String> {
        self.address.host()
    }
}
