//! One request: authentication, authorization, and then the response.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, request};
use kedge_serving::ClientChain;
use tokio::time::Instant;

use crate::attributes::Attributes;
use crate::authentication::Authenticator;
use crate::authorization::Authorizer;
use crate::identity::Identity;
use crate::parts::Parts;
use crate::responder::{Deadline, Responder};
use crate::response::{self, HttpResponse};
use crate::review::{AccessVerdict, ReviewCache};
use crate::route::parse_route;
use crate::settings::Settings;
use crate::status::Status;
use crate::target::Target;

pub(crate) struct Api {
    authenticator: Authenticator,
    authorizer: Authorizer,
    responder: Responder,
    request_limit: Duration,
}

impl Api {
    pub(crate) fn new(settings: &Settings, parts: Parts) -> Self {
        let reviews = Arc::new(ReviewCache::new(parts.reviewer, settings));
        Self {
            authenticator: Authenticator::new(parts.trust, reviews.clone(), settings),
            authorizer: Authorizer::new(reviews),
            responder: Responder::new(parts.source, parts.readiness, settings),
            request_limit: settings.request_limit,
        }
    }

    /// From now on, this server is not ready.
    pub(crate) fn mark_stopping(&self) {
        self.responder.mark_stopping();
    }

    pub(crate) async fn handle(&self, chain: &ClientChain, request: &request::Parts) -> HttpResponse {
        let started_at = Instant::now();
        let (method, path) = (&request.method, request.uri.path());
        let outcome = self.try_handle(chain, request).await;
        let problem = outcome.as_ref().err().map(Status::message);
        let code = outcome.as_ref().map_or_else(Status::code, HttpResponse::status).as_u16();
        tracing::debug!(%method, path, code, problem, took = ?started_at.elapsed(), "request served");
        let response = outcome.unwrap_or_else(|status| response::failure(&status));
        response::for_method(response, method)
    }

    async fn try_handle(&self, chain: &ClientChain, request: &request::Parts) -> Result<HttpResponse, Status> {
        let deadline = Deadline::after(self.request_limit);
        let caller = self.identify(deadline, chain, &request.headers).await?;
        let target = Target::parse(&request.uri)?;
        self.permit(deadline, &caller, request, &target).await?;
        // Last, so that only authorized callers learn which paths exist.
        let route = parse_route(&request.method, &target, &request.headers)?;
        self.responder.respond(deadline, route, &request.headers).await
    }

    async fn identify(&self, deadline: Deadline, chain: &ClientChain, headers: &HeaderMap) -> Result<Identity, Status> {
        let step = self.authenticator.authenticate(chain, headers);
        let known = deadline.wait(step, || "the review of the caller's token".to_owned()).await?;
        known.map_err(|disbelief| {
            let reasons: Vec<String> = disbelief.iter().map(ToString::to_string).collect();
            tracing::info!(reasons = reasons.join("; "), "authentication failed");
            Status::unauthorized()
        })
    }

    async fn permit(
        &self,
        deadline: Deadline,
        caller: &Identity,
        request: &request::Parts,
        target: &Target,
    ) -> Result<(), Status> {
        let wanted = Attributes::from_request(&request.method, target);
        let step = self.authorizer.authorize(caller, &wanted);
        match deadline.wait(step, || "the review of the caller's rights".to_owned()).await? {
            Ok(AccessVerdict::Allowed) => Ok(()),
            Ok(AccessVerdict::Denied { because }) => Err(wanted.forbidden(&caller.user, &because)),
            Err(error) => {
                tracing::warn!(%error, "the rights of a caller could not be reviewed");
                Err(Status::review_failed(&request.uri.to_string(), &error.to_string()))
            }
        }
    }
}

impl fmt::Debug for Api {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Api").finish_non_exhaustive()
    }
}
