//! Everything that decides, as pure functions: values in, values out. No clock, no network, no environment, no async.
//!
//! | module | what it decides |
//! |---|---|
//! | [`policy`] | the spec and the annotations of an object, defaults applied |
//! | [`activity`] | whether the triggers are active, and when they last were |
//! | [`contribution`] | what a metric and a trigger contribute to the activity |
//! | [`decide`] | the scale decision for one target |
//! | [`fallback`] | the replicas and values that replace a failing source |
//! | [`formula`] | `scalingModifiers`: one metric computed from several triggers |
//! | [`validate`] | what makes a ScaledObject invalid |
//! | [`conditions`] | the status conditions of a ScaledObject |
//! | [`status`] | the next status, from the previous one and the facts of a reconcile |
//! | [`scaled_job`] | everything about ScaledJobs: demand, new Jobs, clean-up, status |
//! | [`rivals`] | which ScaledObject keeps a target that several name |
//! | [`hpa`] | the HPA of an object: rendering, ownership, comparison, and a model of its controller |
//! | `owned` | what an object that Kedge makes has of its owner |
//! | [`lease`] | leader election: the next action on the Lease |
//! | [`simulate`] | all of it in virtual time |
//! | [`cron`] | cron schedules and windows |
//! | [`credentials`] | the fields of authentication objects, and their errors |
//! | [`environment`] | the environment variables of a container |
//! | [`secret`] | a text that is never printed |
//! | [`outbound_policy`] | where the operator may connect to for tenants, and where its identities may be used |
//! | [`cidr`] | networks in CIDR notation |
//! | [`object_name`] | which texts can be the names of objects |
//! | [`selector`] | label selectors: grammar and matching |
//! | [`trigger_class`] | what decisions need to know of a trigger's type |
//! | [`rng`] | seeded pseudo-random numbers |
//! | [`quantity`], [`milli`] | metric amounts as text and as numbers |

pub mod activity;
pub mod cidr;
pub mod conditions;
pub mod contribution;
pub mod credentials;
pub mod cron;
pub mod decide;
#[cfg(test)]
mod documented_table;
pub mod environment;
pub mod fallback;
pub mod formula;
pub mod hpa;
pub mod lease;
pub mod milli;
pub mod object_name;
pub mod outbound_policy;
mod owned;
pub mod policy;
pub mod quantity;
pub mod rivals;
pub mod rng;
pub mod scaled_job;
pub mod secret;
pub mod selector;
pub mod simulate;
pub mod status;
pub mod trigger_class;
pub mod validate;
