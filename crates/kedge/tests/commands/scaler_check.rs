//! `kedge scaler check`, as a user runs it, against correct and faulty scalers.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use kedge_proto::externalscaler::external_scaler_server::{ExternalScaler, ExternalScalerServer};
use kedge_proto::externalscaler::{
    GetMetricSpecResponse, GetMetricsRequest, GetMetricsResponse, IsActiveResponse, MetricSpec, MetricValue,
    ScaledObjectRef,
};
use serde_json::Value;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Identity, Server, ServerTlsConfig};
use tonic::{Request, Response, Status};

fn check(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kedge")).args(["scaler", "check"]).args(arguments).output().expect("kedge starts")
}

/// The output and the exit code.
fn run(arguments: &[&str]) -> (String, i32) {
    let output = check(arguments);
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.code().unwrap())
}

/// The behaviour of a scaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Manner {
    InOrder,
    /// No metrics, no streams.
    Empty,
    /// Targets of zero, values that are no numbers, answers for metrics that it does not have, streams that end.
    Liar,
    Hangs,
    /// Work, and not active.
    Sleepy,
}

struct Scaler(Manner);

impl Scaler {
    async fn hang(&self) {
        if self.0 == Manner::Hangs {
            tokio::time::sleep(Duration::from_secs(60)).await;
        }
    }

    fn specs(&self) -> GetMetricSpecResponse {
        let spec = |target| MetricSpec { metric_name: "jobs".into(), target_size: target, target_size_float: 0.0 };
        let metric_specs = match self.0 {
            Manner::Empty => vec![],
            Manner::Liar => vec![spec(0)],
            _ => vec![spec(10)],
        };
        GetMetricSpecResponse { metric_specs }
    }
}

#[tonic::async_trait]
impl ExternalScaler for Scaler {
    type StreamIsActiveStream = BoxStream<'static, Result<IsActiveResponse, Status>>;
    type StreamMetricSpecStream = BoxStream<'static, Result<GetMetricSpecResponse, Status>>;

    async fn is_active(&self, _: Request<ScaledObjectRef>) -> Result<Response<IsActiveResponse>, Status> {
        self.hang().await;
        Ok(Response::new(IsActiveResponse { result: self.0 != Manner::Sleepy }))
    }

    async fn get_metric_spec(&self, _: Request<ScaledObjectRef>) -> Result<Response<GetMetricSpecResponse>, Status> {
        self.hang().await;
        Ok(Response::new(self.specs()))
    }

    async fn get_metrics(&self, request: Request<GetMetricsRequest>) -> Result<Response<GetMetricsResponse>, Status> {
        self.hang().await;
        let name = request.into_inner().metric_name;
        let (metric_value, metric_value_float) = match self.0 {
            Manner::Liar => (1, f64::NAN),
            _ if name == "jobs" => (35, 0.0),
            _ => return Err(Status::not_found(format!("no metric {name}"))),
        };
        let metric_values = vec![MetricValue { metric_name: name, metric_value, metric_value_float }];
        Ok(Response::new(GetMetricsResponse { metric_values }))
    }

    async fn stream_is_active(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamIsActiveStream>, Status> {
        match self.0 {
            Manner::Empty => Err(Status::unimplemented("")),
            Manner::Liar => Ok(Response::new(stream::iter([Ok(IsActiveResponse { result: true })]).boxed())),
            _ => Ok(Response::new(stream::pending().boxed())),
        }
    }

    async fn stream_metric_spec(
        &self,
        _: Request<ScaledObjectRef>,
    ) -> Result<Response<Self::StreamMetricSpecStream>, Status> {
        if self.0 == Manner::Empty {
            return Err(Status::unimplemented(""));
        }
        Ok(Response::new(stream::iter([Ok(self.specs())]).chain(stream::pending()).boxed()))
    }
}

/// A scaler that answers until the test ends, and its address.
pub(crate) fn scaler(manner: Manner, tls: Option<ServerTlsConfig>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            let incoming = TcpIncoming::from(tokio::net::TcpListener::from_std(listener).unwrap());
            let mut server = Server::builder();
            if let Some(tls) = tls {
                server = server.tls_config(tls).unwrap();
            }
            server.serve_with_incoming(ExternalScalerServer::new(Scaler(manner)), incoming).await.unwrap();
        });
    });
    address
}

#[test]
fn each_kind_of_scaler_is_judged() {
    let rows: [(Manner, i32, &[&str]); 5] = [
        (
            Manner::InOrder,
            0,
            &[
                "jobs: 10 a replica\n",
                "IsActive ",
                "GetMetrics jobs ",
                "35",
                "NOT_FOUND: no metric kedge-check-no-such-metric",
                "open, and silent",
                "jobs: 10 a replica, and stays open",
                "\nin order\n",
            ],
        ),
        (
            Manner::Empty,
            1,
            &[
                "wrong    GetMetricSpec: in the metric specs, it names no metric",
                "wrong    StreamIsActive: it is not there",
                "note     StreamMetricSpec: it is not there",
                "2 thing(s) wrong, 0 warning(s)",
            ],
        ),
        (
            Manner::Liar,
            1,
            &[
                "\"jobs\": targetSize is 0 and targetSizeFloat 0",
                "\"jobs\": metricValueFloat is NaN",
                "warning  GetMetrics: it gives values for \"kedge-check-no-such-metric\"",
                "answer NOT_FOUND",
                "warning  StreamIsActive: it ends by itself",
            ],
        ),
        (
            Manner::Hangs,
            1,
            &["GetMetricSpec: 127.0.0.1:", "gave no answer within 300ms", "each call carries its deadline"],
        ),
        (Manner::Sleepy, 0, &["note     IsActive: it says no, while \"jobs\" is above 0", "\nin order\n"]),
    ];
    for (manner, code, expected) in rows {
        let (text, found) = run(&[&scaler(manner, None), "--push", "--timeout", "300ms"]);
        assert_eq!(found, code, "{manner:?}: {text}");
        for part in expected {
            assert!(text.contains(part), "{manner:?}: {part}: {text}");
        }
    }
}

#[test]
fn json_says_the_same() {
    let output = check(&[&scaler(Manner::InOrder, None), "--push", "--timeout", "300ms", "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["verdict"], &report["object"]), (&"ok".into(), &"default/check".into()));
    let methods: Vec<&str> =
        report["calls"].as_array().unwrap().iter().map(|call| call["method"].as_str().unwrap()).collect();
    let expected = ["GetMetricSpec", "IsActive", "GetMetrics", "GetMetrics", "StreamIsActive", "StreamMetricSpec"];
    assert_eq!(methods, expected);
    assert_eq!(report["calls"][2]["answer"][0]["metricValue"], 35);
    assert!(report["calls"][3]["error"].as_str().unwrap().contains("NOT_FOUND"));
    assert_eq!(report["calls"][4]["stream"], "silent");

    let output = check(&[&scaler(Manner::Liar, None), "--format", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &report["verdict"]), (Some(1), &"wrong".into()));
    assert_eq!(report["findings"][0]["weight"], "wrong");
}

#[test]
fn tls_is_spoken_when_it_is_asked_for() {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let identity = Identity::from_pem(certified.cert.pem(), certified.signing_key.serialize_pem());
    let address = scaler(Manner::InOrder, Some(ServerTlsConfig::new().identity(identity)));
    let folder = tempfile::tempdir().unwrap();
    let ca = folder.path().join("ca.crt");
    fs::write(&ca, certified.cert.pem()).unwrap();
    let ca = ca.to_str().unwrap();
    let rows: [(&[&str], i32, &str); 5] = [
        (&["--ca", ca], 0, "in order"),
        (&["--insecure"], 0, "in order"),
        (&["--tls"], 1, "pass the CA of its certificate with --ca"),
        (&[], 1, "if it speaks TLS, add --tls"),
        (&["--ca", "no-such-file"], 2, "cannot read no-such-file"),
    ];
    for (flags, code, expected) in rows {
        let (text, found) = run(&[&[address.as_str()], flags].concat());
        assert_eq!(found, code, "{flags:?}: {text}");
        assert!(text.contains(expected), "{flags:?}: {text}");
    }
}

#[test]
fn mistakes_are_named_with_a_remedy() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let rows: [(&[&str], &[&str]); 6] = [
        (&[&unused], &["cannot be reached: Connection refused", "start the scaler and check the address"]),
        (&["scaler:"], &["`scalerAddress` \"scaler:\" has no usable port; write host:port"]),
        (&["unix:///run/x"], &["`scalerAddress`", "is a socket on one machine"]),
        (&["a:1", "--metadata", "queue"], &["--metadata", "write KEY=VALUE"]),
        (&["a:1", "--timeout", "0s"], &["--timeout", "must be above zero"]),
        (&["a:1", "--cert", "x"], &["--key"]),
    ];
    for (arguments, expected) in rows {
        let (text, code) = run(arguments);
        assert_eq!(code, if arguments == [&unused] { 1 } else { 2 }, "{arguments:?}: {text}");
        for part in expected {
            assert!(text.contains(part), "{arguments:?}: {part}: {text}");
        }
    }
}
