use kedge_api::authentication::PodIdentityProvider;
use serde_json::json;

use super::*;
use crate::http::connector::Connector;
use crate::http::{Settings, TlsProfile, Verification};
use crate::metadata::Reader;
use crate::sample::Sample;
use crate::target::TargetType;

fn requests() -> Sample {
    Sample::new("prometheus")
        .with("serverAddress", "http://prometheus:9090")
        .with("query", "up")
        .with("threshold", "2.5")
}

fn built(sample: &Sample) -> Result<PrometheusScaler, String> {
    let clients = HttpClients::new(Settings::default(), Connector::tcp());
    build(&sample.trigger(), &clients).map_err(|error| error.to_string())
}

fn tls_profile(sample: &Sample) -> TlsProfile {
    let trigger = sample.trigger();
    let mut read = Reader::new(&trigger);
    let auth = crate::auth::parse(&mut read);
    config::parse_tls(&mut read, auth)
}

#[tokio::test]
async fn its_metric_has_the_threshold_as_target() {
    let scaler = built(&requests().index(2)).unwrap();
    let average = json!([{"type": "External", "external": {"metric": {"name": "s2-prometheus"},
        "target": {"type": "AverageValue", "averageValue": "2.500"}}}]);
    assert_eq!(serde_json::to_value(scaler.describe().await.unwrap()).unwrap(), average);
    let scaler = built(&requests().metric_type("Value").with("threshold", "0.5")).unwrap();
    let value = json!([{"type": "External", "external": {"metric": {"name": "s0-prometheus"},
        "target": {"type": "Value", "value": "500m"}}}]);
    assert_eq!(serde_json::to_value(scaler.describe().await.unwrap()).unwrap(), value);
}

#[test]
fn defaults_are_those_of_keda() {
    let scaler = built(&requests()).unwrap();
    assert_eq!(scaler.config.activation, 0.0);
    assert_eq!(scaler.config.nothing, config::Nothing::IsZero);
    assert_eq!(tls_profile(&requests()), TlsProfile::default());
    assert_eq!(scaler.config.target_type, TargetType::AverageValue);
    assert_eq!(scaler.limit, Duration::from_secs(3));
}

#[test]
fn a_timeout_is_a_duration_or_milliseconds() {
    for (text, millis) in [("500", 500), ("1.5s", 1500), ("0", 3000)] {
        assert_eq!(built(&requests().with("timeout", text)).unwrap().limit, Duration::from_millis(millis), "{text}");
    }
}

#[test]
fn certificates_decide_over_unsafe_ssl() {
    let certified = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
    let (cert, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let bearer = requests().with("unsafeSsl", "true").with("authModes", "bearer").auth("token", "t");
    let tls = requests().with("authModes", "tls").auth("cert", &cert).auth("key", &key);
    let rows = [
        ("alone", requests().with("unsafeSsl", "true"), Verification::Off, false),
        ("with a mode but no CA", bearer.clone(), Verification::Off, false),
        ("with a CA", bearer.auth("ca", &cert), Verification::Full, true),
        ("with a client certificate", tls.with("unsafeSsl", "true"), Verification::Full, false),
        ("a CA without modes is ignored", requests().auth("ca", &cert), Verification::Full, false),
    ];
    for (name, sample, verification, has_ca) in rows {
        let tls = tls_profile(&sample);
        assert_eq!((tls.verification, tls.ca.is_some()), (verification, has_ca), "{name}");
    }
}

#[test]
fn mistakes_are_named() {
    let rows: [(&str, Sample, &[&str]); 15] = [
        (
            "everything missing",
            Sample::new("prometheus"),
            &["`serverAddress` is missing", "`query` is missing", "`threshold` is missing"],
        ),
        (
            "no scheme",
            requests().with("serverAddress", "prometheus:9090"),
            &["`serverAddress` does not begin with http"],
        ),
        ("no number", requests().with("threshold", "ten"), &["`threshold` \"ten\" is not a number"]),
        ("no number", requests().with("activationThreshold", "x"), &["`activationThreshold`"]),
        ("no bool", requests().with("ignoreNullValues", "maybe"), &["`ignoreNullValues`"]),
        ("no bool", requests().with("unsafeSsl", "maybe"), &["`unsafeSsl`"]),
        ("no duration", requests().with("timeout", "-5s"), &["`timeout` \"-5s\" is negative"]),
        ("no map", requests().with("customHeaders", "a"), &["`customHeaders` is not a list of key=value"]),
        ("no map", requests().with("queryParameters", "a"), &["`queryParameters` is not a list of key=value"]),
        (
            "a bad CA, and no threshold",
            requests().without("threshold").with("authModes", "bearer").auth("token", "t").auth("ca", "x"),
            &["`ca` holds no usable", "`threshold` is missing"],
        ),
        (
            "a bad CA",
            requests().with("authModes", "basic").auth("username", "u").auth("ca", "x"),
            &["`ca` holds no usable"],
        ),
        (
            "Utilization",
            requests().metric_type("Utilization"),
            &["`metricType` 'Utilization' metric type is unsupported"],
        ),
        (
            "two ways to sign in",
            requests().with("authModes", "bearer").auth("token", "t").pod_identity(PodIdentityProvider::Aws),
            &["`authModes` cannot be used together with pod identity aws"],
        ),
        (
            "modes that exclude each other, and no threshold",
            requests().without("threshold").with("authModes", "bearer,oauth"),
            &["`authModes`", "`threshold`"],
        ),
        (
            "a user that no URL can have",
            requests().with("serverAddress", "http://:9090"),
            &["`serverAddress` has no host"],
        ),
    ];
    for (name, sample, expected) in rows {
        let text = built(&sample).unwrap_err();
        for part in expected {
            assert!(text.contains(part), "{name}: {text}");
        }
    }
}

#[test]
fn clouds_are_refused_with_a_way_out() {
    let rows = [
        requests().pod_identity(PodIdentityProvider::AzureWorkload),
        requests().pod_identity(PodIdentityProvider::Gcp),
        requests().pod_identity(PodIdentityProvider::Aws),
        requests().with("identityOwner", "operator"),
        requests().auth("awsRoleArn", "arn"),
        requests().auth("awsAccessKeyID", "id"),
        requests().with("awsAccessKeyIDFromEnv", "V"),
        requests().auth("GoogleApplicationCredentials", "{}"),
        requests().with("credentialsFromEnv", "V"),
    ];
    for sample in rows {
        let text = built(&sample).unwrap_err();
        assert!(text.contains("not supported yet; remove it and sign in with authModes"), "{text}");
    }
    assert!(
        built(&requests().pod_identity(PodIdentityProvider::None).with("identityOwner", "pod").with("awsRegion", "x"))
            .is_ok()
    );
    let signed_in = requests().with("authModes", "bearer").auth("token", "t").auth("awsRoleArn", "arn");
    assert!(built(&signed_in).is_ok(), "with authModes, no cloud is asked");
}

#[test]
fn nothing_shows_a_credential() {
    let sample = requests()
        .with("serverAddress", "http://user:hunter1@prometheus:9090")
        .with("customHeaders", "X-Key=hunter2")
        .with("queryParameters", "token=hunter3")
        .with("authModes", "basic")
        .auth("username", "u")
        .auth("password", "hunter4");
    let shown = format!("{:?}", built(&sample).unwrap());
    assert!(!shown.contains("hunter"), "{shown}");
}
