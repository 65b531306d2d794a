//! The operator compared with KEDA: cases that were recorded with KEDA v2.21.0 on a real control plane, played again.
//!
//! `parity/keda/cases/NAME.yaml` is a case, `parity/keda/golden/NAME.json` what KEDA did at each step. What Kedge does
//! otherwise must be listed in `docs/differences-from-keda.md`, and what is listed there must differ.
//! The same for the admission webhooks: `parity/keda/admission/NAME.yaml` holds requests, `parity/keda/golden/admission/NAME.json` the answers.
//! `KEDGE_PARITY_ONLY='fallback-*,admission/*'` plays some.

// A test ends at the first thing that is not as it must be, helpers included.
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
async fn kedge_does_what_keda_is_seen_to_do() {
    let listed = KnownDifferences::read(&files::workspace().join("docs/differences-from-keda.md"));
    let mut cases = Case::read_all();
    cases.retain(|case| is_chosen(&case.name, "KEDGE_PARITY_ONLY"));
    let mut admissions = AdmissionCase::read_all();
    admissions.retain(|case| is_chosen(&case.name, "KEDGE_PARITY_ONLY"));
    assert!(cases.len() + admissions.len() > 0, "no case is called so: see tests/parity/keda");
    // The longest first, so that none is left over at the end.
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
        put_all(&environment, &admissions, &mut tally).await;
    }
    print_line(&tally.to_string());
    assert!(tally.is_well(), "{} differs from what is recorded of KEDA:\n{}", tally.names(), tally.details());
}

/// Plays the cases, some at once, and tells each verdict when it is there.
async fn play_all(environment: &Environment, cases: &[Case]) -> Tally {
    let mut verdicts = stream::iter(cases).map(|case| play::play(environment, case)).buffer_unordered(AT_ONCE);
    let mut tally = Tally::default();
    while let Some(verdict) = verdicts.next().await {
        print_line(&verdict.to_string());
        tally.add(verdict);
    }
    tally
}

/// Puts the requests of admission cases, some at once. After the other cases: denied objects keep an operator busy.
async fn put_all(environment: &Environment, cases: &[AdmissionCase], tally: &mut Tally) {
    let put = |case| admission::play(&environment.kube, &environment.listed, case);
    let mut verdicts = stream::iter(cases).map(put).buffer_unordered(AT_ONCE);
    while let Some(verdict) = verdicts.next().await {
        print_line(&verdict.to_string());
        tally.add(verdict);
    }
}
