//! The fault suite: the real operator on a Kubernetes API in memory, in virtual time, while something goes wrong.
//!
//! | module | what it holds |
//! |---|---|
//! | [`scenario`] | what users do in a run |
//! | [`fault`] | what goes wrong |
//! | [`plan`] | which run has which scenario and faults: all follows from its number |
//! | [`run`] | one run, judged |
//! | [`state`] | the state in which it ends, which must be the same as without faults |
//! | [`law`] | what may never happen on the way |
//! | [`lab`] | everything a run needs: API server, controllers, sources, operator |
//! | [`wire`] | between operator and API server, where things go wrong |
//! | [`journal`] | every request, counted |
//! | [`source`] | the sources, and what goes wrong with them |
//! | [`metrics`] | the external metrics API |
//! | [`user`] | who takes the steps of a scenario |
//! | [`series`] | many runs, on all cores, with progress, resumed where they ended |
//! | [`mutants`] | deliberate defects of the operator, and whether the suite detects them |
//! | [`chance`] | chance that is the same every time |

pub mod chance;
pub mod fault;
pub mod journal;
pub mod lab;
pub mod law;
pub mod metrics;
pub mod mutants;
pub mod plan;
pub mod run;
pub mod scenario;
pub mod series;
pub mod source;
pub mod state;
pub mod user;
pub mod wire;
