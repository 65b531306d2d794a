//! Which Jobs of a ScaledJob are deleted.

use super::jobs::{Job, JobResult, JobState};
use super::policy::HistoryLimits;

/// The Jobs of another generation, whatever their state.
pub fn outdated<'a>(jobs: impl Iterator<Item = &'a Job>, generation: i64) -> Vec<&'a Job> {
    jobs.filter(|job| !job.is_being_deleted && job.generation != Some(generation)).collect()
}

/// The finished Jobs beyond the limits: of each result, those that ended first.
pub fn surplus<'a>(jobs: impl Iterator<Item = &'a Job>, limits: HistoryLimits) -> Vec<&'a Job> {
    let (mut complete, mut failed) = (Vec::new(), Vec::new());
    for job in jobs.filter(|job| !job.is_being_deleted) {
        match job.state {
            JobState::Finished { result: JobResult::Complete, at } => complete.push((at, &*job.name, job)),
            JobState::Finished { result: JobResult::Failed, at } => failed.push((at, &*job.name, job)),
            JobState::Unfinished => {}
        }
    }
    let mut surplus = Vec::new();
    for (mut finished, limit) in [(complete, limits.successful), (failed, limits.failed)] {
        finished.sort_by_key(|(at, name, _)| (*at, *name));
        finished.truncate(finished.len().saturating_sub(limit));
        surplus.extend(finished.into_iter().map(|(_, _, job)| job));
    }
    surplus
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::*;

    fn finished(name: &str, result: JobResult, second: i64) -> Job {
        let at = DateTime::from_timestamp(second, 0);
        Job { state: JobState::Finished { result, at }, ..unfinished(name, 1) }
    }

    fn unfinished(name: &str, generation: i64) -> Job {
        Job { name: name.into(), generation: Some(generation), state: JobState::Unfinished, is_being_deleted: false }
    }

    fn names<'a>(jobs: &[&'a Job]) -> Vec<&'a str> {
        jobs.iter().map(|job| &*job.name).collect()
    }

    #[test]
    fn the_oldest_of_each_result_go() {
        use JobResult::*;
        let jobs = [
            finished("c3", Complete, 30),
            finished("c1", Complete, 10),
            finished("f2", Failed, 20),
            finished("c2", Complete, 20),
            finished("f1", Failed, 5),
            unfinished("running", 1),
        ];
        let surplus = |successful, failed| names(&surplus(jobs.iter(), HistoryLimits { successful, failed }));
        assert_eq!(surplus(2, 1), ["c1", "f1"]);
        assert_eq!(surplus(0, 5), ["c1", "c2", "c3"]);
        assert_eq!(surplus(3, 2), [""; 0]);
    }

    #[test]
    fn jobs_of_another_generation_are_outdated_in_every_state() {
        let unknown = Job { generation: None, ..unfinished("by hand", 1) };
        let gone = Job { is_being_deleted: true, ..unfinished("gone", 1) };
        let jobs = [unfinished("old", 1), unfinished("new", 2), finished("done", JobResult::Failed, 1), unknown, gone];
        assert_eq!(names(&outdated(jobs.iter(), 2)), ["old", "done", "by hand"]);
    }

    fn any_job() -> impl Strategy<Value = Job> {
        let result = prop_oneof![Just(JobResult::Complete), Just(JobResult::Failed)];
        let state = prop_oneof![
            Just(JobState::Unfinished),
            (result, 0..50i64)
                .prop_map(|(result, second)| JobState::Finished { result, at: DateTime::from_timestamp(second, 0) }),
        ];
        ("[a-z]{6}", state, any::<bool>()).prop_map(|(name, state, is_being_deleted)| Job {
            name: name.into(),
            generation: Some(1),
            state,
            is_being_deleted,
        })
    }

    proptest! {
        #[test]
        fn no_unfinished_job_goes_and_as_many_stay_as_the_limits_allow(
            jobs in prop::collection::vec(any_job(), 0..20), successful in 0..5usize, failed in 0..5usize,
        ) {
            let gone = surplus(jobs.iter(), HistoryLimits { successful, failed });
            for (result, limit) in [(JobResult::Complete, successful), (JobResult::Failed, failed)] {
                let is_it = |job: &Job| {
                    !job.is_being_deleted && matches!(job.state, JobState::Finished { result: own, .. } if own == result)
                };
                let (all, left) = (
                    jobs.iter().filter(|job| is_it(job)).count(),
                    gone.iter().filter(|job| is_it(job)).count(),
                );
                prop_assert_eq!(all - left, all.min(limit));
            }
            prop_assert!(gone.iter().all(|job| job.state != JobState::Unfinished && !job.is_being_deleted));
        }
    }
}
