//! External scalers: real gRPC servers, the requests they get, their valid and invalid responses, and timeouts.

mod fake;
mod network;
mod push;

use std::time::Duration;

use fake::{Answers, Fake, spec, value};
use k8s_openapi::api::autoscaling::v2::MetricSpec;
use network::{Network, State};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tonic::Status;

use super::tls::{new_ca, signed_by};
use super::*;

/// An `external` trigger, which sets only what matters.
#[derive(Clone, Debug)]
pub(crate) struct ExternalTrigger {
    trigger_type: &'static str,
    metadata: BTreeMap<String, String>,
    auth: Vec<(String, String)>,
}

impl ExternalTrigger {
    fn at(address: impl std::fmt::Display) -> Self {
        let trigger = Self { trigger_type: "external", metadata: BTreeMap::new(), auth: Vec::new() };
        trigger.with("scalerAddress", &address.to_string())
    }

    fn push(self) -> Self {
        Self { trigger_type: "external-push", ..self }
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.metadata.insert(name.to_owned(), value.to_owned());
        self
    }

    fn auth(mut self, name: &str, value: &str) -> Self {
        self.auth.push((name.to_owned(), value.to_owned()));
        self
    }

    fn build(&self, registry: &Registry) -> Arc<dyn Scaler> {
        let auth: AuthParams = self.auth.iter().cloned().collect();
        let environment =
            [("WHICH".to_owned(), "orders".to_owned())].into_iter().collect::<kedge_scalers::Environment>();
        let trigger = TriggerConfig {
            index: 1,
            trigger_type: self.trigger_type,
            name: None,
            metadata: &self.metadata,
            auth: &auth,
            environment: &environment,
            metric_type: None,
            namespace: "shop",
            object: "worker",
            pod_identity: None,
            role: kedge_scalers::Role::Metric,
            resolution: kedge_scalers::Resolution::Complete,
        };
        registry.build(&trigger).unwrap_or_else(|error| panic!("{error}"))
    }

    async fn read(&self) -> Result<Known, ReadError> {
        self.build(&registry()).read("s1-jobs", now()).await
    }
}

/// Names and targets.
fn short(specs: &[MetricSpec]) -> Vec<(String, String)> {
    let external = specs.iter().map(|spec| spec.external.clone().unwrap());
    external.map(|one| (one.metric.name, one.target.average_value.unwrap().0)).collect()
}

fn pair(name: &str, target: &str) -> (String, String) {
    (name.to_owned(), target.to_owned())
}

#[tokio::test]
async fn a_healthy_scaler_names_its_metrics_and_gives_their_values() {
    let specs = Ok(vec![spec("jobs", 10, 0.0), spec("MB.waiting", 7, 2.5)]);
    let fake = Fake::new(Answers { specs, values: Ok(vec![value(35, 0.0), value(1, 2.5)]), ..Answers::default() });
    let trigger = ExternalTrigger::at(fake.listen().await).with("queueFromEnv", "WHICH").with("noneFromEnv", "UNSET");
    let scaler = trigger.auth("token", "hunter2").build(&registry());
    assert_eq!(short(&scaler.describe().await.unwrap()), [pair("s1-jobs", "10"), pair("s1-MB.waiting", "2.500")]);
    let known = scaler.read("s1-MB.waiting", now()).await.unwrap();
    assert_eq!(known, Known { values: vec![35.0, 2.5], activity: Activity::Active });

    assert_eq!((fake.count("GetMetricSpec"), fake.count("GetMetrics"), fake.count("IsActive")), (1, 1, 1));
    for call in fake.calls() {
        let sent: BTreeMap<_, _> = call.reference.scaler_metadata.iter().collect();
        assert_eq!((call.reference.namespace.as_str(), call.reference.name.as_str()), ("shop", "worker"));
        assert_eq!(sent.keys().copied().collect::<Vec<_>>(), ["queueFromEnv", "scalerAddress"], "and no credentials");
        assert_eq!(sent[&"queueFromEnv".to_owned()], "orders");
        assert!(call.headers.get("user-agent").unwrap().to_str().unwrap().starts_with("kedge/"));
        assert!(call.headers.contains_key("grpc-timeout"), "the deadline is sent");
    }
    let metrics: Vec<_> = fake.calls().into_iter().filter_map(|call| call.metric).collect();
    assert_eq!(metrics, ["MB.waiting"], "the name is the scaler's own");
    assert_eq!(fake.connections(), 1);
    assert!(!format!("{scaler:?}").contains("orders"), "{scaler:?}");
}

#[tokio::test]
async fn activity_is_the_scalers_own_and_values_are_read_by_its_rules() {
    let active = |active| Answers { active: Ok(active), ..Answers::default() };
    let values = |values| Answers { values: Ok(values), ..active(false) };
    let known = |values: &[f64]| Ok(Known { values: values.to_vec(), activity: Activity::Inactive });
    let rows = [
        ("much to do, and not active", active(false), "s1-jobs", known(&[35.0])),
        ("a float", values(vec![value(3, 0.5)]), "s1-jobs", known(&[0.5])),
        ("a float of zero", values(vec![value(3, 0.0)]), "s1-jobs", known(&[3.0])),
        ("below zero", values(vec![value(-3, -0.5)]), "s1-jobs", known(&[-3.0])),
        ("NaN", values(vec![value(3, f64::NAN)]), "s1-jobs", Err("SourceMalformed")),
        ("infinity", values(vec![value(3, 1.0), value(3, f64::INFINITY)]), "s1-jobs", Err("SourceMalformed")),
        ("no values", values(vec![]), "s1-jobs", Err("SourceWithoutValue")),
        ("a metric of another trigger", active(true), "s0-jobs", Err("SourceWithoutValue")),
        ("a metric without prefix", active(true), "jobs", Err("SourceWithoutValue")),
    ];
    let fake = Fake::new(Answers::default());
    let scaler = ExternalTrigger::at(fake.listen().await).build(&registry());
    for (name, answers, metric, expected) in rows {
        fake.respond_with(answers);
        let read = scaler.read(metric, now()).await;
        assert_eq!(read.as_ref().map_err(ReadError::reason), expected.as_ref().map_err(|error| *error), "{name}");
    }
}

#[tokio::test]
async fn invalid_metric_specs_are_reported() {
    let rows = [
        ("none", vec![], "it names no metric"),
        ("no name", vec![spec("", 1, 0.0)], "a metric has no name"),
        ("the same twice", vec![spec("a", 1, 0.0), spec("a", 1, 0.0)], "named more than once"),
        ("no target", vec![spec("a", 0, 0.0)], "targetSize is 0"),
        ("a target that is no number", vec![spec("a", 5, f64::NAN)], "targetSizeFloat is NaN"),
    ];
    let fake = Fake::new(Answers::default());
    let address = fake.listen().await;
    let scaler = ExternalTrigger::at(&address).build(&registry());
    for (name, specs, expected) in rows {
        fake.respond_with(Answers { specs: Ok(specs), ..Answers::default() });
        let error = scaler.describe().await.unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("the answer of {address} cannot be used")), "{name}: {text}");
        assert!(text.contains(expected) && error.reason() == "SourceMalformed", "{name}: {text}");
    }
}

#[tokio::test]
async fn a_failing_call_is_reported_with_the_call_and_the_scalers_message() {
    let fake = Fake::new(Answers::default());
    let address = fake.listen().await;
    let scaler = ExternalTrigger::at(&address).build(&registry());
    let gone = || Status::not_found("queue gone");
    fake.respond_with(Answers { values: Err(gone()), ..Answers::default() });
    let error = scaler.read("s1-jobs", now()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{address} answered GetMetrics with NOT_FOUND: queue gone"));
    assert_eq!(error.reason(), "SourceRefused");
    fake.respond_with(Answers { active: Err(gone()), ..Answers::default() });
    let error = scaler.read("s1-jobs", now()).await.unwrap_err();
    assert_eq!(error.to_string(), format!("{address} answered IsActive with NOT_FOUND: queue gone"));
    fake.respond_with(Answers { specs: Err(gone()), ..Answers::default() });
    let error = scaler.describe().await.unwrap_err();
    assert_eq!(error.to_string(), format!("{address} answered GetMetricSpec with NOT_FOUND: queue gone"));
}

#[tokio::test(start_paused = true)]
async fn a_scaler_that_fails_keeps_its_last_metrics() {
    let fake = Fake::new(Answers::default());
    let scaler = Network::to(&fake, State::Up).scaler();
    let failing = || Answers { specs: Err(Status::unavailable("x")), ..Answers::default() };
    fake.respond_with(failing());
    assert!(scaler.describe().await.is_err(), "there are none to keep");
    fake.respond_with(Answers::default());
    let good = scaler.describe().await.unwrap();
    let hanging = Answers { delay: Duration::from_secs(60), ..Answers::default() };
    for (name, answers) in [("it refuses", failing()), ("it hangs", hanging)] {
        fake.respond_with(answers);
        assert_eq!(scaler.describe().await.as_ref(), Ok(&good), "{name}");
    }
    fake.respond_with(Answers { specs: Ok(vec![]), ..Answers::default() });
    assert!(scaler.describe().await.is_err(), "what it says counts, also if it is wrong");
}

#[tokio::test(start_paused = true)]
async fn a_scaler_that_hangs_costs_its_limit_and_works_again_afterwards() {
    let fake = Fake::new(Answers { delay: Duration::from_secs(60), ..Answers::default() });
    let scaler = Network::to(&fake, State::Up).scaler();
    let started = tokio::time::Instant::now();
    let error = scaler.read("s1-jobs", now()).await.unwrap_err();
    assert_eq!(error.to_string(), "scaler:9090 gave no answer within 3s");
    assert_eq!(started.elapsed(), Duration::from_secs(3));
    fake.respond_with(Answers::default());
    assert_eq!(scaler.read("s1-jobs", now()).await, Ok(known(35.0, Activity::Active)));
}

#[tokio::test]
async fn a_peer_that_is_no_scaler_is_distinguished_from_an_absent_one() {
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let other = Server::plain(|_| Reply::value("1")).await;
    let closing = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closes = closing.local_addr().unwrap();
    tokio::spawn(async move { while closing.accept().await.is_ok() {} });
    let http = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let speaks_http = http.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = http.accept().await {
            tokio::spawn(async move {
                let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await;
                tokio::time::sleep(Duration::from_secs(5)).await;
            });
        }
    });
    let fake = Fake::new(Answers::default());
    let plain = fake.listen().await;
    let tls = fake.listen_with(Some(fake::tls(&signed_by(&new_ca(), "127.0.0.1"), None))).await;
    let rows = [
        ("no server listens", ExternalTrigger::at(closed), &["SourceUnreachable"][..]),
        ("it hangs up", ExternalTrigger::at(closes), &["SourceUnreachable"]),
        ("it speaks HTTP/1", ExternalTrigger::at(speaks_http), &["SourceUnreachable"]),
        ("it waits for HTTP/1", ExternalTrigger::at(other.address), &["SourceUnreachable", "SourceTimeout"]),
        ("it speaks TLS, and we do not", ExternalTrigger::at(&tls), &["SourceUnreachable"]),
        (
            "it does not speak TLS",
            ExternalTrigger::at(&plain).with("enableTLS", "true"),
            &["SourceUntrusted", "SourceUnreachable"],
        ),
    ];
    for (name, trigger, expected) in rows {
        let error = trigger.build(&registry()).read("s1-jobs", now()).await.unwrap_err();
        assert!(expected.contains(&error.reason()), "{name}: {error}");
        assert!(error.to_string().contains("127.0.0.1:"), "{name}: {error}");
    }
}

#[tokio::test]
async fn tls_trusts_the_configured_ca_and_presents_its_certificate() {
    let (known_ca, stranger) = (new_ca(), new_ca());
    let server = signed_by(&known_ca, "127.0.0.1");
    let client = signed_by(&known_ca, "kedge");
    let fake = Fake::new(Answers::default());
    let open = ExternalTrigger::at(fake.listen_with(Some(fake::tls(&server, None))).await);
    let other_name = signed_by(&known_ca, "scaler");
    let other_name = ExternalTrigger::at(fake.listen_with(Some(fake::tls(&other_name, None))).await);
    let mutual = ExternalTrigger::at(fake.listen_with(Some(fake::tls(&server, Some(&known_ca)))).await);
    let pair = |trigger: ExternalTrigger, identity: &crate::tls::Identity| {
        trigger.auth("tlsClientCert", &identity.cert.pem()).auth("tlsClientKey", &identity.key.serialize_pem())
    };
    let ca = |trigger: &ExternalTrigger| trigger.clone().auth("caCert", &known_ca.pem());
    let foreign = signed_by(&stranger, "kedge");
    let rows = [
        ("the right CA", ca(&open), true),
        ("the right CA, asked for", ca(&open).with("enableTLS", "true"), true),
        ("another CA", open.clone().auth("caCert", &stranger.pem()), false),
        ("no CA", open.clone().with("enableTLS", "true"), false),
        ("unsafeSsl", open.clone().with("enableTLS", "true").with("unsafeSsl", "true"), true),
        ("unsafeSsl with another CA", open.clone().auth("caCert", &stranger.pem()).with("unsafeSsl", "true"), true),
        ("another name", ca(&other_name), false),
        ("a certificate", pair(ca(&mutual), &client), true),
        ("a stranger's certificate", pair(ca(&mutual), &foreign), false),
        ("no certificate where one is asked for", ca(&mutual), false),
    ];
    for (name, trigger, trusted) in rows {
        match trigger.read().await {
            Ok(read) => assert!(trusted && read == known(35.0, Activity::Active), "{name}: {read:?}"),
            Err(error) => {
                assert!(!trusted, "{name}: {error}");
                assert_eq!(error.reason(), "SourceUntrusted", "{name}: {error}");
            }
        }
    }
}

#[tokio::test]
async fn triggers_at_one_address_share_one_connection() {
    let fake = Fake::new(Answers::default());
    let (address, registry) = (fake.listen().await, registry());
    let one = ExternalTrigger::at(&address).build(&registry);
    let other = ExternalTrigger::at(format!("dns:///{address}")).push().with("queue", "other").build(&registry.clone());
    for scaler in [&one, &other, &one] {
        scaler.read("s1-jobs", now()).await.unwrap();
    }
    assert_eq!(fake.connections(), 1);
}
