//! Which scenario goes wrong in which way in the run of a given number. First every single fault has its turn, at every point
//! that a run without faults has; then several come together.

use std::time::Duration;

use crate::chance::Chance;
use crate::fault::{ApiFault, Cut, EventFault, Fault, SourceFault};
use crate::run::{Baseline, baseline};
use crate::scenario::{self, Scenario};

/// One run.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    pub number: u64,
    pub baseline: &'a Baseline,
    pub faults: Vec<Fault>,
}

/// All scenarios, each as it goes without faults, with every fault that it can have.
#[derive(Debug)]
pub struct Book {
    chapters: Vec<Chapter>,
}

#[derive(Debug)]
struct Chapter {
    baseline: Baseline,
    singles: Vec<Fault>,
}

impl Book {
    /// Plays every scenario once without faults.
    pub fn open() -> Self {
        Self::of(scenario::all())
    }

    /// The same for some scenarios only.
    pub fn of(scenarios: Vec<Scenario>) -> Self {
        let chapters = scenarios.into_iter().map(|scenario| {
            let baseline = baseline(scenario);
            let singles = singles(&baseline);
            Chapter { baseline, singles }
        });
        Self { chapters: chapters.collect() }
    }

    pub fn baselines(&self) -> impl Iterator<Item = &Baseline> {
        self.chapters.iter().map(|chapter| &chapter.baseline)
    }

    /// How many runs there are in which a single thing goes wrong.
    pub fn singles(&self) -> usize {
        self.chapters.iter().map(|chapter| chapter.singles.len()).sum()
    }

    /// The run of this number.
    pub fn plan(&self, number: u64) -> Plan<'_> {
        let count = u64::try_from(self.chapters.len()).expect("a length fits");
        let chapter = &self.chapters[usize::try_from(number % count).expect("below a length")];
        let turn = usize::try_from(number / count).unwrap_or(usize::MAX);
        let faults = match chapter.singles.get(turn) {
            Some(single) => vec![single.clone()],
            None => several(&chapter.singles, &mut Chance::new(number)),
        };
        Plan { number, baseline: &chapter.baseline, faults }
    }
}

/// Two or three faults together.
fn several(singles: &[Fault], chance: &mut Chance) -> Vec<Fault> {
    (0..2 + chance.below(2)).map(|_| chance.one_of(singles).clone()).collect()
}

/// Every single fault: crashes first, the rest in a mixed order.
fn singles(baseline: &Baseline) -> Vec<Fault> {
    let mut rest = api(baseline);
    rest.extend(watches(baseline));
    rest.extend(sources(baseline));
    rest.extend(moments(baseline));
    Chance::new(1).shuffle(&mut rest);
    let mut all: Vec<Fault> = seconds([1, 45]).flat_map(|away| crashes(baseline, away)).collect();
    all.extend(rest);
    all
}

fn seconds<const N: usize>(all: [u64; N]) -> impl Iterator<Item = Duration> {
    all.into_iter().map(Duration::from_secs)
}

fn crashes(baseline: &Baseline, away: Duration) -> impl Iterator<Item = Fault> + use<> {
    (1..=baseline.counts.writes).map(move |after_write| Fault::Crash { after_write, away })
}

fn api(baseline: &Baseline) -> Vec<Fault> {
    let stale =
        |call| [(1, 1), (1, 5), (4, 2), (10, 8)].map(|(calls, revisions)| Fault::Stale { call, calls, revisions });
    let one = |call| {
        let errors = ApiFault::ALL.map(|how| Fault::Api { call, how });
        let others = [Fault::Early { call }, Fault::Meddle { call }];
        errors.into_iter().chain(others).chain(stale(call))
    };
    (1..=baseline.counts.calls).flat_map(one).collect()
}

fn watches(baseline: &Baseline) -> impl Iterator<Item = Fault> + use<> {
    let of = |number| EventFault::ALL.map(|how| Fault::Event { number, how });
    (1..=baseline.counts.events).flat_map(of)
}

fn sources(baseline: &Baseline) -> impl Iterator<Item = Fault> + use<> {
    let of = |question| {
        let of = move |how| [1, 3, 9].map(|times| Fault::Source { question, times, how });
        SourceFault::ALL.into_iter().flat_map(of)
    };
    (1..=baseline.counts.questions).flat_map(of)
}

/// What happens at some time, whatever the operator is doing then.
fn moments(baseline: &Baseline) -> Vec<Fault> {
    let end = baseline.scenario.steps.last().map_or(Duration::ZERO, |step| step.at) + Duration::from_secs(120);
    let times = (1..=end.as_secs() / 7).map(|number| Duration::from_secs(number * 7));
    let at = |at: Duration| {
        let kills = seconds([1, 45]).map(move |away| Fault::Kill { at, away });
        let clocks = [-7200, -90, 90, 7200].map(|by_seconds| Fault::Clock { at, by_seconds });
        kills.chain(clocks)
    };
    let partition = |at: Duration| {
        let of = move |lasts| Cut::ALL.map(|cut| Fault::Partition { at, lasts, cut });
        seconds([5, 12, 30, 90]).flat_map(of)
    };
    let mut all: Vec<Fault> = times.clone().flat_map(at).collect();
    if baseline.scenario.operators > 1 {
        all.extend(times.flat_map(partition));
    }
    all
}
