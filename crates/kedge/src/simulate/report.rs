//! A run of the simulation, and its summary.

use kedge_core::simulate::{Plan, SimulationEvent, Summary};

use super::sources::Sources;

pub(super) struct Report<'a> {
    pub(super) origin: &'a str,
    pub(super) load: &'a str,
    pub(super) plan: &'a Plan<'a>,
    pub(super) sources: &'a Sources,
    pub(super) events: &'a [SimulationEvent],
    pub(super) summary: Summary,
}
