//! The pods of the target. They are created at once, become ready after their start-up time, and are gone at once.

use chrono::{DateTime, TimeDelta, Utc};

use crate::hpa::model::pods::{ObservedPod, Phase, Readiness, ReadyState};

#[derive(Debug)]
pub(super) struct Pods {
    start_up: TimeDelta,
    /// Of each pod, the oldest first: when it was created and when it is ready.
    pods: Vec<Pod>,
}

#[derive(Clone, Copy, Debug)]
struct Pod {
    created_at: DateTime<Utc>,
    ready_at: DateTime<Utc>,
}

impl Pods {
    /// Pods that have long been ready.
    pub(super) fn ready_since(now: DateTime<Utc>, replicas: i32, start_up: TimeDelta) -> Self {
        let pod = Pod { created_at: now, ready_at: now };
        Self { start_up, pods: vec![pod; usize::try_from(replicas).unwrap_or(0)] }
    }

    /// `spec.replicas` of the target, which equals `status.replicas`: pods are created at once.
    pub(super) fn current(&self) -> i32 {
        count(self.pods.len())
    }

    pub(super) fn ready(&self, now: DateTime<Utc>) -> i32 {
        count(self.pods.iter().filter(|pod| pod.ready_at <= now).count())
    }

    /// When the first pod is ready, if there is any.
    pub(super) fn first_ready_at(&self) -> Option<DateTime<Utc>> {
        self.pods.iter().map(|pod| pod.ready_at).min()
    }

    /// Creates pods, or removes the youngest.
    pub(super) fn scale(&mut self, to: i32, now: DateTime<Utc>) {
        let ready_at = now.checked_add_signed(self.start_up).unwrap_or(DateTime::<Utc>::MAX_UTC);
        self.pods.resize(usize::try_from(to).unwrap_or(0), Pod { created_at: now, ready_at });
    }

    /// The pods as the HPA controller sees them.
    pub(super) fn observe(&self, now: DateTime<Utc>) -> Vec<ObservedPod> {
        self.pods.iter().enumerate().map(|(index, pod)| pod.observe(index, now)).collect()
    }
}

impl Pod {
    fn observe(&self, index: usize, now: DateTime<Utc>) -> ObservedPod {
        let (phase, state, since) = if self.ready_at <= now {
            (Phase::Running, ReadyState::Ready, self.ready_at)
        } else {
            (Phase::Pending, ReadyState::Unready, self.created_at)
        };
        ObservedPod {
            name: format!("pod-{index}"),
            phase,
            is_deleting: false,
            started_at: Some(self.created_at),
            readiness: Some(Readiness { state, since }),
            own_requests: None,
            containers: vec![],
        }
    }
}

fn count(pods: usize) -> i32 {
    i32::try_from(pods).unwrap_or(i32::MAX)
}
