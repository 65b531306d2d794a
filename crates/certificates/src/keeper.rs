//! The Secret kept, and its certificate shown.
//!
//! Every replica does all of it; none leads. A step reads what there is, plans, writes with the version it read, and shows what is in the Secret
//! then. Who loses a race reads again and takes what the winner wrote. Steps follow each other when something changes or its time has
//! come, so that a deleted or spoilt Secret, an overwritten bundle and a lost answer are all made good by the next one.

mod secret;

use std::convert::Infallible;
use std::time::Duration;

use chrono::{DateTime, Utc};
use futures::future::join_all;
use kedge_cluster::Clock;
use kedge_cluster::{ListWatchEvent, list_watch};
use kedge_serving::ServingCertificate;
use kube::Client;
use kube::api::DynamicObject;
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

use crate::bundles::Target;
use crate::contents::Contents;
use crate::make::{self, MakeError};
use crate::plan::{Plan, delta, plan};
use crate::reading;
use crate::wanted::Wanted;
use secret::{SecretStore, Written};

/// The first and the longest pause after a failure.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// How long one step may take; a healthy API server answers its few requests at once.
const STEP_LIMIT: Duration = Duration::from_secs(60);

/// After this long everything is looked at again, whatever happened: wall clocks are set, and machines sleep.
const LOOK_LIMIT: Duration = Duration::from_secs(60 * 60);

/// A pause between two writes of one replica. Should two replicas ever disagree for good, as those with clocks a year apart would, they do so
/// slowly.
const WRITE_PAUSE: Duration = Duration::from_secs(2);

/// A pause before a certificate that others are to make is looked for again.
const WAIT_PAUSE: Duration = Duration::from_secs(1);

/// A pause before a race that was lost is looked at again.
const AGAIN_PAUSE: Duration = Duration::from_millis(100);

/// What a process does about the Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Makes what is missing and renews what ends, and has the API server trust it.
    Keeps,
    /// Shows what others keep, and waits for it where it is not there yet. It needs to read the Secret and nothing else.
    Follows,
}

/// What is kept where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub part: Part,
    pub namespace: String,
    pub secret: String,
    pub wanted: Wanted,
    /// The objects that are to trust the authority, where it is kept.
    pub targets: Vec<Target>,
}

/// What went wrong in a step.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    #[error("the Secret {0} cannot be read or written; the operator needs get, create and update on it")]
    Secret(String, #[source] kube::Error),
    #[error("the caBundle of {0} cannot be read or written; the operator needs get and update on it")]
    Bundle(String, #[source] kube::Error),
    #[error(transparent)]
    Make(#[from] MakeError),
    #[error("the API server did not answer within {0:?}")]
    Silence(Duration),
}

/// How a step ended.
enum Step {
    /// Nothing is to be done before then.
    Settled { until: DateTime<Utc> },
    /// Somebody else was faster.
    Again,
}

/// Keeps the Secret and what depends on it.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Keeper {
    client: Client,
    clock: Clock,
    settings: Settings,
    secret: SecretStore,
    /// What the Secret held when it was last of use, and what is shown of it.
    shown: Option<(Contents, ServingCertificate)>,
    /// The authority that all bundles were seen to hold, and since when.
    trusted: Option<(CertificateDer<'static>, Instant)>,
    written_at: Option<Instant>,
}

impl Keeper {
    /// Returns when there is a certificate to show: at once where the Secret is there, after making it where it is not. It goes on being
    /// kept by [`run`](Self::run).
    pub async fn start(client: Client, clock: Clock, settings: Settings) -> (ServingCertificate, Self) {
        let secret = SecretStore::new(&client, &settings);
        let mut keeper = Self { client, clock, settings, secret, shown: None, trusted: None, written_at: None };
        let mut failures = 0;
        loop {
            let pause = keeper.look(&mut failures).await;
            if let Some((_, certificate)) = &keeper.shown {
                return (certificate.clone(), keeper);
            }
            sleep(pause).await;
        }
    }

    /// Keeps it for ever.
    pub async fn run(mut self) -> Infallible {
        let changed = Notify::new();
        let subjects: Vec<_> = self.targets().iter().map(Target::subject).chain([self.secret.subject()]).collect();
        let watches = subjects
            .into_iter()
            .map(|subject| list_watch(self.client.clone(), subject, |_: ListWatchEvent<Value>| changed.notify_one()));
        let watches = join_all(watches.collect::<Vec<_>>());
        tokio::select! {
            biased;
            never = self.keep(&changed) => never,
            _ = watches => unreachable!("watches do not end"),
        }
    }

    async fn keep(&mut self, changed: &Notify) -> Infallible {
        let mut failures = 0;
        loop {
            let pause = self.look(&mut failures).await;
            if failures > 0 {
                // Not even a change is looked at before: it may be the cause.
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

    /// One step, and how long to wait for the next.
    async fn look(&mut self, failures: &mut u32) -> Duration {
        let outcome = timeout(STEP_LIMIT, self.step()).await.unwrap_or(Err(KeepError::Silence(STEP_LIMIT)));
        match outcome {
            Ok(Step::Again) => AGAIN_PAUSE,
            Ok(Step::Settled { until }) => {
                *failures = 0;
                (until - self.clock.now()).to_std().unwrap_or_default().min(LOOK_LIMIT)
            }
            Err(error) => {
                *failures += 1;
                let pause = BACKOFF.0.saturating_mul(1 << (*failures - 1).min(6)).min(BACKOFF.1);
                warn!(error = &error as &dyn std::error::Error, ?pause, "certificates are not kept; trying again");
                pause
            }
        }
    }

    async fn step(&mut self) -> Result<Step, KeepError> {
        let mut objects = Vec::new();
        for target in self.targets().to_vec() {
            let fetched = target.fetch(&self.client).await;
            objects.push((target, fetched));
        }
        let stored = self.secret.fetch().await.map_err(|error| self.secret_failed(error))?;
        let now = self.clock.now();
        let found = stored.as_ref().map(secret::contents).unwrap_or_default();
        let contents = match self.due(&found, now) {
            None => found,
            Some(plan) => {
                let remembered = self.shown.as_ref().map(|(contents, _)| contents);
                let changed = make::apply(plan, &found, remembered, &self.settings.wanted, now)?;
                let written = self.secret.write(stored, &changed).await.map_err(|error| self.secret_failed(error))?;
                if written == Written::TooLate {
                    return Ok(Step::Again);
                }
                self.written_at = Some(Instant::now());
                tell(plan);
                changed
            }
        };
        self.show(&contents, now);
        if self.settings.part == Part::Follows {
            return Ok(Step::Settled { until: self.next_look_of_follower(now) });
        }
        if reading::signer(&contents).is_ok() {
            self.spread(&contents, objects).await?;
        }
        Ok(Step::Settled { until: self.next_look(&contents, now) })
    }

    fn targets(&self) -> &[Target] {
        match self.settings.part {
            Part::Keeps => &self.settings.targets,
            Part::Follows => &[],
        }
    }

    /// What is to be done about the Secret now, if anything is.
    fn due(&self, found: &Contents, now: DateTime<Utc>) -> Option<Plan> {
        if self.settings.part == Part::Follows {
            return None;
        }
        match plan(found, &self.settings.wanted, now) {
            Plan::Keep { .. } => None,
            Plan::Follow { by } if now < by && self.trusted_in(found) != Some(Duration::ZERO) => None,
            _ if self.must_pause().is_some() => None,
            plan => Some(plan),
        }
    }

    /// How long before the authority that signs may be taken as trusted everywhere; nothing if it is not in all bundles.
    fn trusted_in(&self, contents: &Contents) -> Option<Duration> {
        let (signer, _) = reading::signer(contents).ok()?;
        let (_, since) = self.trusted.as_ref().filter(|(trusted, _)| *trusted == signer.authority.der)?;
        Some(self.settings.wanted.grace().saturating_sub(since.elapsed()))
    }

    fn must_pause(&self) -> Option<Duration> {
        let left = WRITE_PAUSE.saturating_sub(self.written_at?.elapsed());
        (!left.is_zero()).then_some(left)
    }

    fn next_look(&self, contents: &Contents, now: DateTime<Utc>) -> DateTime<Utc> {
        match plan(contents, &self.settings.wanted, now) {
            Plan::Keep { until } => until,
            Plan::Follow { by } => self.trusted_in(contents).map_or(by, |left| by.min(now + delta(left))),
            _ => now + delta(self.must_pause().unwrap_or_default()),
        }
    }

    /// Changes are told as they come; only what has never been there is looked for.
    fn next_look_of_follower(&self, now: DateTime<Utc>) -> DateTime<Utc> {
        if self.shown.is_some() {
            return now + delta(LOOK_LIMIT);
        }
        let (namespace, secret) = (&self.settings.namespace, &self.settings.secret);
        info!(namespace, secret, "waiting for the certificate that the operator makes");
        now + delta(WAIT_PAUSE)
    }

    /// Shows the leaf of the Secret, if it is of use and not shown already. What is shown goes on otherwise.
    fn show(&mut self, contents: &Contents, now: DateTime<Utc>) {
        let Some(leaf) = reading::leaf_of_use(contents, now) else { return };
        let until = leaf.validity.not_after;
        let shown = match &self.shown {
            Some((before, certificate)) if (&before.chain, &before.key) == (&contents.chain, &contents.key) => {
                Ok(certificate.clone())
            }
            Some((_, certificate)) => {
                let replaced = certificate.replace_pem(&contents.chain, &contents.key);
                replaced.map(|()| certificate.clone()).inspect(|_| info!(%until, "another certificate is served"))
            }
            None => ServingCertificate::from_pem(&contents.chain, &contents.key)
                .inspect(|_| info!(%until, "the certificate is served")),
        };
        match shown {
            Ok(certificate) => self.shown = Some((contents.clone(), certificate)),
            Err(error) => warn!(error = &error as &dyn std::error::Error, "the certificate cannot be served"),
        }
    }

    /// Puts the authorities into the bundles that lack them, and notes since when they are in all of them.
    async fn spread(&mut self, contents: &Contents, objects: Fetched) -> Result<(), KeepError> {
        let Ok((signer, _)) = reading::signer(contents) else { return Ok(()) };
        let authority = signer.authority.der;
        let mut failed = None;
        let mut trusted = true;
        for (target, fetched) in objects {
            match self.spread_to(&target, fetched, contents, &authority).await {
                Ok(held) => trusted &= held,
                Err(error) => {
                    trusted = false;
                    failed = Some(KeepError::Bundle(format!("{} {}", target.kind(), target.name()), error));
                }
            }
        }
        match &self.trusted {
            _ if !trusted => self.trusted = None,
            Some((known, _)) if *known == authority => {}
            _ => self.trusted = Some((authority, Instant::now())),
        }
        failed.map_or(Ok(()), Err)
    }

    /// Whether the object trusts the authority now. One that is not there trusts nobody, and nobody is asked through it.
    async fn spread_to(
        &self,
        target: &Target,
        fetched: kube::Result<Option<DynamicObject>>,
        contents: &Contents,
        authority: &CertificateDer<'_>,
    ) -> kube::Result<bool> {
        let (kind, name) = (target.kind(), target.name());
        let Some(object) = fetched? else {
            debug!(kind, name, "there is no such object; it gets its caBundle when there is");
            return Ok(true);
        };
        let Some(changed) = target.with_bundle(&object, &contents.authorities) else {
            return Ok(target.trusts(&object, authority));
        };
        match target.replace(&self.client, &changed).await {
            Ok(()) => {
                info!(kind, name, "the caBundle is written");
                Ok(true)
            }
            // Somebody changed it, which is told, and looked at then.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn secret_failed(&self, error: kube::Error) -> KeepError {
        KeepError::Secret(format!("{}/{}", self.settings.namespace, self.settings.secret), error)
    }
}

type Fetched = Vec<(Target, kube::Result<Option<DynamicObject>>)>;

/// Says what was done.
fn tell(plan: Plan) {
    match plan {
        Plan::Keep { .. } => {}
        Plan::Follow { .. } => info!("a leaf certificate of the new authority is made"),
        Plan::RenewLeaf { because } => info!(%because, "a new leaf certificate is made"),
        Plan::RenewAuthority { because } => info!(%because, "a new certificate authority is made"),
        Plan::DropOldAuthorities => info!("the old certificate authority is dropped"),
    }
}
