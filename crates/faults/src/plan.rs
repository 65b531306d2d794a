//! The scenario and the faults of each run, derived from its number. Every single fault comes first, at every point of a run without
//! faults; later runs combine several.

use std::time::Duration;

use kedge_core::rng::Rng;

use crate::fault::{ApiFault, Cut, DENIED_RESOURCES, EventFault, Fault, SourceFault};
use crate::run::{Baseline, RunPlan, baseline};
use crate::scenario::{self, Action, Scenario};

/// All scenarios, each with its baseline and every fault that it can have.
#[derive(Debug)]
pub struct SuitePlan {
    scenarios: Vec<ScenarioPlan>,
}

#[derive(Debug)]
struct ScenarioPlan {
    baseline: Baseline,
    single_faults: Vec<Fault>,
}

impl SuitePlan {
    /// Runs every scenario once without faults.
    pub fn all_scenarios() -> Self {
        Self::for_scenarios(scenario::all())
    }

    /// Runs these scenarios once without faults.
    pub fn for_scenarios(scenarios: Vec<Scenario>) -> Self {
        let scenarios = scenarios.into_iter().map(|scenario| {
            let baseline = baseline(scenario);
            let single_faults = single_faults(&baseline);
            ScenarioPlan { baseline, single_faults }
        });
        Self { scenarios: scenarios.collect() }
    }

    pub fn baselines(&self) -> impl Iterator<Item = &Baseline> {
        self.scenarios.iter().map(|scenario| &scenario.baseline)
    }

    /// The number of runs with a single fault.
    pub fn single_faults(&self) -> usize {
        self.scenarios.iter().map(|scenario| scenario.single_faults.len()).sum()
    }

    /// The run of this number.
    pub fn plan(&self, number: u64) -> RunPlan<'_> {
        let count = u64::try_from(self.scenarios.len()).expect("a length fits");
        let scenario = &self.scenarios[usize::try_from(number % count).expect("below a length")];
        let turn = usize::try_from(number / count).unwrap_or(usize::MAX);
        let faults = match scenario.single_faults.get(turn) {
            Some(single) => vec![single.clone()],
            None => several(&scenario.single_faults, &mut Rng::from_seed(number)),
        };
        RunPlan { number, baseline: &scenario.baseline, faults }
    }
}

/// Two or three faults together.
fn several(single_faults: &[Fault], rng: &mut Rng) -> Vec<Fault> {
    (0..2 + rng.below(2)).map(|_| rng.choose(single_faults).clone()).collect()
}

/// Every single fault: crashes first, the rest shuffled.
fn single_faults(baseline: &Baseline) -> Vec<Fault> {
    let mut rest = api_faults(baseline);
    rest.extend(watch_faults(baseline));
    rest.extend(source_faults(baseline));
    rest.extend(timed(baseline));
    Rng::from_seed(1).shuffle(&mut rest);
    let mut all: Vec<Fault> = seconds([1, 45]).flat_map(|downtime| crashes(baseline, downtime)).collect();
    all.extend(rest);
    all
}

fn seconds<const N: usize>(all: [u64; N]) -> impl Iterator<Item = Duration> {
    all.into_iter().map(Duration::from_secs)
}

fn crashes(baseline: &Baseline, downtime: Duration) -> impl Iterator<Item = Fault> + use<> {
    (1..=baseline.counts.writes).map(move |after_write| Fault::Crash { after_write, downtime })
}

fn api_faults(baseline: &Baseline) -> Vec<Fault> {
    let stale =
        |call| [(1, 1), (1, 5), (4, 2), (10, 8)].map(|(calls, revisions)| Fault::Stale { call, calls, revisions });
    let one = move |call| {
        let paged = baseline.scenario.page_size.map(|_| ApiFault::ExpiredPage);
        let errors = ApiFault::ALL.into_iter().chain(paged).map(move |how| Fault::Api { call, how });
        let storms = [5, 20].map(|calls| Fault::Storm { call, calls });
        let others = [Fault::EarlyStep { call }, Fault::ConcurrentWrite { call }].into_iter().chain(storms);
        errors.chain(others).chain(stale(call))
    };
    (1..=baseline.counts.calls).flat_map(one).collect()
}

fn watch_faults(baseline: &Baseline) -> impl Iterator<Item = Fault> + use<> {
    let each = |number| EventFault::ALL.map(|how| Fault::Event { number, how });
    (1..=baseline.counts.events).flat_map(each)
}

fn source_faults(baseline: &Baseline) -> impl Iterator<Item = Fault> + use<> {
    let each = |query| {
        let repeated = move |how| [1, 3, 9].map(|times| Fault::Source { query, times, how });
        SourceFault::ALL.into_iter().flat_map(repeated)
    };
    (1..=baseline.counts.queries).flat_map(each)
}

/// RBAC that denies a resource for half a minute, or for longer.
fn forbidden(at: Duration) -> impl Iterator<Item = Fault> {
    let each = move |lasts| DENIED_RESOURCES.map(|resource| Fault::Forbidden { at, lasts, resource });
    seconds([30, 150]).flat_map(each)
}

/// Faults at a point in time, whatever the operator does then.
fn timed(baseline: &Baseline) -> Vec<Fault> {
    let end = baseline.scenario.steps.last().map_or(Duration::ZERO, |step| step.at) + Duration::from_secs(120);
    let times = (1..=end.as_secs() / 7).map(|number| Duration::from_secs(number * 7));
    let at = |at: Duration| {
        let kills = seconds([1, 45]).map(move |downtime| Fault::Kill { at, downtime });
        let clocks = [-7200, -90, 90, 7200].map(|by_seconds| Fault::Clock { at, by_seconds });
        kills.chain(clocks)
    };
    let partition = |at: Duration| {
        let cuts = move |lasts| Cut::ALL.map(|cut| Fault::Partition { at, lasts, cut });
        seconds([5, 12, 30, 90]).flat_map(cuts)
    };
    let mut all: Vec<Fault> = times.clone().flat_map(at).collect();
    // An object whose target cannot be restored is removed nevertheless, after some attempts.
    let deletes = baseline.scenario.steps.iter().any(|step| matches!(step.action, Action::Delete(..)));
    if !deletes {
        all.extend(times.clone().step_by(3).flat_map(forbidden));
    }
    if baseline.scenario.operators > 1 {
        all.extend(times.flat_map(partition));
    }
    all
}
