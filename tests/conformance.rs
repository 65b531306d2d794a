//! The plane compared with the real API server: the same scripts of requests to both, and every response compared.
//!
//! `conformance/scripts/SUBJECT/NAME.yaml` is a script. Every difference of the plane must be listed in
//! `docs/plane-differences.md`, and every listed difference must occur.
//!
//! | variable | meaning |
//! |---|---|
//! | `KEDGE_SCRIPTS_ONLY='watch/*,crd/*'` | only some scripts |
//! | `KEDGE_SCRIPTS_KUBECONFIG=FILE` | this cluster, rather than one of its own |
//! | `KEDGE_SCRIPTS_TWICE=1` | the real API server compared with itself: whether scripts have the same result each time |
//! | `KEDGE_SCRIPTS_SHOW=1` | all responses of the real one are printed |

// Tests and their helpers panic at the first failure.
#![allow(clippy::unwrap_used)]

#[path = "conformance/exchange.rs"]
mod exchange;
#[path = "conformance/known_differences.rs"]
mod known_differences;
#[path = "conformance/normal.rs"]
mod normal;
#[path = "conformance/play.rs"]
mod play;
#[path = "conformance/script.rs"]
mod script;
#[path = "conformance/server.rs"]
mod server;
#[path = "conformance/setup.rs"]
mod setup;
#[path = "conformance/variables.rs"]
mod variables;
#[path = "conformance/verdict.rs"]
mod verdict;

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::{StreamExt, stream};
use kedge_test_cluster::Cluster;
use kedge_tests::files;
use kedge_tests::page::print_line;
use kedge_tests::pattern::is_chosen;

use crate::known_differences::KnownDifferences;
use crate::play::StepResponse;
use crate::script::Script;
use crate::server::Server;
use crate::verdict::{Tally, Verdict};

/// How many scripts are played at once.
const AT_ONCE: usize = 8;
/// Only the controllers that the plane has as well: nothing else may write to the objects of scripts.
const CONTROLLERS: &str = "--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller";
/// Short, so that a script can use a version that is too old.
const COMPACTION: &str = "--etcd-compaction-interval=10s";

#[tokio::test(flavor = "multi_thread")]
async fn the_plane_responds_as_the_real_api_server_does() {
    let listed = KnownDifferences::load(&files::workspace().join("docs/plane-differences.md"));
    let mut scripts = Script::read_all();
    let of_all = scripts.len();
    scripts.retain(|script| is_chosen(&script.name, "KEDGE_SCRIPTS_ONLY"));
    let (_cluster, kubeconfig) = cluster().await;
    let real = Server::real(&kubeconfig).await.unwrap();
    let twice = is_set("KEDGE_SCRIPTS_TWICE");
    let other = if twice { real.clone() } else { Server::plane() };
    for server in [&real, &other] {
        install_crds(server).await;
        server.compact();
    }

    let tally = play_all(&real, &other, &scripts, &listed).await;
    for problem in tally.surprises.iter().chain(&tally.unlisted) {
        print_line(&format!("\n{problem}"));
    }
    print_line(&format!("\n{tally}"));
    assert!(tally.surprises.is_empty(), "{} scripts have unexpected responses", tally.surprises.len());
    assert!(tally.unlisted.is_empty(), "{} answers differ and are not listed", tally.unlisted.len());
    if scripts.len() == of_all && !twice {
        let stale = tally.stale(&listed);
        assert!(stale.is_empty(), "these are listed, but do not differ: {stale:#?}");
        assert!(tally.is_close(), "{tally}");
    }
}

/// Plays the scripts on both sides, some at once.
async fn play_all(real: &Server, other: &Server, scripts: &[Script], listed: &KnownDifferences) -> Tally {
    let run = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() % 10_000_000;
    let verdicts = stream::iter(scripts.iter().enumerate()).map(async |(index, script)| {
        let (one, two) = (format!("script-{run:07}-a{index:03}"), format!("script-{run:07}-b{index:03}"));
        let (real, other) = tokio::join!(play_side(real, script, &one), play_side(other, script, &two));
        if is_set("KEDGE_SCRIPTS_SHOW") {
            real.iter().for_each(|answer| show(script, answer));
        }
        Verdict::new(&script.name, &real, &other)
    });
    let mut verdicts = verdicts.buffer_unordered(AT_ONCE);
    let mut tally = Tally::default();
    while let Some(verdict) = verdicts.next().await {
        tally.add(verdict, listed);
    }
    tally
}

async fn play_side(server: &Server, script: &Script, namespace: &str) -> Vec<StepResponse> {
    setup::create_namespace(server, namespace).await.unwrap();
    play::play(server, script, namespace).await
}

/// Creates our CRDs, which scripts use.
async fn install_crds(server: &Server) {
    for path in files::list(&files::workspace().join("crds"), "yaml") {
        let crd = files::read_yaml(&path);
        setup::install_crd(server, &crd).await.unwrap();
    }
}

/// A cluster, and the kubeconfig of its administrator.
async fn cluster() -> (Option<Cluster>, PathBuf) {
    if let Some(kubeconfig) = std::env::var_os("KEDGE_SCRIPTS_KUBECONFIG") {
        return (None, kubeconfig.into());
    }
    let builder = Cluster::builder("conformance").nodes(0);
    let cluster = builder.controller_manager_flag(CONTROLLERS).apiserver_flag(COMPACTION).start().await.unwrap();
    let kubeconfig = cluster.kubeconfig();
    (Some(cluster), kubeconfig)
}

fn show(script: &Script, answer: &StepResponse) {
    print_line(&format!("{} {}: {}\n    {}", script.name, answer.step, answer.request, answer.response));
}

fn is_set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}
