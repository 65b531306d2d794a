//! Rotates the certificates in the Secret, and serves the current one.
//!
//! Every replica does so, without leader election. A step fetches the Secret, plans, writes with the version it read, and serves the
//! contents. After a conflict, a replica fetches again and uses what the other wrote. Changes and due times start the next step,
//! which repairs a deleted or corrupted Secret, an overwritten CA bundle and a lost response.

mod secret;

use std::convert::Infallible;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::join_all;
use kedge_cluster::{Backoff, Clock, ListWatchEvent, list_watch};
use kedge_serving::ServingCertificate;
use kube::Client;
use kube::api::DynamicObject;
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::ca_bundles::CaBundleTarget;
use crate::contents::SecretContents;
use crate::issue::{self, IssueError};
use crate::parse;
use crate::plan::{Plan, delta, plan};
use crate::spec::CertificateSpec;
use secret::{SecretStore, WriteOutcome};

const BACKOFF: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));

/// How long one step may take; a healthy API server needs far less for its few requests.
const STEP_LIMIT: Duration = Duration::from_secs(60);

/// The longest pause between two steps: wall clocks are adjusted, and machines sleep.
const RESYNC_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// The pause between two writes of one replica: it slows down replicas that disagree for ever, as with clocks a year apart.
const WRITE_PAUSE: Duration = Duration::from_secs(2);

/// The pause before a follower fetches a missing certificate again.
const WAIT_PAUSE: Duration = Duration::from_secs(1);

/// The pause after a conflict.
const CONFLICT_PAUSE: Duration = Duration::from_millis(100);

/// The role of a process for the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Issues missing certificates, rotates them, and injects the CA bundle.
    Rotates,
    /// Serves what others rotate, and waits for a missing certificate. Needs only read access to the Secret.
    Follows,
}

/// The Secret, its certificates, and the objects that trust them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub role: Role,
    pub namespace: String,
    pub secret: String,
    pub spec: CertificateSpec,
    /// The objects that receive the CA bundle.
    pub targets: Vec<CaBundleTarget>,
}

/// Why a step failed.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error("the Secret {0} cannot be read or written; the operator needs get, create and update on it")]
    Secret(String, #[source] kube::Error),
    #[error("the caBundle of {0} cannot be read or written; the operator needs get and update on it")]
    Bundle(String, #[source] kube::Error),
    #[error(transparent)]
    Issue(#[from] IssueError),
    #[error("the API server did not respond within {0:?}")]
    Timeout(Duration),
}

/// How a step ended.
enum Step {
    /// Nothing is due before then.
    Settled { until: DateTime<Utc> },
    /// Another replica wrote first.
    Conflict,
}

/// Rotates the Secret and what depends on it.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Rotator {
    client: Client,
    clock: Clock,
    settings: Settings,
    secret: SecretStore,
    /// The last usable contents of the Secret, and the certificate that is served.
    served: Option<(SecretContents, ServingCertificate)>,
    /// The CA that all bundles hold, and since when.
    trusted: Option<(CertificateDer<'static>, Instant)>,
    written_at: Option<Instant>,
}

impl Rotator {
    /// Returns when there is a certificate to serve: at once where the Secret exists, otherwise after its creation.
    /// [`run`](Self::run) then rotates it.
    pub async fn start(client: Client, clock: Clock, settings: Settings) -> (ServingCertificate, Self) {
        let secret = SecretStore::new(&client, &settings);
        let mut rotator = Self { client, clock, settings, secret, served: None, trusted: None, written_at: None };
        let mut failures = 0;
        loop {
            let pause = rotator.step_with_backoff(&mut failures).await;
            if let Some((_, certificate)) = &rotator.served {
                return (certificate.clone(), rotator);
            }
            sleep(pause).await;
        }
    }

    /// Rotates the certificates for ever.
    pub async fn run(mut self) -> Infallible {
        let changed = Notify::new();
        let queries: Vec<_> = self.targets().iter().map(CaBundleTarget::query).chain([self.secret.query()]).collect();
        let watches = queries
            .into_iter()
            .map(|query| list_watch(self.client.clone(), query, |_: ListWatchEvent<Value>| changed.notify_one()));
        let watches = join_all(watches.collect::<Vec<_>>());
        tokio::select! {
            biased;
            never = self.rotate(&changed) => never,
            _ = watches => unreachable!("watches do not end"),
        }
    }

    async fn rotate(&mut self, changed: &Notify) -> Infallible {
        let mut failures = 0;
        loop {
            let pause = self.step_with_backoff(&mut failures).await;
            if failures > 0 {
                // A change does not shorten the backoff: it may be the cause.
                sleep(pause).await;
                continue;
            }
            tokio::select! {
                biased;
                () = changed.notified() => {}
                () = sleep(pause) => {}
            }
        }
    }

    /// Takes one step, and returns the pause before the next.
    async fn step_with_backoff(&mut self, failures: &mut u32) -> Duration {
        let outcome = timeout(STEP_LIMIT, self.step()).await.unwrap_or(Err(RotationError::Timeout(STEP_LIMIT)));
        match outcome {
            Ok(Step::Conflict) => CONFLICT_PAUSE,
            Ok(Step::Settled { until }) => {
                *failures = 0;
                (until - self.clock.now()).to_std().unwrap_or_default().min(RESYNC_INTERVAL)
            }
            Err(error) => {
                *failures += 1;
                let pause = BACKOFF.pause(*failures);
                warn!(error = &error as &dyn std::error::Error, ?pause, "certificate rotation failed; retrying");
                pause
            }
        }
    }

    async fn step(&mut self) -> Result<Step, RotationError> {
        let mut objects = Vec::new();
        for target in self.targets().to_vec() {
            let fetched = target.fetch(&self.client).await;
            objects.push((target, fetched));
        }
        let stored = self.secret.fetch().await.map_err(|error| self.secret_error(error))?;
        let now = self.clock.now();
        let found = stored.as_ref().map(secret::contents).unwrap_or_default();
        let contents = match self.due(&found, now) {
            None if self.is_any_bundle_changed(&found, &objects) => {
                // A stale Secret must not replace a newer bundle. That it is the stored one only a write with its version proves.
                let written = self.secret.write(stored, &found).await.map_err(|error| self.secret_error(error))?;
                if written == WriteOutcome::Conflict {
                    return Ok(Step::Conflict);
                }
                found
            }
            None => found,
            Some(plan) => {
                let remembered = self.served.as_ref().map(|(contents, _)| contents);
                let changed = issue::apply(plan, &found, remembered, &self.settings.spec, now)?;
                let written = self.secret.write(stored, &changed).await.map_err(|error| self.secret_error(error))?;
                if written == WriteOutcome::Conflict {
                    return Ok(Step::Conflict);
                }
                self.written_at = Some(Instant::now());
                log(plan);
                changed
            }
        };
        self.serve(&contents, now);
        if self.settings.role == Role::Follows {
            return Ok(Step::Settled { until: self.next_step_of_follower(now) });
        }
        if parse::signer(&contents).is_ok() {
            self.inject_bundles(&contents, objects).await?;
        }
        Ok(Step::Settled { until: self.next_step(&contents, now) })
    }

    fn targets(&self) -> &[CaBundleTarget] {
        match self.settings.role {
            Role::Rotates => &self.settings.targets,
            Role::Follows => &[],
        }
    }

    /// The step that is due now, if there is one.
    fn due(&self, found: &SecretContents, now: DateTime<Utc>) -> Option<Plan> {
        if self.settings.role == Role::Follows {
            return None;
        }
        match plan(found, &self.settings.spec, now) {
            Plan::Keep { .. } => None,
            Plan::ReplaceLeaf { by } if now < by && self.trusted_in(found) != Some(Duration::ZERO) => None,
            _ if self.write_pause().is_some() => None,
            plan => Some(plan),
        }
    }

    /// How long until all API servers trust the signing CA; none if a bundle lacks it.
    fn trusted_in(&self, contents: &SecretContents) -> Option<Duration> {
        let (signer, _) = parse::signer(contents).ok()?;
        let (_, since) = self.trusted.as_ref().filter(|(trusted, _)| *trusted == signer.ca.der)?;
        Some(self.settings.spec.grace().saturating_sub(since.elapsed()))
    }

    fn write_pause(&self) -> Option<Duration> {
        let left = WRITE_PAUSE.saturating_sub(self.written_at?.elapsed());
        (!left.is_zero()).then_some(left)
    }

    fn next_step(&self, contents: &SecretContents, now: DateTime<Utc>) -> DateTime<Utc> {
        match plan(contents, &self.settings.spec, now) {
            Plan::Keep { until } => until,
            Plan::ReplaceLeaf { by } => self.trusted_in(contents).map_or(by, |left| by.min(now + delta(left))),
            _ => now + delta(self.write_pause().unwrap_or_default()),
        }
    }

    /// A follower hears of changes by its watch; it only polls for a certificate that has never existed.
    fn next_step_of_follower(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        if self.served.is_some() {
            return now + delta(RESYNC_INTERVAL);
        }
        let (namespace, secret) = (&self.settings.namespace, &self.settings.secret);
        info!(namespace, secret, "waiting for the operator to issue the serving certificate");
        now + delta(WAIT_PAUSE)
    }

    /// Serves the leaf of the Secret if it is usable; otherwise the previous one stays.
    fn serve(&mut self, contents: &SecretContents, now: DateTime<Utc>) {
        let Some(leaf) = parse::usable_leaf(contents, now) else { return };
        let until = leaf.validity.not_after;
        let served = match &self.served {
            Some((before, certificate)) if (&before.chain, &before.key) == (&contents.chain, &contents.key) => {
                Ok(certificate.clone())
            }
            Some((_, certificate)) => {
                let replaced = certificate.replace_pem(&contents.chain, &contents.key);
                replaced.map(|()| certificate.clone()).inspect(|_| info!(%until, "serving certificate replaced"))
            }
            None => ServingCertificate::from_pem(&contents.chain, &contents.key)
                .inspect(|_| info!(%until, "serving certificate loaded")),
        };
        match served {
            Ok(certificate) => self.served = Some((contents.clone(), certificate)),
            Err(error) => warn!(error = &error as &dyn std::error::Error, "serving certificate unusable"),
        }
    }

    /// Whether an object would get another CA bundle.
    fn is_any_bundle_changed(&self, contents: &SecretContents, objects: &Fetched) -> bool {
        let changes = |(target, fetched): &(CaBundleTarget, kube::Result<Option<DynamicObject>>)| {
            let object = fetched.as_ref().ok().and_then(Option::as_ref);
            object.is_some_and(|object| target.with_bundle(object, &contents.ca_bundle).is_some())
        };
        self.settings.role == Role::Rotates && parse::signer(contents).is_ok() && objects.iter().any(changes)
    }

    /// Injects the CA bundle where it is missing, and records since when all objects hold it.
    async fn inject_bundles(&mut self, contents: &SecretContents, objects: Fetched) -> Result<(), RotationError> {
        let Ok((signer, _)) = parse::signer(contents) else { return Ok(()) };
        let ca = signer.ca.der;
        let mut failed = None;
        let mut trusted = true;
        for (target, fetched) in objects {
            match self.inject_bundle(&target, fetched, contents, &ca).await {
                Ok(held) => trusted &= held,
                Err(error) => {
                    trusted = false;
                    failed = Some(RotationError::Bundle(format!("{} {}", target.kind(), target.name()), error));
                }
            }
        }
        match &self.trusted {
            _ if !trusted => self.trusted = None,
            Some((known, _)) if *known == ca => {}
            _ => self.trusted = Some((ca, Instant::now())),
        }
        failed.map_or(Ok(()), Err)
    }

    /// Injects the CA bundle into one object, and returns whether the object trusts the CA. A missing object needs no bundle.
    async fn inject_bundle(
        &self,
        target: &CaBundleTarget,
        fetched: kube::Result<Option<DynamicObject>>,
        contents: &SecretContents,
        ca: &CertificateDer<'_>,
    ) -> kube::Result<bool> {
        let (kind, name) = (target.kind(), target.name());
        let Some(object) = fetched? else {
            debug!(kind, name, "object not found; skipping its caBundle");
            return Ok(true);
        };
        let Some(changed) = target.with_bundle(&object, &contents.ca_bundle) else {
            return Ok(target.trusts(&object, ca));
        };
        match target.replace(&self.client, &changed).await {
            Ok(()) => {
                info!(kind, name, "caBundle injected");
                Ok(true)
            }
            // Another client changed it; its watch event starts the next step.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn secret_error(&self, error: kube::Error) -> RotationError {
        RotationError::Secret(format!("{}/{}", self.settings.namespace, self.settings.secret), error)
    }
}

type Fetched = Vec<(CaBundleTarget, kube::Result<Option<DynamicObject>>)>;

/// Logs what was done.
fn log(plan: Plan) {
    match plan {
        Plan::Keep { .. } => {}
        Plan::ReplaceLeaf { .. } => info!("leaf certificate issued by the new CA"),
        Plan::RenewLeaf { because } => info!(%because, "leaf certificate issued"),
        Plan::RenewCa { because } => info!(%because, "CA certificate issued"),
        Plan::DropOldCas => info!("old CA certificate dropped"),
    }
}
