//! The fault suite: the real operator on an in-memory Kubernetes API, in virtual time, with injected faults.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scenario`] | what users do in a run |
//! | [`fault`] | the faults |
//! | [`plan`] | the scenario and the faults of each run, derived from its number |
//! | [`run`] | one run, and its violations |
//! | [`batch`] | many runs, on all cores |
//! | [`state`] | the state at the end of a run, which must be that of a run without faults |
//! | [`invariant`] | what must hold throughout a run |
//! | [`environment`] | the test environment: API server, controllers, sources, operator |
//! | [`transport`] | the transport between operator and API server, which injects faults |
//! | [`request_log`] | every request, counted |
//! | [`certificates`] | the rotation of the operator's certificates |
//! | [`source`] | the metric sources, which inject faults |
//! | [`metrics`] | the external metrics API |
//! | [`driver`] | takes the steps of a scenario |
//! | [`job_workers`] | ends Jobs, as the Job controller and their pods would |
//! | [`mutants`] | deliberate defects of the operator, and whether the suite detects them |

pub mod batch;
pub mod certificates;
pub mod driver;
pub mod environment;
pub mod fault;
pub mod invariant;
pub mod job_workers;
pub mod metrics;
pub mod mutants;
pub mod plan;
pub mod request_log;
pub mod run;
pub mod scenario;
pub mod source;
pub mod state;
pub mod transport;
