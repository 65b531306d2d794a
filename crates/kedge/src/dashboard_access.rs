//! Who may see which objects on the dashboard: callers that the API server knows, where they may get ScaledObjects.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};
use http::request;
use kedge_api::names;
use kedge_dashboard::{Access, DashboardSource, Denied, Visible};
use kedge_metrics_api::review::ReviewError;
use kedge_metrics_api::{Caller, CallerAccess, ResourceName, Reviewer, Settings, Trust};
use kedge_serving::ClientChain;

/// How many namespaces are asked for at once.
const REVIEWS_AT_ONCE: usize = 8;

const SCALED_OBJECTS: ResourceName<'static> =
    ResourceName { group: names::GROUP, version: names::VERSION, plural: "scaledobjects" };

/// Asks the API server what a caller may get: everywhere at first, then in each namespace that has objects.
pub(crate) struct ReviewedAccess {
    source: Arc<dyn DashboardSource>,
    callers: CallerAccess,
}

impl ReviewedAccess {
    pub(crate) fn new(source: Arc<dyn DashboardSource>, reviewer: Arc<dyn Reviewer>, trust: Trust) -> Self {
        Self { source, callers: CallerAccess::new(reviewer, trust, &Settings::default()) }
    }

    async fn review(&self, head: &request::Parts) -> Result<Visible, Denied> {
        let none = ClientChain::default();
        let chain = head.extensions.get::<ClientChain>().unwrap_or(&none);
        let caller = self.callers.identify(chain, &head.headers).await.map_err(unavailable)?;
        let Some(caller) = caller else {
            let message = "a valid bearer token is required, as of `kubectl create token`; `kedge dashboard` signs in with your kubeconfig";
            return Err(Denied::Unauthenticated(message.to_owned()));
        };
        if self.may_get(&caller, None).await? {
            return Ok(Visible::All);
        }
        let namespaces = stream::iter(self.source.namespaces()).map(async |namespace: String| {
            let allowed = self.may_get(&caller, Some(&namespace)).await?;
            Ok(allowed.then_some(namespace))
        });
        let reviewed = namespaces.buffer_unordered(REVIEWS_AT_ONCE).try_collect::<Vec<_>>().await?;
        let visible: BTreeSet<String> = reviewed.into_iter().flatten().collect();
        if visible.is_empty() {
            let user = caller.user();
            return Err(Denied::Forbidden(format!(
                "{user} may not get scaledobjects.keda.sh in any namespace that has one; a Role with this verb allows it"
            )));
        }
        Ok(Visible::Namespaces(visible))
    }

    async fn may_get(&self, caller: &Caller, namespace: Option<&str>) -> Result<bool, Denied> {
        self.callers.may_get(caller, SCALED_OBJECTS, namespace).await.map_err(unavailable)
    }
}

impl Access for ReviewedAccess {
    fn visible<'a>(&'a self, head: &'a request::Parts) -> BoxFuture<'a, Result<Visible, Denied>> {
        Box::pin(self.review(head))
    }
}

/// The cause is in the log: it may name what no caller needs to know.
fn unavailable(error: ReviewError) -> Denied {
    tracing::warn!(%error, "the rights of a caller of the dashboard could not be reviewed");
    Denied::Unavailable("the API server could not review your rights; try again".to_owned())
}
