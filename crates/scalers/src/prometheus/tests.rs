use kedge_api::authentication::PodIdentityProvider;
use serde_json::json;

use super::*;
use crate::cloud_environment::CloudEnvironment;
use crate::cluster::NoCluster;
use crate::http::connector::Connector;
use crate::http::{Settings, TlsProfile, Verification};
use crate::metadata::Reader;
use crate::sample::Sample;
use crate::scaler::Scaler;
use crate::target::TargetType;
use crate::trigger::{Resolution, Role};

fn requests() -> Sample {
    Sample::new("prometheus")
        .with("serverAddress", "http://prometheus:9090")
        .with("query", "up")
        .with("threshold", "2.5")
}

fn built(sample: &Sample) -> Result<OneMetric<PrometheusQuery>, String> {
    let shared = Shared::new(Settings::default(), Connector::tcp(), Arc::new(NoCluster));
    build(&sample.trigger(), &shared).map_err(|error| error.to_string())
}

fn tls_profile(sample: &Sample) -> TlsProfile {
    let trigger = sample.trigger();
    let mut read = Reader::new(&trigger);
    let auth = crate::auth::parse(&mut read, crate::auth::MODES);
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
    assert_eq!(scaler.activation, 0.0);
    assert_eq!(scaler.source.config.empty_result, config::EmptyResult::IsZero);
    assert_eq!(tls_profile(&requests()), TlsProfile::default());
    assert_eq!(scaler.source.config.target_type, TargetType::AverageValue);
    assert_eq!(scaler.source.limit, Duration::from_secs(3));
}

#[test]
fn a_timeout_is_a_duration_or_milliseconds() {
    for (text, millis) in [("500", 500), ("1.5s", 1500), ("0", 3000)] {
        assert_eq!(
            built(&requests().with("timeout", text)).unwrap().source.limit,
            Duration::from_millis(millis),
            "{text}"
        );
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
fn a_threshold_of_zero_is_invalid_in_checks_and_valid_in_builds() {
    let zero = requests().with("threshold", "0");
    assert!(built(&zero).is_ok());
    let written = zero.clone().resolution(Resolution::ManifestWithoutAuthentication);
    assert!(built(&written).unwrap_err().contains("`threshold` is not above 0"));
    assert!(
        !built(&written.role(Role::FormulaInput)).unwrap_err().contains("threshold"),
        "a formula has its own target"
    );
}

#[test]
fn invalid_fields_are_named() {
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

/// The identity that signs, as text, or the errors.
fn identity(sample: &Sample, cloud_environment: &CloudEnvironment) -> Result<String, String> {
    let trigger = sample.trigger();
    let mut read = Reader::new(&trigger);
    let auth = crate::auth::parse(&mut read, crate::auth::MODES);
    let identity = identity::parse(&mut read, &trigger, auth.as_ref(), cloud_environment);
    read.finish(Some(identity)).map(|identity| format!("{identity:?}")).map_err(|error| error.to_string())
}

#[test]
fn the_configured_cloud_counts() {
    let cloud_environment: CloudEnvironment =
        [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_FEDERATED_TOKEN_FILE", "/f"), ("AWS_REGION", "r")]
            .into_iter()
            .collect();
    let azure = || requests().pod_identity(PodIdentityProvider::AzureWorkload);
    let private = azure().with("cloud", "private");
    let bearer = requests().with("authModes", "bearer").auth("token", "t");
    let rows = [
        ("no identity", requests(), Ok("None")),
        ("none is no identity", requests().pod_identity(PodIdentityProvider::None), Ok("None")),
        ("the public cloud", azure(), Ok("https://prometheus.monitor.azure.com/.default")),
        ("of the US", azure().with("cloud", "azureUSGovernmentCloud"), Ok("https://prometheus.monitor.azure.us/")),
        ("of China", azure().with("cloud", "AzureChinaCloud"), Ok("https://prometheus.monitor.azure.cn/")),
        ("a private one", private.clone().with("azureManagedPrometheusResourceURL", "https://own"), Ok("https://own")),
        ("a private one, unnamed", private, Err("`azureManagedPrometheusResourceURL` is missing")),
        ("one that is not there", azure().with("cloud", "AzureGermanCloud"), Err("`cloud` is not a cloud that has")),
        ("Google", requests().pod_identity(PodIdentityProvider::Gcp), Ok("monitoring.read")),
        ("Amazon", requests().with("identityOwner", "operator"), Ok("aps")),
        ("Amazon replaces the others", azure().with("identityOwner", "operator"), Ok("Aws(")),
        ("modes and keys", bearer.clone().auth("awsAccessKeyID", "x"), Ok("None")),
        ("modes and an identity", bearer.pod_identity(PodIdentityProvider::Gcp), Err("with pod identity gcp")),
    ];
    for (name, sample, expected) in rows {
        match (identity(&sample, &cloud_environment), expected) {
            (Ok(found), Ok(part)) => assert!(found.contains(part), "{name}: {found}"),
            (Err(error), Err(part)) => assert!(error.contains(part), "{name}: {error}"),
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
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
    let keys = requests().with("awsRegion", "r").auth("awsAccessKeyID", "i").auth("awsSecretAccessKey", "hunter5");
    for sample in [sample, keys] {
        let shown = format!("{:?}", built(&sample).unwrap());
        assert!(!shown.contains("hunter"), "{shown}");
    }
}
