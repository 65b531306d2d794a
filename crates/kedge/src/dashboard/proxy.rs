//! The local server. It adds the user's credentials, so that it must only do so for the page that this command opened: another user of the
//! machine, a page of another site, and a name that an attacker points here get nothing.

use std::time::Duration;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Response, StatusCode, request};
use http_body_util::{BodyExt, Full, Limited};
use kedge_dashboard::response::{self, HttpResponse};
use kedge_dashboard::{Hosts, READ_ONLY, guard};

use super::key::PageKey;
use super::tunnel::Tunnel;

/// What a response may have: 100,000 objects take less.
const RESPONSE_BYTES_MAX: usize = 256 << 20;

/// How long the operator may take to answer.
const ANSWERED_WITHIN: Duration = Duration::from_secs(30);

pub(super) struct Proxy {
    pub(super) tunnel: Tunnel,
    pub(super) key: PageKey,
}

impl Proxy {
    pub(super) async fn respond(&self, head: &request::Parts) -> HttpResponse {
        if let Err(refusal) = guard::check(head, &Hosts::Loopback) {
            return response::error(StatusCode::FORBIDDEN, &refusal.to_string());
        }
        if head.method != Method::GET {
            return response::error(StatusCode::METHOD_NOT_ALLOWED, READ_ONLY);
        }
        if !kedge_dashboard::is_page_file(head.uri.path()) && !self.key.is_in(&head.headers) {
            return response::error(
                StatusCode::UNAUTHORIZED,
                "open the address that `kedge dashboard` printed, or enter the token of its end",
            );
        }
        let passed = tokio::time::timeout(ANSWERED_WITHIN, self.pass_on(head)).await;
        match passed.unwrap_or_else(|_| Err(anyhow!("no answer within {} s", ANSWERED_WITHIN.as_secs()))) {
            Ok(answer) => answer,
            Err(error) => {
                response::error(StatusCode::BAD_GATEWAY, &format!("the dashboard cannot be reached: {error:#}"))
            }
        }
    }

    async fn pass_on(&self, head: &request::Parts) -> anyhow::Result<HttpResponse> {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let (answer, body) = self.tunnel.get(path).await?.into_parts();
        let read = Limited::new(body, RESPONSE_BYTES_MAX).collect().await;
        let body = read.map_err(|error| anyhow!(error)).context("the answer ended early")?.to_bytes();
        Ok(match answer.status {
            // Here the page would ask for a token, which is the key of this command.
            StatusCode::UNAUTHORIZED => response::error(
                StatusCode::FORBIDDEN,
                "the operator does not accept the credentials of your kubeconfig: it knows tokens and client certificates that the API server accepts",
            ),
            code => answered(code, answer.headers.get(CONTENT_TYPE), body),
        })
    }
}

/// The same content, with the headers of every response of a dashboard.
fn answered(code: StatusCode, content_type: Option<&HeaderValue>, body: Bytes) -> HttpResponse {
    let mut answer: Response<Full<Bytes>> = response::content("application/octet-stream", body);
    *answer.status_mut() = code;
    if let Some(content_type) = content_type {
        answer.headers_mut().insert(CONTENT_TYPE, content_type.clone());
    }
    answer
}
