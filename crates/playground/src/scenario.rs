//! Prepared days: manifests, and how the values of their sources go. A dial that a user turns is the user's from then on.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use kedge_dashboard::Health;
use tokio::time::Instant;

use crate::dials::Dials;

/// How often dials are turned.
const EVERY: Duration = Duration::from_secs(1);

/// A prepared day.
#[derive(Debug, PartialEq)]
pub struct Scenario {
    pub name: &'static str,
    /// What it shows, in one line.
    pub summary: &'static str,
    pub manifests: &'static str,
    curves: &'static [Curve],
}

/// How a value goes, again and again.
#[derive(Debug, PartialEq)]
struct Curve {
    dial: &'static str,
    phases: &'static [Phase],
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Phase {
    seconds: f64,
    from: f64,
    to: f64,
    health: Health,
}

const fn steady(seconds: f64, value: f64) -> Phase {
    Phase { seconds, from: value, to: value, health: Health::Works }
}

const fn ramp(seconds: f64, from: f64, to: f64) -> Phase {
    Phase { seconds, from, to, health: Health::Works }
}

const fn broken(seconds: f64, value: f64) -> Phase {
    Phase { seconds, from: value, to: value, health: Health::Broken }
}

/// All scenarios. The first is the default.
pub static ALL: [Scenario; 5] = [
    Scenario {
        name: "queue-worker",
        summary: "a worker follows a queue: from zero, up, down, and back to zero",
        manifests: include_str!("scenario/queue-worker.yaml"),
        curves: &[Curve {
            dial: "prometheus.playground:9090 sum(orders_waiting)",
            phases: &[
                steady(10.0, 0.0),
                ramp(50.0, 5.0, 180.0),
                steady(40.0, 180.0),
                ramp(50.0, 180.0, 15.0),
                steady(40.0, 15.0),
                steady(90.0, 0.0),
            ],
        }],
    },
    Scenario {
        name: "office-hours",
        summary: "two replicas in office hours and more at noon; try it with --speed 600",
        manifests: include_str!("scenario/office-hours.yaml"),
        curves: &[],
    },
    Scenario {
        name: "flaky-source",
        summary: "a source fails: a few failures change nothing, many bring the fallback",
        manifests: include_str!("scenario/flaky-source.yaml"),
        curves: &[Curve {
            dial: "prometheus.playground:9090 sum(jobs_waiting)",
            phases: &[
                steady(60.0, 60.0),
                broken(12.0, 60.0),
                steady(45.0, 60.0),
                broken(90.0, 60.0),
                steady(60.0, 20.0),
            ],
        }],
    },
    Scenario {
        name: "formula",
        summary: "two triggers and a formula: what is waiting, but no more than the database bears",
        manifests: include_str!("scenario/formula.yaml"),
        curves: &[
            Curve {
                dial: "prometheus.playground:9090 sum(messages_waiting)",
                phases: &[ramp(60.0, 0.0, 120.0), steady(60.0, 120.0), ramp(60.0, 120.0, 0.0)],
            },
            Curve {
                dial: "database.playground:80/load",
                phases: &[steady(90.0, 20.0), ramp(20.0, 20.0, 95.0), steady(50.0, 95.0), ramp(20.0, 95.0, 20.0)],
            },
        ],
    },
    Scenario {
        name: "push",
        summary: "an external scaler pushes: the target is activated at once, whatever the polling interval",
        manifests: include_str!("scenario/push.yaml"),
        curves: &[Curve {
            dial: "external scaler of default/thumbnails",
            phases: &[steady(20.0, 0.0), steady(40.0, 35.0), ramp(30.0, 35.0, 5.0), steady(90.0, 0.0)],
        }],
    },
];

impl Scenario {
    /// The scenario of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|scenario| scenario.name == name)
    }

    /// Turns the dials until it is dropped.
    pub(crate) async fn play(&self, dials: Arc<Dials>) -> Infallible {
        let started = Instant::now();
        let mut ticks = tokio::time::interval(EVERY);
        loop {
            ticks.tick().await;
            for curve in self.curves {
                let (value, health) = curve.at(started.elapsed().as_secs_f64());
                dials.follow(curve.dial, value, health);
            }
        }
    }
}

impl Curve {
    fn at(&self, seconds: f64) -> (f64, Health) {
        let length: f64 = self.phases.iter().map(|phase| phase.seconds).sum();
        let mut left = seconds % length;
        for phase in self.phases {
            if left < phase.seconds {
                return ((phase.from + (phase.to - phase.from) * left / phase.seconds).round(), phase.health);
            }
            left -= phase.seconds;
        }
        let last = self.phases.last().expect("a curve has phases");
        (last.to, last.health)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::dials::questions;

    #[test]
    fn every_curve_turns_a_dial_of_its_manifests() {
        for scenario in &ALL {
            let documents =
                scenario.manifests.split("\n---\n").map(|text| serde_saphyr::from_str::<Value>(text).unwrap());
            let scaled: Vec<Value> = documents.filter(|one| one["kind"] == "ScaledObject").collect();
            assert!(!scaled.is_empty(), "{}", scenario.name);
            let with_namespace = scaled.into_iter().map(|mut object| {
                object["metadata"]["namespace"] = "default".into();
                object
            });
            let dials: Vec<String> = with_namespace.flat_map(|object| questions(&object)).map(|one| one.id).collect();
            for curve in scenario.curves {
                assert!(
                    dials.iter().any(|dial| dial == curve.dial),
                    "{}: {} is none of {dials:?}",
                    scenario.name,
                    curve.dial
                );
            }
        }
    }

    #[test]
    fn a_curve_goes_through_its_phases_and_begins_again() {
        const PHASES: &[Phase] = &[ramp(10.0, 0.0, 20.0), broken(5.0, 7.0)];
        let curve = Curve { dial: "x", phases: PHASES };
        let rows = [
            (0.0, 0.0, Health::Works),
            (5.0, 10.0, Health::Works),
            (12.0, 7.0, Health::Broken),
            (20.0, 10.0, Health::Works),
        ];
        for (at, value, health) in rows {
            assert_eq!(curve.at(at), (value, health), "{at}");
        }
    }
}
