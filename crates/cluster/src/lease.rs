//! Leader election through a Lease. The rules are in `kedge_core::lease`; this module does their IO.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kedge_core::lease::{LeaseAction, LeaseRecord, LeaseTiming, ObservedLease, may_lead, next_action, released};
use kube::Client;
use kube::api::{Api, PostParams};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use crate::api_error;
use crate::clock::Clock;

/// The Lease to use, and the identity of this replica.
#[derive(Clone, Debug)]
pub struct LeaderElection {
    pub namespace: String,
    pub name: String,
    pub identity: String,
    pub timing: LeaseTiming,
}

/// Acquires, renews and releases the Lease.
#[allow(missing_debug_implementations)] // kube's client has none
pub struct LeaderElector {
    api: Api<Lease>,
    election: LeaderElection,
    clock: Clock,
    seen: Option<(Lease, ObservedLease)>,
    on_holder: Option<HolderObserver>,
}

/// Is called with the holder of the Lease, each time it is read.
type HolderObserver = Box<dyn Fn(Option<&str>) + Send + Sync>;

/// The name of the replica within its identity: what follows the last `_` tells apart the processes of one pod.
pub fn instance_of(identity: &str) -> &str {
    identity.rsplit_once('_').map_or(identity, |(instance, _)| instance)
}

/// The result of one attempt to acquire or renew.
enum Attempt {
    Held,
    /// Another replica holds the Lease.
    Lost,
    /// The request failed, so the holder is not known.
    Unclear,
}

/// How often the release of the Lease is tried; then it expires.
const RELEASE_ATTEMPTS: u32 = 3;

impl LeaderElector {
    pub fn new(client: Client, clock: Clock, election: LeaderElection) -> Self {
        Self { api: Api::namespaced(client, &election.namespace), election, clock, seen: None, on_holder: None }
    }

    /// Calls `observer` with the holder of the Lease, each time it is read.
    pub fn with_holder_observer(mut self, observer: impl Fn(Option<&str>) + Send + Sync + 'static) -> Self {
        self.on_holder = Some(Box::new(observer));
        self
    }

    /// Returns once this replica holds the Lease.
    pub async fn acquire(&mut self) {
        let LeaderElection { namespace, name, identity, .. } = &self.election;
        info!(namespace, lease = name, identity, "waiting for the lease");
        while !matches!(self.attempt().await, Attempt::Held) {
            tokio::time::sleep(self.election.timing.retry_period).await;
        }
        info!(lease = self.election.name, "leading");
    }

    /// Renews the Lease. Returns when the Lease is lost or could not be renewed in time: from then on nothing may be written.
    pub async fn hold(&mut self) {
        let timing = self.election.timing;
        let mut renewed = Instant::now();
        loop {
            tokio::time::sleep(timing.retry_period).await;
            let requested_at = Instant::now();
            let deadline = renewed + timing.renew_deadline;
            match tokio::time::timeout_at(deadline, self.attempt()).await {
                Ok(Attempt::Held) => renewed = requested_at,
                Ok(Attempt::Lost) => break,
                Ok(Attempt::Unclear) | Err(_) if may_lead(renewed.into_std(), timing, Instant::now().into_std()) => {}
                Ok(Attempt::Unclear) | Err(_) => break,
            }
        }
        warn!(lease = self.election.name, "no longer leading");
    }

    /// Releases the Lease, so that a standby need not wait for it to expire.
    pub async fn release(&mut self) {
        for _ in 0..RELEASE_ATTEMPTS {
            let Some((lease, sight)) = &self.seen else { return };
            if sight.record.holder.as_deref() != Some(&self.election.identity) {
                return;
            }
            let record = released(&sight.record, self.clock.now());
            match self.replace(lease.clone(), &record).await {
                Ok(_) => return info!(lease = self.election.name, "lease released"),
                Err(error) => debug!(error = api_error::message(&error), "lease not released"),
            }
            // A renewal that was on its way may have been stored.
            if self.fetch().await.is_err() {
                return;
            }
        }
    }

    /// Tries once to acquire or renew the Lease.
    async fn attempt(&mut self) -> Attempt {
        match self.try_once().await {
            Ok(attempt) => attempt,
            Err(error) => {
                debug!(lease = self.election.name, error = api_error::message(&error), "lease not written");
                // The stored Lease is read before the next write.
                self.seen = self.seen.take().map(|(_, sight)| (Lease::default(), sight));
                Attempt::Unclear
            }
        }
    }

    async fn try_once(&mut self) -> Result<Attempt, kube::Error> {
        if !self.is_ours_as_seen() {
            self.fetch().await?;
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
        self.observe(written);
        Ok(Attempt::Held)
    }

    /// While this replica holds the Lease, no other writes it; the resource version exposes one that does.
    fn is_ours_as_seen(&self) -> bool {
        self.seen.as_ref().is_some_and(|(lease, sight)| {
            lease.metadata.resource_version.is_some() && sight.record.holder.as_deref() == Some(&self.election.identity)
        })
    }

    async fn fetch(&mut self) -> Result<(), kube::Error> {
        match self.api.get_opt(&self.election.name).await? {
            Some(found) => self.observe(found),
            None => self.seen = None,
        }
        Ok(())
    }

    fn observe(&mut self, lease: Lease) {
        let before = self.seen.take().map(|(_, sight)| sight);
        let sight = ObservedLease::after(before, record(&lease), Instant::now().into_std());
        if let Some(on_holder) = &self.on_holder {
            on_holder(sight.record.holder.as_deref());
        }
        self.seen = Some((lease, sight));
    }

    /// Writes the Lease unless another replica wrote it since it was read.
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
