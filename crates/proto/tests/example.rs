//! The example of an external scaler, as a process: it answers, follows its file, and stops on SIGTERM.

#![allow(clippy::unwrap_used, reason = "all of this is test code, also what is outside of test functions")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use kedge_proto::externalscaler::external_scaler_client::ExternalScalerClient;
use kedge_proto::externalscaler::{GetMetricsRequest, ScaledObjectRef};
use tonic::Code;
use tonic::transport::Channel;

struct Scaler {
    child: Child,
    address: String,
}

impl Drop for Scaler {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

impl Scaler {
    fn start(queue: &Path) -> Self {
        let mut command = Command::new(program());
        command.args(["--listen", "127.0.0.1:0", "--queue"]).arg(queue).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("listening on ").unwrap().to_owned();
        Self { child, address }
    }

    async fn client(&self) -> ExternalScalerClient<Channel> {
        ExternalScalerClient::connect(format!("http://{}", self.address)).await.unwrap()
    }

    /// The client continues meanwhile: it must notice that the server stops.
    async fn terminate(&mut self) -> ExitStatus {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), rustix::process::Signal::TERM)
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            match self.child.try_wait().unwrap() {
                Some(status) => return status,
                None if Instant::now() > deadline => panic!("it does not stop"),
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    }
}

/// Cargo builds examples beside the tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().and_then(Path::parent).unwrap().join("examples/scaler")
}

fn trigger(metadata: &[(&str, &str)]) -> ScaledObjectRef {
    let scaler_metadata = metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    ScaledObjectRef { name: "worker".to_owned(), namespace: "shop".to_owned(), scaler_metadata }
}

#[tokio::test]
async fn it_answers_for_the_number_in_its_file_and_for_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let queue = folder.path().join("queue");
    fs::write(&queue, "35\n").unwrap();
    let mut scaler = Scaler::start(&queue);
    let mut client = scaler.client().await;

    let spec = client.get_metric_spec(trigger(&[("targetLength", "7.5")])).await.unwrap().into_inner();
    let spec = &spec.metric_specs[0];
    assert_eq!((spec.metric_name.as_str(), spec.target_size_float), ("queue-length", 7.5));
    let ask = |metric_name: &str| GetMetricsRequest {
        scaled_object_ref: Some(trigger(&[])),
        metric_name: metric_name.to_owned(),
    };
    let values = client.get_metrics(ask("queue-length")).await.unwrap().into_inner().metric_values;
    assert_eq!(values[0].metric_value_float, 35.0);
    assert_eq!(client.get_metrics(ask("other")).await.unwrap_err().code(), Code::NotFound);
    for (activation, expected) in [("34", true), ("35", false)] {
        let answer = client.is_active(trigger(&[("activationLength", activation)])).await.unwrap();
        assert_eq!(answer.into_inner().result, expected, "above {activation}");
    }
    let error = client.is_active(trigger(&[("activationLength", "many")])).await.unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    fs::write(&queue, "").unwrap();
    assert_eq!(client.get_metrics(ask("queue-length")).await.unwrap_err().code(), Code::Unavailable);
    assert!(scaler.terminate().await.success());
}

#[tokio::test]
async fn it_tells_what_changes_and_ends_its_streams_when_it_stops() {
    let folder = tempfile::tempdir().unwrap();
    let queue = folder.path().join("queue");
    fs::write(&queue, "0").unwrap();
    let mut scaler = Scaler::start(&queue);
    let mut client = scaler.client().await;
    let mut activity = client.stream_is_active(trigger(&[])).await.unwrap().into_inner();
    let mut specs = client.stream_metric_spec(trigger(&[])).await.unwrap().into_inner();
    assert!(!activity.message().await.unwrap().unwrap().result);
    assert_eq!(specs.message().await.unwrap().unwrap().metric_specs[0].target_size_float, 10.0);
    fs::write(&queue, "3 20").unwrap();
    assert!(activity.message().await.unwrap().unwrap().result);
    assert_eq!(specs.message().await.unwrap().unwrap().metric_specs[0].target_size_float, 20.0);
    assert!(scaler.terminate().await.success());
    assert!(!matches!(activity.message().await, Ok(Some(_))), "there is nothing more to tell");
}

#[test]
fn the_page_for_authors_shows_what_is_in_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    let page = read("docs/write-an-external-scaler.md");
    let rows = [("rust", "crates/proto/examples/scaler.rs"), ("go", "docs/examples/scaler-go/main.go")];
    for (language, path) in rows {
        let (_, block) = page.split_once(&format!("```{language}\n")).unwrap();
        let (block, _) = block.split_once("```").unwrap();
        assert!(read(path).contains(block), "{path} has changed, and the page has not");
    }
}
