//! The operator compared with KEDA: cases that were recorded with KEDA v2.21.0 on a real control plane, played again.
//!
//! `parity/keda/cases/NAME.yaml` is a case, `parity/keda/golden/NAME.json` what KEDA did at each step. Every difference of
//! Kedge must be listed in `docs/differences-from-keda.md`, and every listed difference must occur.
//! The same for the admission webhooks: `parity/keda/admission/NAME.yaml` holds requests, `parity/keda/golden/admission/NAME.json` the responses;
//! and for the metrics about the operators themselves: `parity/keda/golden/telemetry/metrics.txt` is what KEDA exported in the cases
//! `telemetry-*`. `KEDGE_PARITY_ONLY='fallback-*,admission/*'` selects cases. `cargo xtask peer record` records KEDA.

// Tests and their helpers panic at the first failure.
#![allow(clippy::unwrap_used)]

#[path = "parity/admission.rs"]
mod admission;
#[path = "parity/api.rs"]
mod api;
#[path = "parity/capture.rs"]
mod capture;
#[path = "parity/case.rs"]
mod case;
#[path = "parity/compare.rs"]
mod compare;
#[path = "parity/expectations.rs"]
mod expectations;
#[path = "parity/known_differences.rs"]
mod known_differences;
#[path = "parity/normal.rs"]
mod normal;
#[path = "parity/operator.rs"]
mod operator;
#[path = "parity/play.rs"]
mod play;
#[path = "parity/record.rs"]
mod record;
#[path = "parity/sources.rs"]
mod sources;
#[path = "parity/steps.rs"]
mod steps;
#[path = "parity/telemetry.rs"]
mod telemetry;
#[path = "parity/verdict.rs"]
mod verdict;

use std::fs;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::{Cluster, Launch, RunningKeda, RunningOperator, keda};
use kedge_tests::page::print_line;
use kedge_tests::pattern::is_chosen;
use kedge_tests::{files, programs};

use crate::admission::AdmissionCase;
use crate::api::Kube;
use crate::case::Case;
use crate::known_differences::KnownDifferences;
use crate::operator::Operator;
use crate::play::{Attempt, Environment};
use crate::sources::Sources;
use crate::telemetry::Collected;
use crate::verdict::{Outcome, Tally, Verdict};

/// The variable that selects cases by their names.
const ONLY: &str = "KEDGE_PARITY_ONLY";

/// How many cases are played at once.
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn kedge_does_what_is_recorded_of_keda() {
    let cases = chosen_cases();
    let mut admissions = AdmissionCase::read_all();
    admissions.retain(|case| is_chosen(&case.name, ONLY));
    assert!(cases.len() + admissions.len() > 0, "no case has this name: see tests/parity/keda");

    let cluster = Cluster::builder("parity").nodes(2).hpa_sync_period(Duration::from_secs(1)).start().await.unwrap();
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    cluster.install_crds(&files::workspace().join("tests/parity/kinds")).unwrap();
    let port = Port::reserve().unwrap();
    let flags = vec![format!("--webhooks-bind-address=127.0.0.1:{}", port.number)];
    let launch = Launch { flags, ..Launch::default() };
    let operator = RunningOperator::launch(&cluster, &programs::kedge(), launch).await.unwrap();
    let authority = operator.ca_pem();
    let environment = environment(&cluster, Operator::Kedge(operator)).await;

    let mut tally = play_all(&environment, &cases).await;
    if is_chosen("telemetry", ONLY) {
        tally.add(compare_telemetry(&environment).await);
    }
    if !admissions.is_empty() {
        admission::register(&environment.kube, port.number, &authority).await.unwrap();
        play_admissions(&environment, &admissions, &mut tally).await;
    }
    print_line(&tally.to_string());
    assert!(tally.is_as_listed(), "{} differs from what is recorded of KEDA:\n{}", tally.names(), tally.details());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "writes the recordings: run `cargo xtask peer record`"]
async fn record_keda() {
    let cases = chosen_cases();
    assert!(!cases.is_empty(), "no case has this name: see tests/parity/keda/cases");
    let crds = tempfile::tempdir().unwrap();
    keda::write_crds(crds.path()).unwrap();

    let cluster = Cluster::builder("record").nodes(2).hpa_sync_period(Duration::from_secs(1)).start().await.unwrap();
    cluster.install_crds(crds.path()).unwrap();
    cluster.install_crds(&files::workspace().join("tests/parity/kinds")).unwrap();
    let keda = RunningKeda::start(&cluster).await.unwrap();
    let environment = environment(&cluster, Operator::Keda(keda)).await;

    let failed = record::record_all(&environment, &cases).await;
    if is_chosen("telemetry", ONLY) {
        fs::write(record::telemetry_file(), environment.telemetry.lock().await.to_string()).unwrap();
    }
    assert!(failed.is_empty(), "not recorded:\n{}", failed.join("\n"));
}

/// The chosen cases, the longest first, so that none of them is the last to run.
fn chosen_cases() -> Vec<Case> {
    let mut cases = Case::read_all();
    cases.retain(|case| is_chosen(&case.name, ONLY));
    cases.sort_by_key(|case| std::cmp::Reverse(case.steps.len()));
    cases
}

async fn environment(cluster: &Cluster, operator: Operator) -> Environment {
    Environment {
        kube: Kube::connect(&cluster.kubeconfig()).await.unwrap(),
        operator,
        telemetry: Default::default(),
        sources: Sources::start().await.unwrap(),
        listed: KnownDifferences::load(&files::workspace().join("docs/differences-from-keda.md")),
    }
}

/// Compares which metrics both operators export, with their types and labels.
async fn compare_telemetry(environment: &Environment) -> Verdict {
    let mut keda = Collected::default();
    keda.add(&files::read(&record::telemetry_file()), "");
    let found = compare::differences(&keda.metrics(), &environment.telemetry.lock().await.metrics());
    let listed = environment.listed.for_step("telemetry", "metrics");
    let outcome = Outcome::from_steps(&[("metrics".to_owned(), found, listed)]);
    Verdict { case: "telemetry".to_owned(), took: Duration::ZERO, outcome }
}

/// Plays the cases, several at once, and prints each verdict. KEDA was recorded on an idle machine: a case that differs beside others
/// is played again, alone, and that verdict counts.
async fn play_all(environment: &Environment, cases: &[Case]) -> Tally {
    let side_by_side = |case| async move { (case, play::play(environment, case, Attempt::First).await) };
    let mut verdicts = stream::iter(cases).map(side_by_side).buffer_unordered(AT_ONCE);
    let (mut tally, mut different) = (Tally::default(), Vec::new());
    while let Some((case, verdict)) = verdicts.next().await {
        print_line(&verdict.to_string());
        if let Outcome::Different(problems) = &verdict.outcome {
            problems.iter().for_each(|problem| print_line(problem));
            different.push(case);
        } else {
            tally.add(verdict);
        }
    }
    for case in different {
        let verdict = play::play(environment, case, Attempt::Second).await;
        print_line(&format!("again: {verdict}"));
        tally.add(verdict);
    }
    tally
}

/// Plays the admission cases, several at once, after the other cases: denied objects keep an operator busy.
async fn play_admissions(environment: &Environment, cases: &[AdmissionCase], tally: &mut Tally) {
    let play = |case| admission::play(&environment.kube, &environment.listed, case);
    let mut verdicts = stream::iter(cases).map(play).buffer_unordered(AT_ONCE);
    while let Some(verdict) = verdicts.next().await {
        print_line(&verdict.to_string());
        tally.add(verdict);
    }
}
