//! Invalid values are reported with their name, value and a remedy.

use std::time::Duration;

use clap::Parser;

use super::{Cli, errors, resolved};

#[test]
fn every_mistake_names_its_flag_its_value_and_a_remedy() {
    let rows = [
        ("--metrics-bind-address=8080", ":port"),
        ("--health-probe-bind-address=host", ":port"),
        ("--metrics-api-bind-address=:x", ":port"),
        ("--bind-address=localhost", "0.0.0.0"),
        ("--secure-port=0", "65535"),
        ("--enable-prometheus-metrics=maybe", "false"),
        ("--leader-elect=yes", "true"),
        ("--enable-cert-rotation=yes", "true"),
        ("--enable-webhook-patching=no", "true"),
        ("--enable-apiservice-patching=no", "true"),
        ("--cert-secret-name=Own", "keda-operator"),
        ("--webhooks-service-name=a_b", "keda-operator"),
        ("--k8s-cluster-domain=.local", "keda-operator"),
        ("--cert-lifetime=60", "90s"),
        ("--http-max-idle-conns=-1", "0 or more"),
        ("--http-max-idle-conns-per-host=0", "1 or more"),
        ("--http-idle-conn-timeout=0s", "90s"),
        ("--http-idle-conn-timeout=90", "90s"),
        ("--http-idle-conn-timeout=-5s", "90s"),
        ("--service-account-token-mode=lax", "legacy"),
        ("--log-level=loud", "debug"),
        ("--log-format=xml", "json"),
        ("--zap-log-level=warn", "debug"),
        ("--zap-encoder=text", "console"),
        ("--zap-time-encoding=unix", "rfc3339"),
        ("--zap-devel=x", "true"),
    ];
    for (argument, remedy) in rows {
        let (flag, value) = argument.split_once('=').unwrap();
        let found = errors(&[argument], &[]);
        let [one] = &found[..] else { panic!("{argument}: {found:?}") };
        assert!(one.starts_with(&format!("{flag} `{value}` ")) && one.contains("; "), "{argument}: {one}");
        assert!(one.split("; ").nth(1).unwrap().contains(remedy), "{argument}: {one}");
    }
}

#[test]
fn every_mistake_names_its_variable_its_value_and_a_remedy() {
    let rows = [
        ("WATCH_LABEL_SELECTOR", "a=b=c", "kubectl"),
        ("WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH", "in (", "kubectl"),
        ("KEDA_HTTP_DEFAULT_TIMEOUT", "3s", "digits"),
        ("KEDA_HTTP_DISABLE_KEEP_ALIVE", "off", "true"),
        ("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES", "0", "1 or more"),
        ("KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "2", "90s"),
        ("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", "30m", "1h to 6h"),
        ("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", "7h", "1h to 6h"),
        ("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", "{audience: a}", "outbound-policy.md"),
        ("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", "null", "outbound-policy.md"),
        ("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", "[{audience: a, name: b}]", "unknown field"),
        ("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", "[{audience: a, audience: b}]", "outbound-policy.md"),
        ("KEDA_OUTBOUND_FILTER", "hashiCorpVault: null", "outbound-policy.md"),
        ("KEDA_OUTBOUND_FILTER", "hashiCorpVault: [enforce]", "outbound-policy.md"),
        ("KEDA_OUTBOUND_FILTER", "hashiCorpVault: {mode: strict}", "enforce"),
        ("KEDA_OUTBOUND_FILTER", "{}\n---\n{}", "outbound-policy.md"),
        ("KEDGE_OUTBOUND_POLICY", "deniedCIDRs: [169.254.169.254]", "is not a network"),
        ("KEDGE_OUTBOUND_POLICY", "allowedhosts: [a]", "unknown field"),
        ("KEDGE_OUTBOUND_POLICY", "[]", "outbound-policy.md"),
    ];
    for (name, value, remedy) in rows {
        let found = errors(&[], &[(name, value)]);
        let [one] = &found[..] else { panic!("{name}={value}: {found:?}") };
        assert!(one.starts_with(&format!("{name} `{value}` ")) && one.contains(remedy), "{name}={value}: {one}");
    }
    let found = errors(&["--secure-port=x", "--zap-encoder=y"], &[("KEDA_HTTP_DEFAULT_TIMEOUT", "z")]);
    assert_eq!(found.len(), 3, "all are reported at once: {found:?}");
}

#[test]
fn a_lease_outlives_its_renewal_and_that_its_retries() {
    let variable = |name: &str| format!("KEDA_OPERATOR_LEADER_ELECTION_{name}");
    let [lease, renew, retry] = ["LEASE_DURATION", "RENEW_DEADLINE", "RETRY_PERIOD"].map(variable);
    let settings = resolved(&["--leader-elect"], &[(&lease, "1m"), (&renew, "40s"), (&retry, "500ms")]);
    let leadership = settings.leadership.unwrap();
    assert_eq!(leadership.lease_duration, Duration::from_secs(60));
    assert_eq!(
        (leadership.renew_deadline, leadership.retry_period),
        (Duration::from_secs(40), Duration::from_millis(500))
    );
    let found = errors(&[], &[(&lease, "10s")]);
    assert!(found[0].starts_with(&format!("{lease} (10s) is not above {renew} (10s); give")), "{found:?}");
    let found = errors(&[], &[(&retry, "20s")]);
    assert!(found[0].starts_with(&format!("{renew} (10s) is not above {retry} (20s); give")), "{found:?}");
    assert_eq!(errors(&["--leader-elect", "--leader-election-id="], &[]).len(), 1);
}

#[test]
fn what_keda_only_logs_does_not_stop_the_start() {
    let rows = [
        ("KEDA_HTTP_MIN_TLS_VERSION", "TLS14", "TLS12 is used"),
        ("KEDA_HTTP_MIN_TLS_VERSION", "TLS10", "TLS 1.2 at least"),
        ("KEDA_SERVICE_MIN_TLS_VERSION", "1.3", "TLS12 is used"),
        ("KEDA_HTTP_TLS_CIPHER_LIST", "TLS_NULL", "is left out"),
        ("KEDA_RESTRICT_SECRET_ACCESS", "yes", "true or false"),
    ];
    for (name, value, remedy) in rows {
        let warnings = resolved(&[], &[(name, value)]).notices.warnings;
        let [one] = &warnings[..] else { panic!("{name}: {warnings:?}") };
        assert!(one.starts_with(name) && one.contains(value) && one.contains(remedy), "{one}");
    }
}

#[test]
fn a_policy_that_would_not_protect_stops_the_start() {
    let listed = [("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", "[{audience: vault}]")];
    assert_eq!(resolved(&[], &listed).notices.warnings, Vec::<String>::new());
    let rows: [(&[&str], _, _, &str); 3] = [
        (&["--service-account-token-mode=legacy"], listed[0].0, listed[0].1, "cannot be combined"),
        (&[], listed[0].0, "[{audience: vault, namespace: shop}]", "entry 0: give namespace and serviceAccountName"),
        (&[], "KEDA_OUTBOUND_FILTER", "hashiCorpVault: {allowedEndpoints: [vault]}", "allowedEndpoints entry"),
    ];
    for (flags, name, value, expected) in rows {
        let found = errors(flags, &[(name, value)]);
        assert!(found.len() == 1 && found[0].contains(expected), "{name}={value}: {found:?}");
    }
    let warnings = resolved(&["--service-account-token-mode=legacy"], &[]).notices.warnings;
    assert!(warnings.len() == 1 && warnings[0].contains("without an audience of their own"), "{warnings:?}");
}

#[test]
fn an_unknown_flag_is_an_error_with_a_suggestion() {
    for (argument, said) in [
        ("--metrics-bind-adress", "--metrics-bind-address"),
        ("--leader-electt", "--leader-elect"),
        ("true", "--leader-elect=false"),
    ] {
        let error = Cli::try_parse_from(["operator", argument]).err().unwrap().to_string();
        assert!(error.contains(argument) && error.contains(said), "{error}");
    }
}
