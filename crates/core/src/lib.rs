//! Everything that decides, as pure functions: values in, values out. No clock, no network, no environment, no async.
//!
//! | module | what it decides |
//! |---|---|
//! | [`policy`] | what an object asks for, defaults filled in and annotations read |
//! | [`activity`] | whether there is work, and since when there is none |
//! | [`decide`] | what to do with the target now |
//! | [`fallback`] | what counts in place of a source that keeps failing |
//! | [`formula`] | what several triggers make together, by `scalingModifiers` |
//! | [`validate`] | what makes an object unusable |
//! | [`conditions`] | what users are told |
//! | [`hpa`] | the HPA of an object |
//! | [`lease`] | who leads |
//! | [`simulate`] | all of it, in virtual time |
//! | [`cron`] | when a cron window is open |
//! | [`credentials`] | what authentication objects mean, and what can be wrong with them |
//! | [`environment`] | the variables of a container |
//! | [`secret`] | a text that is never shown |
//! | [`selector`] | what a label selector may say |
//! | [`trigger_class`] | what decisions need to know of a trigger's type |
//! | [`quantity`], [`milli`] | metric amounts, as text and as numbers |

pub mod activity;
pub mod conditions;
pub mod credentials;
pub mod cron;
pub mod decide;
pub mod environment;
pub mod fallback;
pub mod formula;
pub mod hpa;
pub mod lease;
pub mod milli;
pub mod policy;
pub mod quantity;
pub mod rng;
pub mod secret;
pub mod selector;
pub mod simulate;
pub mod trigger_class;
pub mod validate;
