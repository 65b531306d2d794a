//! KEDA's flags that are accepted without effect, so that KEDA's manifests start Kedge unchanged: those of its operator, and those of
//! its metrics adapter, which include the flags of an extension API server.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

/// A flag that is accepted without effect.
#[derive(Debug, PartialEq)]
pub(crate) struct Ignored {
    pub(crate) flag: &'static str,
    takes: Takes,
    /// Why it has no effect.
    pub(crate) why: &'static str,
    warn_if: WarnIf,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Takes {
    Value,
    Switch,
}

/// When ignoring the flag is worth a warning.
#[derive(Clone, Copy, Debug, PartialEq)]
enum WarnIf {
    Never,
    /// The switch is on.
    Enabled,
    /// The switch is off.
    Disabled,
    /// The flag has a value.
    Set,
}

const fn value(flag: &'static str, why: &'static str) -> Ignored {
    Ignored { flag, takes: Takes::Value, why, warn_if: WarnIf::Never }
}

const fn switch(flag: &'static str, why: &'static str) -> Ignored {
    Ignored { flag, takes: Takes::Switch, why, warn_if: WarnIf::Never }
}

impl Ignored {
    const fn warned(self, warn_if: WarnIf) -> Self {
        Self { warn_if, ..self }
    }
}

const NO_LIMITER: &str = "requests to the API server are not rate-limited by the client";
const NO_COMPRESSION: &str = "responses of the API server are not compressed";
const ONE_PROCESS: &str = "operator and metrics API are one process, with no gRPC between them";
const ONE_EXPOSITION: &str = "all metrics are served at --metrics-bind-address";
const OWN_START_LINE: &str = "the log line at start is fixed";
const NO_PROFILER: &str = "there is no profiler";
const NO_PUSH: &str = "metrics are not pushed by OpenTelemetry; scrape --metrics-bind-address";
const ONE_SET_OF_LABELS: &str = "there is one set of labels";
const NO_CLOUD_EVENTS: &str = "no CloudEvents are sent";
const NO_STACKS: &str = "errors are logged with their causes, without stack traces";
const STANDARD_ERROR: &str = "logs go to standard error, see --zap-log-level and --zap-encoder";
const PUBLISHED: &str = "authentication is configured by kube-system/extension-apiserver-authentication, and authorization delegated to the API server";
const NO_AUDIT: &str = "there is no audit log";
const MODERN_TLS: &str = "TLS 1.2 and 1.3 are served, with the cipher suites of rustls";
const ONE_CERTIFICATE: &str = "there is one certificate, see --cert-dir";
const FIXED: &str = "the value is fixed";

#[rustfmt::skip]
pub(crate) const IGNORED: &[Ignored] = &[
    // The operator.
    value("kube-api-qps", NO_LIMITER),
    value("kube-api-burst", NO_LIMITER),
    switch("disable-compression", NO_COMPRESSION).warned(WarnIf::Disabled),
    value("metrics-service-bind-address", ONE_PROCESS),
    value("profiling-bind-address", NO_PROFILER),
    switch("enable-opentelemetry-metrics", NO_PUSH).warned(WarnIf::Enabled),
    switch("enable-high-cardinality-metrics-labels", ONE_SET_OF_LABELS),
    value("k8s-cluster-name", NO_CLOUD_EVENTS),
    value("zap-stacktrace-level", NO_STACKS),
    // The adapter.
    value("msg", OWN_START_LINE),
    value("port", ONE_EXPOSITION),
    value("metrics-service-address", ONE_PROCESS),
    value("metrics-service-grpc-authority", ONE_PROCESS),
    switch("logtostderr", STANDARD_ERROR),
    switch("alsologtostderr", STANDARD_ERROR),
    value("stderrthreshold", STANDARD_ERROR),
    value("vmodule", STANDARD_ERROR),
    // An extension API server: secure serving.
    value("tls-min-version", MODERN_TLS).warned(WarnIf::Set),
    value("tls-cipher-suites", MODERN_TLS).warned(WarnIf::Set),
    value("tls-sni-cert-key", ONE_CERTIFICATE).warned(WarnIf::Set),
    value("http2-max-streams-per-connection", FIXED),
    switch("permit-address-sharing", FIXED),
    switch("permit-port-sharing", FIXED),
    // Delegated authentication and authorisation.
    value("client-ca-file", PUBLISHED),
    value("authentication-kubeconfig", PUBLISHED),
    switch("authentication-skip-lookup", PUBLISHED),
    switch("authentication-tolerate-lookup-failure", PUBLISHED),
    value("authentication-token-webhook-cache-ttl", FIXED),
    value("requestheader-allowed-names", PUBLISHED),
    value("requestheader-client-ca-file", PUBLISHED),
    value("requestheader-extra-headers-prefix", PUBLISHED),
    value("requestheader-group-headers", PUBLISHED),
    value("requestheader-uid-headers", PUBLISHED),
    value("requestheader-username-headers", PUBLISHED),
    value("authorization-kubeconfig", PUBLISHED),
    value("authorization-always-allow-paths", FIXED),
    value("authorization-webhook-cache-authorized-ttl", FIXED),
    value("authorization-webhook-cache-unauthorized-ttl", FIXED),
    value("lister-kubeconfig", PUBLISHED),
    value("discovery-interval", ONE_PROCESS),
    value("client-qps", NO_LIMITER),
    value("client-burst", NO_LIMITER),
    switch("profiling", NO_PROFILER),
    switch("contention-profiling", NO_PROFILER),
    // Audit.
    value("audit-policy-file", NO_AUDIT).warned(WarnIf::Set),
    value("audit-log-path", NO_AUDIT).warned(WarnIf::Set),
    value("audit-log-format", NO_AUDIT),
    value("audit-log-maxage", NO_AUDIT),
    value("audit-log-maxbackup", NO_AUDIT),
    value("audit-log-maxsize", NO_AUDIT),
    switch("audit-log-compress", NO_AUDIT),
    value("audit-log-mode", NO_AUDIT),
    value("audit-log-version", NO_AUDIT),
    value("audit-log-batch-buffer-size", NO_AUDIT),
    value("audit-log-batch-max-size", NO_AUDIT),
    value("audit-log-batch-max-wait", NO_AUDIT),
    value("audit-log-batch-throttle-burst", NO_AUDIT),
    switch("audit-log-batch-throttle-enable", NO_AUDIT),
    value("audit-log-batch-throttle-qps", NO_AUDIT),
    switch("audit-log-truncate-enabled", NO_AUDIT),
    value("audit-log-truncate-max-batch-size", NO_AUDIT),
    value("audit-log-truncate-max-event-size", NO_AUDIT),
    value("audit-webhook-config-file", NO_AUDIT).warned(WarnIf::Set),
    value("audit-webhook-initial-backoff", NO_AUDIT),
    value("audit-webhook-mode", NO_AUDIT),
    value("audit-webhook-version", NO_AUDIT),
    value("audit-webhook-batch-buffer-size", NO_AUDIT),
    value("audit-webhook-batch-max-size", NO_AUDIT),
    value("audit-webhook-batch-max-wait", NO_AUDIT),
    value("audit-webhook-batch-throttle-burst", NO_AUDIT),
    switch("audit-webhook-batch-throttle-enable", NO_AUDIT),
    value("audit-webhook-batch-throttle-qps", NO_AUDIT),
    switch("audit-webhook-truncate-enabled", NO_AUDIT),
    value("audit-webhook-truncate-max-batch-size", NO_AUDIT),
    value("audit-webhook-truncate-max-event-size", NO_AUDIT),
    VERBOSITY,
];

/// klog's, which alone has a short form: `-v=2`, `-v 2` and `--v=2` are the same.
const VERBOSITY: Ignored = value("v", STANDARD_ERROR);

/// The name of the positional argument that KEDA's manifests give its adapter: the path of its own program.
const PROGRAM: &str = "program";

/// The ignored flags that were given, each with its text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compatible {
    given: Vec<(&'static Ignored, String)>,
}

impl Compatible {
    /// The given flags without effect in one line, grouped by reason.
    pub(super) fn ignored(&self) -> Option<String> {
        let flags_of = |why: &str| {
            let same = self.given.iter().filter(|(ignored, _)| ignored.why == why);
            same.map(|(ignored, _)| format!("--{}", ignored.flag)).collect::<Vec<_>>().join(", ")
        };
        let reasons = reasons(self.given.iter().map(|(ignored, _)| *ignored));
        let parts: Vec<String> = reasons.into_iter().map(|why| format!("{} ({why})", flags_of(why))).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Warnings about given flags whose effect is missed.
    pub(super) fn warnings(&self) -> Vec<String> {
        let lost = |(ignored, text): &&(&Ignored, String)| match ignored.warn_if {
            WarnIf::Never => false,
            WarnIf::Enabled => kedge_scalers::metadata::convert::boolean(text) != Ok(false),
            WarnIf::Disabled => kedge_scalers::metadata::convert::boolean(text) != Ok(true),
            WarnIf::Set => !text.is_empty(),
        };
        let warning = |(ignored, text): &(&Ignored, String)| format!("--{}={text}: {}", ignored.flag, ignored.why);
        self.given.iter().filter(lost).map(warning).collect()
    }
}

/// The distinct reasons of some flags.
pub(crate) fn reasons<'a>(flags: impl Iterator<Item = &'a Ignored>) -> Vec<&'static str> {
    let mut reasons: Vec<&str> = Vec::new();
    for ignored in flags {
        if !reasons.contains(&ignored.why) {
            reasons.push(ignored.why);
        }
    }
    reasons
}

fn argument(ignored: &Ignored) -> Arg {
    let argument = Arg::new(ignored.flag).long(ignored.flag).action(ArgAction::Set).hide(true).help(ignored.why);
    match ignored.takes {
        _ if *ignored == VERBOSITY => {
            argument.short('v').num_args(0..=1).default_missing_value("1").allow_negative_numbers(true)
        }
        Takes::Value => argument.num_args(1).allow_hyphen_values(true),
        Takes::Switch => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
    }
}

fn program() -> Arg {
    let parse = |text: &str| match text.rsplit('/').next() {
        Some("keda-adapter" | "keda") => Ok(text.to_owned()),
        _ => Err("flags begin with `--`, and a switch takes its value after `=`, as in --leader-elect=false"),
    };
    Arg::new(PROGRAM).hide(true).value_parser(parse)
}

impl clap::Args for Compatible {
    fn augment_args(command: Command) -> Command {
        command.args(IGNORED.iter().map(argument)).arg(program())
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Compatible {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |ignored: &&Ignored| matches.value_source(ignored.flag) == Some(ValueSource::CommandLine);
        let text = |flag| matches.get_one::<String>(flag).cloned().unwrap_or_default();
        Ok(Self { given: IGNORED.iter().filter(given).map(|ignored| (ignored, text(ignored.flag))).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
