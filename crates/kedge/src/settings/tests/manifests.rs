//! The arguments and variables that KEDA's plain manifests and its chart 2.20.2 give to operator and adapter.

use std::path::Path;
use std::time::Duration;

use tracing::level_filters::LevelFilter;

use kedge_scalers::TlsVersion;

use super::super::logging::{Format, Logging, Time};
use super::{files, resolved, rotation, text};

/// The arguments that the image of KEDA's operator adds before those of a manifest.
const ENTRYPOINT: [&str; 2] = ["--zap-log-level=info", "--zap-encoder=console"];

#[test]
fn kedas_plain_operator_manifest_starts_it() {
    let arguments = [
        "--leader-elect",
        "--zap-log-level=info",
        "--zap-encoder=console",
        "--zap-time-encoding=rfc3339",
        "--enable-cert-rotation=true",
    ];
    let variables = [("POD_NAMESPACE", "scaling"), ("WATCH_NAMESPACE", ""), ("KEDA_HTTP_DEFAULT_TIMEOUT", "")];
    for arguments in [arguments.to_vec(), [&ENTRYPOINT[..], &arguments].concat()] {
        let settings = resolved(&arguments, &variables);
        assert_eq!(settings.logging, Logging { level: LevelFilter::INFO, format: Format::Text, time: Time::Rfc3339 });
        let leadership = settings.leadership.as_ref().unwrap();
        assert_eq!((leadership.lease.as_str(), leadership.namespace.as_str()), ("operator.keda.sh", "scaling"));
        assert_eq!(settings.credentials.cluster_object_namespace, "scaling");
        assert_eq!(settings.http.timeout, Duration::from_secs(3));
        assert!(settings.scope.namespaces.is_empty());
        assert_eq!(settings.notices.warnings, Vec::<String>::new());
        assert_eq!(rotation(&settings).namespace, "scaling");
    }
}

#[test]
fn kedas_plain_adapter_manifest_starts_it() {
    let arguments = [
        "--zap-log-level=info",
        "--zap-encoder=console",
        "--secure-port=6443",
        // The manifest begins with the path of the program, which its image has as its entry point already.
        "/usr/local/bin/keda-adapter",
        "--secure-port=6443",
        "--logtostderr=true",
        "--stderrthreshold=ERROR",
        "--v=0",
        "--client-ca-file=/certs/ca.crt",
        "--tls-cert-file=/certs/tls.crt",
        "--tls-private-key-file=/certs/tls.key",
        "--cert-dir=/certs",
    ];
    let settings =
        resolved(&arguments, &[("WATCH_NAMESPACE", ""), ("POD_NAMESPACE", "keda"), ("KEDA_HTTP_DEFAULT_TIMEOUT", "")]);
    assert_eq!(settings.serving.metrics_api.to_string(), "0.0.0.0:6443");
    assert_eq!(files(&settings), "/certs/tls.crt /certs/tls.key");
    let ignored = settings.notices.ignored.unwrap();
    for flag in ["--logtostderr", "--stderrthreshold", "--v", "--client-ca-file"] {
        assert!(ignored.contains(flag), "{flag}: {ignored}");
    }
    assert_eq!(settings.notices.warnings, Vec::<String>::new());
}

/// The environment that the chart sets for both.
const CHART: [(&str, &str); 10] = [
    ("WATCH_NAMESPACE", ""),
    ("WATCH_LABEL_SELECTOR", ""),
    ("WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH", ""),
    ("POD_NAME", "keda-operator-7d9c"),
    ("POD_NAMESPACE", "keda"),
    ("OPERATOR_NAME", "keda-operator"),
    ("KEDA_HTTP_DEFAULT_TIMEOUT", "3000"),
    ("KEDA_HTTP_MIN_TLS_VERSION", "TLS12"),
    ("KEDA_SERVICE_MIN_TLS_VERSION", "TLS13"),
    ("KEDA_SERVICE_TLS_CIPHER_LIST", ""),
];

#[test]
fn kedas_chart_starts_it_as_operator() {
    let usual = [
        "--leader-elect",
        "--disable-compression=true",
        "--zap-log-level=info",
        "--zap-encoder=console",
        "--zap-time-encoding=rfc3339",
        "--enable-webhook-patching=true",
        "--cert-dir=/certs",
        "--enable-cert-rotation=true",
        "--cert-secret-name=kedaorg-certs",
        "--operator-service-name=keda-operator",
        "--metrics-server-service-name=keda-operator-metrics-apiserver",
        "--webhooks-service-name=keda-admission-webhooks",
        "--k8s-cluster-name=kubernetes-default",
        "--k8s-cluster-domain=cluster.local",
        "--enable-prometheus-metrics=false",
        "--http-max-idle-conns=0",
        "--http-max-idle-conns-per-host=1000",
        "--http-idle-conn-timeout=90s",
    ];
    let settings = resolved(&usual, &CHART);
    assert_eq!(settings.serving.metrics.as_ref(), None);
    assert_eq!(settings.http.idle_per_host_max, 1000);
    assert_eq!(settings.http.idle_timeout, Duration::from_secs(90));
    assert_eq!(
        (settings.http.tls.min_version, settings.service_tls.min_version),
        (TlsVersion::Tls12, TlsVersion::Tls13)
    );
    assert_eq!(settings.instance, "keda-operator-7d9c");
    let names = &rotation(&settings).spec.names;
    assert!(names.contains(&"keda-operator-metrics-apiserver.keda.svc.cluster.local".to_owned()), "{names:?}");
    assert!(settings.notices.ignored.unwrap().contains("--k8s-cluster-name (no CloudEvents are sent)"));

    let options = [
        "--leader-election-id=other",
        "--zap-stacktrace-level=error",
        "--enable-prometheus-metrics=true",
        "--metrics-bind-address=:9090",
        "--enable-opentelemetry-metrics=true",
        "--profiling-bind-address=:8082",
        "--ca-dir=/custom/ca",
        "--ca-dir=/more/ca",
        "--enable-apiservice-patching=false",
        "--kube-api-qps=40",
    ];
    let settings = resolved(&[&usual[..], &options].concat(), &CHART);
    assert_eq!(text(settings.serving.metrics.as_ref()).as_deref(), Some(":9090"));
    assert_eq!(settings.http.ca_dirs, [Path::new("/custom/ca"), Path::new("/more/ca")]);
    assert_eq!(rotation(&settings).targets.len(), 1);
    assert_eq!(settings.leadership.unwrap().lease, "other");
    let ignored = settings.notices.ignored.unwrap();
    assert!(ignored.contains("--kube-api-qps (requests to the API server are not rate-limited"), "{ignored}");
    assert!(settings.notices.warnings.iter().any(|warning| warning.starts_with("--enable-opentelemetry-metrics=true")));
}

#[test]
fn kedas_chart_starts_it_as_adapter() {
    let arguments = [
        "--port=8080",
        "--secure-port=6443",
        "--logtostderr=true",
        "--stderrthreshold=ERROR",
        "--disable-compression=true",
        "--metrics-service-address=keda-operator.keda.svc.cluster.local:9666",
        "--client-ca-file=/certs/ca.crt",
        "--tls-cert-file=/certs/tls.crt",
        "--tls-private-key-file=/certs/tls.key",
        "--cert-dir=/certs",
        "--zap-log-level=info",
        "--zap-encoder=console",
        "--zap-time-encoding=rfc3339",
        "--v=0",
        "--profiling-bind-address=:8083",
    ];
    let settings = resolved(&arguments, &CHART);
    assert_eq!(settings.serving.metrics_api.to_string(), "0.0.0.0:6443");
    assert_eq!(settings.leadership, None);
    assert_eq!(settings.notices.warnings, Vec::<String>::new());
}
