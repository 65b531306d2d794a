//! Every decision about a ScaledJob.
//!
//! | module | what it decides |
//! |---|---|
//! | [`policy`] | the spec and the annotations of an object, defaults applied |
//! | [`demand`] | how much work the triggers announce together |
//! | [`decide`] | how many Jobs are created |
//! | [`jobs`] | what of a Job and its pods counts, and how many are running and pending |
//! | [`cleanup`] | which Jobs are deleted: those of an older spec, and finished ones beyond the limits |
//! | [`names`] | the names of Jobs, the same for the same work |
//! | [`render`] | the Job for a ScaledJob |
//! | [`conditions`], [`status`] | what the status says |

pub mod cleanup;
pub mod conditions;
pub mod decide;
pub mod demand;
pub mod jobs;
pub mod names;
pub mod policy;
pub mod render;
pub mod status;
