//! What of a Job and its pods counts.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use k8s_openapi::api::batch::v1::{Job as KubernetesJob, JobCondition};
use k8s_openapi::api::core::v1::Pod as KubernetesPod;
use kedge_api::names::annotations;

/// A Job, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub name: Box<str>,
    /// The generation of the ScaledJob that it was created for, if it is known.
    pub generation: Option<i64>,
    pub state: JobState,
    pub is_being_deleted: bool,
}

/// Whether a Job has ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobState {
    Unfinished,
    Finished { result: JobResult, at: Option<DateTime<Utc>> },
}

/// How a Job has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobResult {
    Complete,
    Failed,
}

/// A pod of a Job, as far as decisions need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobPod {
    /// Whether it runs, or has succeeded.
    pub has_run: bool,
    /// The types of its conditions that are true.
    pub true_conditions: BTreeSet<Box<str>>,
}

/// How many Jobs have not ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// All of them: suspended ones, ones that are being deleted, and pending ones are among them.
    pub running: i64,
    /// Those that have not started.
    pub pending: i64,
}

impl From<&KubernetesJob> for Job {
    fn from(job: &KubernetesJob) -> Self {
        let meta = &job.metadata;
        let generation = meta.annotations.as_ref().and_then(|notes| notes.get(annotations::JOB_GENERATION));
        Self {
            name: meta.name.as_deref().unwrap_or_default().into(),
            generation: generation.and_then(|text| text.parse().ok()),
            state: state_of(job),
            is_being_deleted: meta.deletion_timestamp.is_some(),
        }
    }
}

/// KEDA: the first condition that says that the Job has ended counts.
fn state_of(job: &KubernetesJob) -> JobState {
    let mut conditions = job.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ended = |condition: &JobCondition| match (condition.type_.as_str(), condition.status.as_str()) {
        ("Complete", "True") => Some((JobResult::Complete, condition.last_transition_time.clone())),
        ("Failed", "True") => Some((JobResult::Failed, condition.last_transition_time.clone())),
        _ => None,
    };
    let Some((result, since)) = conditions.find_map(ended) else { return JobState::Unfinished };
    let completed = job.status.as_ref().and_then(|status| status.completion_time.clone());
    JobState::Finished { result, at: completed.or(since).as_ref().map(kedge_api::time::from_time) }
}

impl From<&KubernetesPod> for JobPod {
    fn from(pod: &KubernetesPod) -> Self {
        let Some(status) = &pod.status else { return Self::default() };
        let conditions = status.conditions.iter().flatten();
        Self {
            has_run: matches!(status.phase.as_deref(), Some("Running" | "Succeeded")),
            true_conditions: conditions
                .filter(|condition| condition.status == "True")
                .map(|condition| condition.type_.as_str().into())
                .collect(),
        }
    }
}

impl JobPod {
    /// Whether this pod is enough for its Job to count as started.
    pub fn has_started(&self, wanted: &BTreeSet<String>) -> bool {
        match wanted.is_empty() {
            true => self.has_run,
            false => wanted.iter().all(|condition| self.true_conditions.contains(condition.as_str())),
        }
    }
}

impl JobCounts {
    /// Counts Jobs. `has_started` is asked for each that has not ended.
    pub fn of<'a>(jobs: impl Iterator<Item = &'a Job>, has_started: impl Fn(&Job) -> bool) -> Self {
        let unfinished = jobs.filter(|job| job.state == JobState::Unfinished);
        unfinished.fold(Self::default(), |counts, job| Self {
            running: counts.running + 1,
            pending: counts.pending + i64::from(!has_started(job)),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(status: serde_json::Value) -> Job {
        let job = json!({ "metadata": { "name": "a", "annotations": { "scaledjob.keda.sh/generation": "7" } }, "status": status });
        Job::from(&serde_json::from_value::<KubernetesJob>(job).unwrap())
    }

    #[test]
    fn a_job_has_ended_with_its_first_condition_that_says_so() {
        let at = |text: &str| Some(text.parse().unwrap());
        let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z");
        let condition = |kind, status| json!({ "type": kind, "status": status, "lastTransitionTime": early });
        let finished = |result, at| JobState::Finished { result, at };
        for (name, status, expected) in [
            ("a new one has not", json!({}), JobState::Unfinished),
            (
                "a suspended one neither",
                json!({ "conditions": [condition("Suspended", "True")] }),
                JobState::Unfinished,
            ),
            (
                "nor one that is about to",
                json!({ "conditions": [condition("SuccessCriteriaMet", "True"), condition("Complete", "False")] }),
                JobState::Unfinished,
            ),
            (
                "complete, at its completion time",
                json!({ "conditions": [condition("Complete", "True")], "completionTime": late }),
                finished(JobResult::Complete, at(late)),
            ),
            (
                "failed, which has no completion time",
                json!({ "conditions": [condition("FailureTarget", "True"), condition("Failed", "True")] }),
                finished(JobResult::Failed, at(early)),
            ),
        ] {
            assert_eq!(job(status).state, expected, "{name}");
        }
        assert_eq!(job(json!({})).generation, Some(7));
    }

    fn pod(phase: &str, conditions: &[&str]) -> JobPod {
        let mut all = vec![json!({ "type": "Ready", "status": "False" })];
        all.extend(conditions.iter().map(|kind| json!({ "type": kind, "status": "True" })));
        let status = json!({ "phase": phase, "conditions": all });
        JobPod::from(&serde_json::from_value::<KubernetesPod>(json!({ "metadata": {}, "status": status })).unwrap())
    }

    #[test]
    fn a_job_has_started_with_one_pod_that_has() {
        let wanted = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        for (name, pod, conditions, expected) in [
            ("a pending pod", pod("Pending", &["PodScheduled"]), wanted(&[]), false),
            ("a running one", pod("Running", &[]), wanted(&[]), true),
            ("one that succeeded", pod("Succeeded", &[]), wanted(&[]), true),
            ("one that failed", pod("Failed", &[]), wanted(&[]), false),
            ("the phase does not count with conditions", pod("Running", &[]), wanted(&["Initialized"]), false),
            ("all are needed", pod("Pending", &["A"]), wanted(&["A", "B"]), false),
            ("and are enough", pod("Pending", &["A", "B", "C"]), wanted(&["A", "B"]), true),
            ("a false one is not", pod("Running", &["A"]), wanted(&["Ready"]), false),
        ] {
            assert_eq!(pod.has_started(&conditions), expected, "{name}");
        }
    }

    #[test]
    fn only_jobs_that_have_not_ended_are_counted() {
        let done = job(json!({ "conditions": [{ "type": "Complete", "status": "True" }] }));
        let running = job(json!({}));
        let waiting = Job { name: "b".into(), ..running.clone() };
        let counts = JobCounts::of([&done, &running, &waiting].into_iter(), |job| *job.name == *"a");
        assert_eq!(counts, JobCounts { running: 2, pending: 1 });
    }
}
