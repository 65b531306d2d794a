//! The Lease by which replicas agree who leads, on a real API server. The rules are `kedge_core::lease`.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kedge_core::lease::{LeaseAction, LeaseRecord, LeaseTiming, ObservedLease, may_lead, next_action, released};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::clock::Clock;
use crate::target::plain;

/// Which Lease, and who we are to the others.
#[derive(Clone, Debug)]
pub struct Election {
    pub namespace: String,
    pub name: String,
    pub identity: String,
    pub timing: LeaseTiming,
}

/// Takes part in an election.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct Elector {
    api: Api<Lease>,
    election: Election,
    clock: Clock,
    seen: Option<(Lease, ObservedLease)>,
}

/// How an attempt went.
enum Attempt {
    Held,
    /// Somebody else has it.
    Lost,
    /// The API server did not say.
    Unclear,
}

impl Elector {
    pub fn new(client: Client, clock: Clock, election: Election) -> Self {
        Self { api: Api::namespaced(client, &election.namespace), election, clock, seen: None }
    }

    /// Returns when the Lease is ours.
    pub async fn acquire(&mut self) {
        let Election { namespace, name, identity, .. } = &self.election;
        info!(namespace, lease = name, identity, "waiting for the lease");
        while !matches!(self.attempt().await, Attempt::Held) {
            tokio::time::sleep(self.election.timing.retry_period).await;
        }
        info!(lease = self.election.name, "leading");
    }

    /// Renews the Lease, and returns when it is lost, or could not be renewed in time: from then on nothing may be written.
    pub async fn hold(&mut self) {
        let timing = self.election.timing;
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(timing.retry_period).await;
            let asked = Instant::now();
            let deadline = renewed + timing.renew_deadline;
            match tokio::time::timeout_at(deadline, self.attempt()).await {
                Ok(Attempt::Held) => renewed = asked,
                Ok(Attempt::Lost) => break,
                Ok(Attempt::Unclear) | Err(_) if may_lead(renewed.into_std(), timing, Instant::now().into_std()) => {}
                Ok(Attempt::Unclear) | Err(_) => break,
            }
        }
        warn!(lease = self.election.name, "no longer leading");
    }

    /// Gives the Lease up, so that another need not wait for its end.
    pub async fn release(&mut self) {
        let Some((lease, sight)) = &self.seen else { return };
        if sight.record.holder.as_deref() != Some(&self.election.identity) {
            return;
        }
        let record = released(&sight.record, self.clock.now());
        match self.replace(lease.clone(), &record).await {
            Ok(_) => info!(lease = self.election.name, "given up the lease"),
            Err(error) => debug!(error = plain(&error), "the lease is not given up; it will end by itself"),
        }
    }

    /// Looks at the Lease, and takes or renews it if it is time.
    async fn attempt(&mut self) -> Attempt {
        match self.try_once().await {
            Ok(attempt) => attempt,
            Err(error) => {
                debug!(lease = self.election.name, error = plain(&error), "the lease is not written");
                // What stands there now is to be seen first.
                self.seen = self.seen.take().map(|(_, sight)| (Lease::default(), sight));
                Attempt::Unclear
            }
        }
    }

    async fn try_once(&mut self) -> Result<Attempt, kube::Error> {
        if !self.is_ours_as_seen() {
            self.look().await?;
        }
        let (now, wall) = (Instant::now().into_std(), self.clock.now());
        let sight = self.seen.as_ref().map(|(_, sight)| sight);
        let written = match next_action(sight, &self.election.identity, self.election.timing, now, wall) {
            LeaseAction::Wait { .. } => return Ok(Attempt::Lost),
            LeaseAction::Create(record) => {
                let lease =
                    lease(ObjectMeta { name: Some(self.election.name.clone()), ..ObjectMeta::default() }, &record);
                self.api.create(&PostParams::default(), &lease).await?
            }
            LeaseAction::Write(record) => {
                let found = self.seen.as_ref().map(|(lease, _)| lease.clone()).unwrap_or_default();
                self.replace(found, &record).await?
            }
        };
        self.saw(written);
        Ok(Attempt::Held)
    }

    /// While we hold it, nobody else writes it; the version tells if somebody does.
    fn is_ours_as_seen(&self) -> bool {
        self.seen.as_ref().is_some_and(|(lease, sight)| {
            lease.metadata.resource_version.is_some() && sight.record.holder.as_deref() == Some(&self.election.identity)
        })
    }

    async fn look(&mut self) -> Result<(), kube::Error> {
        match self.api.get_opt(&self.election.name).await? {
            Some(found) => self.saw(found),
            None => self.seen = None,
        }
        Ok(())
    }

    fn saw(&mut self, lease: Lease) {
        let before = self.seen.take().map(|(_, sight)| sight);
        let sight = ObservedLease::after(before, record(&lease), Instant::now().into_std());
        self.seen = Some((lease, sight));
    }

    /// Writes the Lease, provided that nobody wrote it since it was seen.
    async fn replace(&self, found: Lease, record: &LeaseRecord) -> Result<Lease, kube::Error> {
        self.api.replace(&self.election.name, &PostParams::default(), &lease(found.metadata, record)).await
    }
}

fn lease(metadata: ObjectMeta, record: &LeaseRecord) -> Lease {
    let micro = |at: Option<chrono::DateTime<chrono::Utc>>| at.map(kedge_api::time::to_micro_time);
    Lease {
        metadata,
        spec: Some(LeaseSpec {
            holder_identity: Some(record.holder.clone().unwrap_or_default()),
            lease_duration_seconds: record.term.map(|term| i32::try_from(term.as_secs()).unwrap_or(i32::MAX)),
            acquire_time: micro(record.acquired_at),
            renew_time: micro(record.renewed_at),
            lease_transitions: Some(record.transitions),
            ..LeaseSpec::default()
        }),
    }
}

fn record(lease: &Lease) -> LeaseRecord {
    let spec = lease.spec.clone().unwrap_or_default();
    let wall = |at: Option<MicroTime>| at.as_ref().map(kedge_api::time::from_micro_time);
    LeaseRecord {
        holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
        term: spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok()).map(Duration::from_secs),
        acquired_at: wall(spec.acquire_time),
        renewed_at: wall(spec.renew_time),
        transitions: spec.lease_transitions.unwrap_or(0),
    }
}
