//! The operator compared with KEDA: cases that were recorded with KEDA v2.21.0 on a real control plane, played again.
//!
//! `parity/keda/cases/NAME.yaml` is a case, `parity/keda/golden/NAME.json` what KEDA did at each step. Every difference of
//! Kedge must be listed in `docs/differences-from-keda.md`, and every listed difference must occur.
//! The same for the admission webhooks: `parity/keda/admission/NAME.yaml` holds requests, `parity/keda/golden/admission/NAME.json` the responses.
//! `KEDGE_PARITY_ONLY='fallback-*,admission/*'` selects cases.

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
#[path = "parity/play.rs"]
mod play;
#[path = "parity/sources.rs"]
mod sources;
#[path = "parity/steps.rs"]
mod steps;
#[path = "parity/verdict.rs"]
mod verdict;

use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use kedge_test_cluster::ports::Port;
use kedge_test_cluster::{Cluster, Launch, RunningOperator};
use kedge_tests::page::print_line;
use kedge_tests::pattern::is_chosen;
use kedge_tests::{files, programs};

use crate::admission::AdmissionCase;
use crate::api::Kube;
use crate::case::Case;
use crate::known_differences::KnownDifferences;
use crate::play::Environment;
use crate::sources::Sources;
use crate::verdict::Tally;

/// How many cases are played at once.
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread")]
async fn kedge_does_what_is_recorded_of_keda() {
    let listed = KnownDifferences::load(&files::workspace().join("docs/differences-from-keda.md"));
    let mut cases = Case::read_all();
    cases.retain(|case| is_chosen(&case.name, "KEDGE_PARITY_ONLY"));
    let mut admissions = AdmissionCase::read_all();
    admissions.retain(|case| is_chosen(&case.name, "KEDGE_PARITY_ONLY"));
    assert!(cases.len() + admissions.len() > 0, "no case has this name: see tests/parity/keda");
    // The longest first, so that none of them is the last to run.
    cases.sort_by_key(|case| std::cmp::Reverse(case.steps.len()));

    let cluster = Cluster::builder("parity").nodes(2).hpa_sync_period(Duration::from_secs(1)).start().await.unwrap();
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    cluster.install_crds(&files::workspace().join("tests/parity/kinds")).unwrap();
    let port = Port::reserve().unwrap();
    let flags = vec![format!("--webhooks-bind-address=127.0.0.1:{}", port.number)];
    let launch = Launch { flags, ..Launch::default() };
    let operator = RunningOperator::launch(&cluster, &programs::kedge(), launch).await.unwrap();
    let kube = Kube::connect(&cluster.kubeconfig()).await.unwrap();
    let environment = Environment { kube, sources: Sources::start().await.unwrap(), listed };

    let mut tally = play_all(&environment, &cases).await;
    if !admissions.is_empty() {
        admission::register(&environment.kube, port.number, &operator.ca_pem()).await.unwrap();
        play_admissions(&environment, &admissions, &mut tally).await;
    }
    print_line(&tally.to_string());
    assert!(tally.is_as_listed(), "{} differs from what is recorded of KEDA:\n{}", tally.names(), tally.details());
}

/// Plays the cases, several at once, and prints each verdict.
async fn play_all(environment: &Environment, cases: &[Case]) -> Tally {
    let mut verdicts = stream::iter(cases).map(|case| play::play(environment, case)).buffer_unordered(AT_ONCE);
    let mut tally = Tally::default();
    while let Some(verdict) = verdicts.next().await {
        print_line(&verdict.to_string());
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
