//! All rounds, and their file.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

use super::contender::Contender;
use super::measure::Measure;

pub(super) type Values = BTreeMap<Measure, f64>;

/// One operator, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Round {
    contender: Contender,
    number: usize,
    values: Values,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) objects: usize,
    pub(super) namespaces: usize,
    rounds: Vec<Round>,
    #[serde(skip)]
    path: PathBuf,
}

impl Results {
    /// Those of an earlier run with the same objects, or none.
    pub(super) fn open(path: &Path, objects: usize, namespaces: usize) -> anyhow::Result<Self> {
        let Ok(text) = fs::read_to_string(path) else {
            return Ok(Self { objects, namespaces, rounds: Vec::new(), path: path.to_owned() });
        };
        let found: Self = serde_json::from_str(&text).with_context(|| format!("cannot read {}", path.display()))?;
        ensure!(
            (found.objects, found.namespaces) == (objects, namespaces),
            "{} has the results of {} objects in {} namespaces; name another file with --results",
            path.display(),
            found.objects,
            found.namespaces
        );
        Ok(Self { path: path.to_owned(), ..found })
    }

    pub(super) fn has(&self, contender: Contender, number: usize) -> bool {
        self.rounds.iter().any(|round| round.contender == contender && round.number == number)
    }

    /// Adds a round, and writes the file.
    pub(super) fn add(&mut self, contender: Contender, number: usize, values: Values) -> anyhow::Result<()> {
        self.rounds.push(Round { contender, number, values });
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.path, serde_json::to_string_pretty(self)?)
            .with_context(|| format!("cannot write {}", self.path.display()))
    }

    pub(super) fn contenders(&self) -> Vec<Contender> {
        let mut all: Vec<Contender> = self.rounds.iter().map(|round| round.contender).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn median(&self, contender: Contender, measure: Measure) -> Option<f64> {
        median(&self.values(contender, measure))
    }

    /// What was measured of one, smallest first.
    pub(super) fn values(&self, contender: Contender, measure: Measure) -> Vec<f64> {
        let rounds = self.rounds.iter().filter(|round| round.contender == contender);
        let mut values: Vec<f64> = rounds.filter_map(|round| round.values.get(&measure).copied()).collect();
        values.sort_by(f64::total_cmp);
        values
    }
}

/// The middle one of sorted values, or the mean of the middle two.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let (lower, upper) = (values.len().checked_sub(1)? / 2, values.len() / 2);
    Some((values.get(lower)? + values.get(upper)?) / 2.0)
}

#[cfg(test)]
impl Results {
    /// One round of KEDA and one of Kedge.
    pub(super) fn of(measure: Measure, keda: f64, kedge: f64) -> Self {
        let round = |contender, value| Round { contender, number: 0, values: [(measure, value)].into() };
        let rounds = vec![round(Contender::Keda, keda), round(Contender::Kedge, kedge)];
        Self { objects: 1, namespaces: 1, rounds, path: PathBuf::new() }
    }
}
