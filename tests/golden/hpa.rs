//! The model of the HPA controller against recordings of the controller itself.
//!
//! | module | what is compared |
//! |---|---|
//! | [`external`] | proposals of External and Object metrics |
//! | [`per_pod`] | proposals of Resource and Pods metrics |
//! | [`percents`] | limits of percent policies |
//! | [`timelines`] | consecutive syncs, with the history that they share |
//! | [`syncs`] | single syncs with everything that they write |

#[path = "hpa/external.rs"]
mod external;
#[path = "hpa/per_pod.rs"]
mod per_pod;
#[path = "hpa/percents.rs"]
mod percents;
#[path = "hpa/syncs.rs"]
mod syncs;
#[path = "hpa/timelines.rs"]
mod timelines;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use kedge_core::hpa::model::pods::{Container, ObservedPod, Phase, Readiness, ReadyState};
use kedge_core::milli::Milli;

type Row = BTreeMap<String, String>;

/// The rows in which the recording and the model differ.
struct Differences(Vec<String>);

impl Differences {
    /// Compares the results of one row.
    fn compare<T: PartialEq + Debug>(&mut self, id: &str, recorded: &T, modelled: &T) {
        if recorded != modelled {
            self.0.push(format!("{id}\n  recorded {recorded:?}\n  modelled {modelled:?}"));
        }
    }

    /// Fails if there are fewer than `rows_min` rows, or if any of them differs.
    fn assert_none(self, rows: usize, rows_min: usize) {
        assert!(rows >= rows_min, "only {rows} rows");
        assert!(self.0.is_empty(), "{} of {rows} rows differ:\n{}", self.0.len(), self.0.join("\n"));
    }
}

fn parse_column<T: FromStr<Err: Debug>>(row: &Row, column: &str) -> T {
    row[column].parse().unwrap_or_else(|error| panic!("{column} of {row:?}: {error:?}"))
}

/// The text of a result in a column, empty if there is none.
fn result_text<T: ToString>(result: Option<T>) -> String {
    result.map(|value| value.to_string()).unwrap_or_default()
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + second, 0).unwrap()
}

/// A pod that has been up for an hour, with one container `main` that requests a core.
fn pod(name: String, state: ReadyState) -> ObservedPod {
    let requests = BTreeMap::from([("cpu".to_owned(), Milli(1000))]);
    ObservedPod {
        name,
        phase: Phase::Running,
        is_deleting: false,
        started_at: Some(at(-3600)),
        readiness: Some(Readiness { state, since: at(-3600) }),
        own_requests: None,
        containers: vec![Container { name: "main".to_owned(), requests }],
    }
}
