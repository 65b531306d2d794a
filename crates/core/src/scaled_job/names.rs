//! The names of Jobs: `<ScaledJob>-<generation>-<sequence>`. Work that is asked for again, because the answer was lost, has the same name,
//! so that it is not done twice.

use sha2::{Digest, Sha256};

/// The longest name of a Job: its pods have the name as a label.
#[cfg(test)]
const NAME_LENGTH_MAX: usize = 63;

/// What a name keeps of the ScaledJob's: the rest is for the numbers, up to 20 digits together.
const BASE_LENGTH_MAX: usize = 41;

/// What a longer name is cut to, before its hash.
const CUT_LENGTH: usize = BASE_LENGTH_MAX - 9;

/// The name of a Job.
pub fn job_name(scaled_job: &str, generation: i64, sequence: u64) -> String {
    format!("{}{sequence}", prefix(scaled_job, generation))
}

/// The sequence number after those of these Jobs of one ScaledJob, which begin with 1.
pub fn next_sequence<'a>(scaled_job: &str, generation: i64, names: impl Iterator<Item = &'a str>) -> u64 {
    let prefix = prefix(scaled_job, generation);
    let sequences = names.filter_map(|name| name.strip_prefix(&prefix)?.parse::<u64>().ok());
    sequences.max().unwrap_or(0) + 1
}

fn prefix(scaled_job: &str, generation: i64) -> String {
    if scaled_job.len() <= BASE_LENGTH_MAX {
        return format!("{scaled_job}-{generation}-");
    }
    let hash = Sha256::digest(scaled_job);
    let cut = scaled_job[..CUT_LENGTH].trim_end_matches(['-', '.']);
    format!("{cut}-{:02x}{:02x}{:02x}{:02x}-{generation}-", hash[0], hash[1], hash[2], hash[3])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sequences_continue_after_the_jobs_of_the_same_generation() {
        let names = ["drain-2-7", "drain-2-12", "drain-3-1", "drain-2-x", "drain-2-2-99", "other-2-50"];
        assert_eq!(next_sequence("drain", 2, names.into_iter()), 13);
        assert_eq!(next_sequence("drain", 4, names.into_iter()), 1);
        assert_eq!(job_name("drain", 2, 13), "drain-2-13");
    }

    proptest! {
        #[test]
        fn a_name_is_short_enough_and_its_own(
            object in "[a-z]([a-z.-]{0,80}[a-z])?", other in "[a-z]([a-z.-]{0,80}[a-z])?",
            generation in 1..100_000i64, sequence in 1..100_000_000u64,
        ) {
            let name = job_name(&object, generation, sequence);
            prop_assert!(name.len() <= NAME_LENGTH_MAX, "{}", name);
            prop_assert_eq!(next_sequence(&object, generation, [&*name].into_iter()), sequence + 1);
            if object != other {
                prop_assert_ne!(job_name(&other, generation, sequence), name);
            }
        }
    }
}
