//! Flags and variables as settings: the defaults, KEDA's manifests, invalid values, and each value by itself.

mod invalid;
mod manifests;

use std::time::Duration;

use clap::{CommandFactory, Parser};
use kedge_scalers::Proxies;
use tracing::level_filters::LevelFilter;

use super::addresses::Address;
use super::certificates::Source;
use super::logging::{Format, Logging, Time};
use super::operator::Notices;
use super::*;

type Variables<'a> = &'a [(&'a str, &'a str)];

#[derive(Parser)]
#[command(name = "operator")]
struct Cli {
    #[command(flatten)]
    flags: Flags,
}

fn parse(arguments: &[&str]) -> Flags {
    let all = std::iter::once("operator").chain(arguments.iter().copied());
    Cli::try_parse_from(all).unwrap_or_else(|error| panic!("{arguments:?}: {error}")).flags
}

fn resolved(arguments: &[&str], variables: Variables<'_>) -> Settings {
    let resolved = resolve(&parse(arguments), &Environment::from_variables(variables));
    resolved.unwrap_or_else(|errors| panic!("{arguments:?} {variables:?}: {errors:?}"))
}

fn errors(arguments: &[&str], variables: Variables<'_>) -> Vec<String> {
    let resolved = resolve(&parse(arguments), &Environment::from_variables(variables));
    resolved.err().unwrap_or_else(|| panic!("{arguments:?} {variables:?} is taken"))
}

fn text(address: Option<&Address>) -> Option<String> {
    address.map(ToString::to_string)
}

/// The files that are served with.
fn files(settings: &Settings) -> String {
    match &settings.serving.certificate {
        Source::Files(files) => format!("{} {}", files.chain.display(), files.key.display()),
        Source::Secret(rotation) => panic!("{rotation:?}"),
    }
}

/// The Secret that is served with.
fn rotation(settings: &Settings) -> &kedge_certificates::Settings {
    match &settings.serving.certificate {
        Source::Files(files) => panic!("{files:?}"),
        Source::Secret(rotation) => rotation,
    }
}

#[test]
fn rotation_takes_kedas_names_and_its_own() {
    let usual = resolved(&["--enable-cert-rotation"], &[]);
    assert_eq!((rotation(&usual).namespace.as_str(), rotation(&usual).secret.as_str()), ("keda", "kedaorg-certs"));
    assert_eq!(rotation(&usual).spec.lifetimes, kedge_certificates::Lifetimes::default());
    assert_eq!(rotation(&usual).spec.names.len(), 12);
    assert_eq!(rotation(&usual).spec.names[7], "keda-metrics-apiserver.keda.svc.cluster.local");
    assert_eq!(rotation(&usual).targets.len(), 2);
    assert_eq!(usual.notices.warnings, Vec::<String>::new());
    let other = [
        "--enable-cert-rotation=true",
        "--cert-secret-name=own",
        "--operator-service-name=o",
        "--metrics-server-service-name=m",
        "--webhooks-service-name=w",
        "--validating-webhook-name=v",
        "--k8s-cluster-domain=d.e",
        "--enable-apiservice-patching=false",
        "--tls-cert-file=/a.pem",
        "--cert-lifetime=60s",
        "--cert-authority-lifetime=3m",
    ];
    let settings = resolved(&other, &[("POD_NAMESPACE", "n")]);
    let target = kedge_certificates::CaBundleTarget::ValidatingWebhooks { name: "v".to_owned() };
    assert_eq!((rotation(&settings).secret.as_str(), &rotation(&settings).targets[..]), ("own", &[target][..]));
    assert_eq!(rotation(&settings).spec.names[10..], ["w.n.svc", "w.n.svc.d.e"]);
    let lifetimes = rotation(&settings).spec.lifetimes;
    assert_eq!((lifetimes.leaf, lifetimes.ca), (Duration::from_secs(60), Duration::from_secs(180)));
    let [warning] = &settings.notices.warnings[..] else { panic!("{:?}", settings.notices.warnings) };
    assert!(
        warning.starts_with("--tls-cert-file is not read: with --enable-cert-rotation the Secret own"),
        "{warning}"
    );
}

#[test]
fn nothing_said_is_what_it_always_was() {
    let settings = resolved(&[], &[]);
    let serving = &settings.serving;
    assert_eq!(serving.metrics_api.to_string(), "0.0.0.0:6443");
    assert_eq!(text(serving.health.as_ref()).as_deref(), Some("0.0.0.0:8081"));
    assert_eq!(text(serving.metrics.as_ref()).as_deref(), Some("0.0.0.0:8080"));
    assert_eq!(files(&settings), "/certs/tls.crt /certs/tls.key");
    assert_eq!(settings.logging, Logging { level: LevelFilter::INFO, format: Format::Text, time: Time::Default });
    assert_eq!(settings.notices, Notices::default());
    assert_eq!((settings.kubeconfig.as_deref(), settings.leadership.as_ref()), (None, None));
    let operator = settings.operator();
    assert_eq!((operator.namespaces.len(), operator.selector, operator.concurrency), (0, None, 32));
    assert_eq!(operator.instance, "kedge");
    let ((scalers, warnings), usual) = (settings.scalers(), kedge_scalers::Settings::default());
    assert_eq!((format!("{scalers:?}"), warnings.len()), (format!("{usual:?}"), 0));
}

#[test]
fn flags_are_written_as_in_go() {
    type Look = fn(&Settings) -> String;
    let metrics: Look = |settings| format!("{:?}", text(settings.serving.metrics.as_ref()));
    let api: Look = |settings| settings.serving.metrics_api.to_string();
    let leads: Look = |settings| settings.leadership.is_some().to_string();
    let level: Look = |settings| settings.logging.level.to_string();
    let format: Look = |settings| format!("{:?}", settings.logging.format);
    let certificate: Look = files;
    let rows: &[(&str, &[&str], Look, &str)] = &[
        ("a value after a blank", &["--metrics-bind-address", ":9"], metrics, "Some(\":9\")"),
        ("nowhere", &["--metrics-bind-address=0"], metrics, "None"),
        ("the last one counts", &["--metrics-bind-address=:8", "--metrics-bind-address=:9"], metrics, "Some(\":9\")"),
        ("a switch alone", &["--leader-elect"], leads, "true"),
        ("a switch before another flag", &["--leader-elect", "--v=2"], leads, "true"),
        ("a switch set", &["--leader-elect=1"], leads, "true"),
        ("a switch unset", &["--leader-elect=false"], leads, "false"),
        ("klog's level", &["-v=2", "-v", "2", "-v2", "--v", "-1", "-v"], level, "info"),
        ("the adapter's port", &["--secure-port=7443"], api, "0.0.0.0:7443"),
        ("the adapter's address", &["--bind-address=::", "--secure-port=7443"], api, ":7443"),
        ("our own wins", &["--metrics-api-bind-address=[::1]:1", "--secure-port=7443"], api, "[::1]:1"),
        ("the folder of certificates", &["--cert-dir=/tls"], certificate, "/tls/tls.crt /tls/tls.key"),
        (
            "a file wins over the folder",
            &["--cert-dir=/tls", "--tls-cert-file=/a.pem"],
            certificate,
            "/a.pem /tls/tls.key",
        ),
        ("zap's level", &["--zap-log-level=debug"], level, "debug"),
        ("zap's level in capitals", &["--zap-log-level=ERROR"], level, "error"),
        ("zap's verbosity 1", &["--zap-log-level=1"], level, "debug"),
        ("zap's verbosity 5", &["--zap-log-level=5"], level, "trace"),
        ("zap for developers", &["--zap-devel"], level, "debug"),
        ("zap for developers, but", &["--zap-devel", "--zap-log-level=info"], level, "info"),
        ("our own level wins", &["--log-level=warn", "--zap-log-level=debug"], level, "warn"),
        ("zap's encoder", &["--zap-encoder=json"], format, "Json"),
        ("our own format wins", &["--log-format=text", "--zap-encoder=json"], format, "Text"),
    ];
    for (name, arguments, look, expected) in rows {
        assert_eq!(look(&resolved(arguments, &[])), *expected, "{name}");
    }
}

#[test]
fn variables_have_kedas_meaning() {
    type Look = fn(&Settings) -> String;
    let namespaces: Look = |settings| settings.scope.namespaces.join("|");
    let timeout: Look = |settings| format!("{:?}", settings.http.timeout);
    let keeps: Look = |settings| format!("{:?}", settings.http.keep_alive);
    let cluster_objects: Look = |settings| settings.credentials.cluster_object_namespace.clone();
    let secrets: Look = |settings| format!("{:?}", settings.credentials.secrets);
    let lifetime: Look = |settings| format!("{:?}", settings.credentials.token_lifetime);
    let service: Look = |settings| format!("{:?}", settings.service_tls.min_version);
    let suites: Look = |settings| format!("{:?}", settings.http.tls.suites);
    let proxies: Look = |settings| format!("{:?}", settings.http.proxies);
    let said = |http, https, direct| format!("{:?}", Proxies::parse(http, https, direct).unwrap());
    let unexpected: Look = |settings| format!("{:?}", settings.unexpected_parameters);
    let selector: Look = |settings| format!("{:?}", settings.scope.selector);
    let aes = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256";
    let list = format!("{aes}:TLS_RSA_WITH_RC4_128_SHA");
    let rows: &[(&str, Variables<'_>, Look, &str)] = &[
        ("namespaces", &[("WATCH_NAMESPACE", "a, b,,")], namespaces, "a|b"),
        ("two quotes", &[("WATCH_NAMESPACE", "\"\"")], namespaces, ""),
        ("milliseconds", &[("KEDA_HTTP_DEFAULT_TIMEOUT", "500")], timeout, "500ms"),
        ("no time", &[("KEDA_HTTP_DEFAULT_TIMEOUT", "-1")], timeout, "0ns"),
        ("no keep-alive", &[("KEDA_HTTP_DISABLE_KEEP_ALIVE", "true")], keeps, "Off"),
        ("unset", &[], cluster_objects, "keda"),
        ("of the pod", &[("POD_NAMESPACE", "a")], cluster_objects, "a"),
        ("said", &[("POD_NAMESPACE", "a"), ("KEDA_CLUSTER_OBJECT_NAMESPACE", "b")], cluster_objects, "b"),
        ("restricted in any case", &[("KEDA_RESTRICT_SECRET_ACCESS", "TRUE")], secrets, "ClusterObjectNamespaceOnly"),
        ("not restricted", &[("KEDA_RESTRICT_SECRET_ACCESS", "false")], secrets, "EveryNamespace"),
        ("misspelt", &[("KEDA_RESTRICT_SECRET_ACCESS", "ture")], secrets, "ClusterObjectNamespaceOnly"),
        ("a lifetime", &[("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", "6h")], lifetime, "21600s"),
        ("servers as scalers", &[("KEDA_HTTP_MIN_TLS_VERSION", "TLS13")], service, "Tls13"),
        ("servers by default", &[], service, "Tls12"),
        ("servers set and empty", &[("KEDA_SERVICE_MIN_TLS_VERSION", "")], service, "Tls13"),
        (
            "known suites alone",
            &[("KEDA_HTTP_TLS_CIPHER_LIST", &list)],
            suites,
            "[TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256]",
        ),
        ("lower case", &[("https_proxy", "proxy:1")], proxies, &said(None, Some("proxy:1"), None)),
        (
            "upper case first",
            &[("https_proxy", "a:1"), ("HTTPS_PROXY", "http://u:p@b:1")],
            proxies,
            &said(None, Some("http://u:p@b:1"), None),
        ),
        ("direct", &[("NO_PROXY", ".svc, 10.0.0.0/8")], proxies, &said(None, None, Some(".svc, 10.0.0.0/8"))),
        ("reported", &[("KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS", "enabled")], unexpected, "Reported"),
        ("not reported", &[("KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS", "true")], unexpected, "Ignored"),
        ("a selector", &[("WATCH_LABEL_SELECTOR", "a in (b,c)")], selector, "Some(\"a in (b,c)\")"),
        ("an empty selector", &[("WATCH_LABEL_SELECTOR", "")], selector, "None"),
    ];
    for (name, variables, look, expected) in rows {
        assert_eq!(look(&resolved(&[], variables)), *expected, "{name}");
    }
    let mut in_a_pod = Environment::from_variables(&[]);
    in_a_pod.pod_namespace = Some("own".to_owned());
    assert_eq!(resolve(&parse(&[]), &in_a_pod).unwrap().credentials.cluster_object_namespace, "own");
}

#[test]
fn credentials_of_a_proxy_are_shown_nowhere() {
    let settings = resolved(&[], &[("HTTP_PROXY", "http://me:hunter2@proxy:3128")]);
    assert_ne!(settings.http.proxies, Proxies::default());
    assert!(!format!("{settings:?}").contains("hunter2"));
    let found = errors(&[], &[("HTTPS_PROXY", "ftp://me:hunter2@proxy")]);
    assert!(found[0].starts_with("HTTPS_PROXY does not begin with http:// or https://; write"), "{found:?}");
    assert!(!found[0].contains("hunter2"));
}

#[test]
fn the_help_is_short_and_names_what_matters() {
    let help = Cli::command().render_help().to_string();
    let named =
        ["--kubeconfig", "--metrics-api-bind-address", "--cert-dir", "--leader-elect", "--log-level", "--zap-encoder"];
    for flag in named {
        assert!(help.contains(flag), "{flag}");
    }
    assert!(help.contains("Examples:\n  kedge operator ") && help.contains("docs/reference/operator.md"));
    assert!(!help.contains("--audit-log-path") && !help.contains("--kube-api-qps"));
    assert!(help.lines().count() < 120, "{} lines", help.lines().count());
}

#[test]
fn the_definition_of_the_flags_holds_together() {
    Cli::command().debug_assert();
}
