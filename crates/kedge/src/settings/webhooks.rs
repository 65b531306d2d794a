//! The flags and settings of `kedge webhooks`: the flags of KEDA's webhooks, with KEDA's meaning.

use std::path::PathBuf;

use super::addresses::{self, Address, Host};
use super::certificates::{self, Source};
use super::environment::Environment;
use super::logging::{self, Logging};
use super::reader::SettingsReader;
use super::tls::{self, Tls};
use super::{amounts, flags};

const AFTER_HELP: &str = "\
Examples:
  kedge webhooks --enable-cert-rotation --zap-log-level=info
  kedge webhooks --kubeconfig=$HOME/.kube/config --cert-dir=certs --port=9443 --health-probe-bind-address=0";

#[derive(Clone, Debug, clap::Args)]
#[command(args_override_self = true, after_help = AFTER_HELP)]
pub(crate) struct Flags {
    /// Use this kubeconfig; by default $KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<PathBuf>,

    /// Serve the webhooks at this port, over TLS
    #[arg(long, value_name = "PORT", default_value = "9443", help_heading = "Serving")]
    port: String,

    /// Serve /healthz and /readyz at this address; `0` disables them
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", help_heading = "Serving")]
    health_probe_bind_address: String,

    /// Serve the webhooks' own metrics for Prometheus at this address, under /metrics; `0` disables them
    #[arg(long, value_name = "ADDRESS", default_value = ":8080", help_heading = "Serving")]
    metrics_bind_address: String,

    /// Accepted for KEDA's manifests: an unknown target is always fetched before it counts as missing
    #[arg(long, value_name = "BOOL", help_heading = "Cluster")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    cache_miss_to_direct_client: String,

    #[command(flatten)]
    certificates: flags::Certificates,

    #[command(flatten)]
    logging: flags::Logging,

    /// Accepted for KEDA's manifests, without effect
    #[arg(long, hide = true, num_args(1))]
    kube_api_qps: Option<String>,

    /// Accepted for KEDA's manifests, without effect
    #[arg(long, hide = true, num_args(1))]
    kube_api_burst: Option<String>,

    /// Accepted for KEDA's manifests, without effect
    #[arg(long, hide = true, num_args(1))]
    profiling_bind_address: Option<String>,

    /// Accepted for KEDA's manifests, without effect
    #[arg(long, hide = true, num_args(1))]
    zap_stacktrace_level: Option<String>,
}

/// All settings of the webhooks.
#[derive(Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The watched namespaces; empty means all.
    pub(crate) namespaces: Vec<String>,
    pub(crate) address: Address,
    pub(crate) tls: Tls,
    pub(crate) certificate: Source,
    pub(crate) health: Option<Address>,
    pub(crate) metrics: Option<Address>,
    pub(crate) logging: Logging,
    /// Warnings about the settings.
    pub(crate) warnings: Vec<String>,
}

/// The settings, or all errors.
pub(crate) fn resolve(flags: &Flags, environment: &Environment) -> Result<Settings, Vec<String>> {
    let mut read = SettingsReader::new(environment);
    let cache = &flags.cache_miss_to_direct_client;
    read.flag("--cache-miss-to-direct-client", cache, kedge_scalers::metadata::convert::boolean);
    let health = &flags.health_probe_bind_address;
    let scalers = tls::for_scalers(&mut read);
    let tls = tls::for_services(&mut read, &scalers);
    let settings = Settings {
        kubeconfig: flags.kubeconfig.clone(),
        namespaces: read.namespaces(),
        tls,
        address: Address { host: Host::Every, port: read.flag("--port", &flags.port, amounts::port).unwrap_or(0) },
        certificate: certificates::resolve(&flags.certificates, &mut read).followed(),
        health: read.flag("--health-probe-bind-address", health, addresses::parse_or_disabled).flatten(),
        metrics: read
            .flag("--metrics-bind-address", &flags.metrics_bind_address, addresses::parse_or_disabled)
            .flatten(),
        logging: logging::resolve(&flags.logging, &mut read),
        warnings: Vec::new(),
    };
    read.finish().map(|warnings| Settings { warnings, ..settings })
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn resolved(arguments: &[&str]) -> Result<Settings, Vec<String>> {
        let command = Flags::augment_args(Command::new("webhooks"));
        let matches = command.try_get_matches_from([&["webhooks"], arguments].concat()).unwrap();
        resolve(&Flags::from_arg_matches(&matches).unwrap(), &Environment::default())
    }

    #[test]
    fn kedas_manifests_start_the_webhooks() {
        let manifest = ["--zap-log-level=info", "--zap-encoder=console", "--zap-time-encoding=rfc3339"];
        let chart = [
            "--cert-dir=/certs",
            "--health-probe-bind-address=:8081",
            "--metrics-bind-address=:8080",
            "--cache-miss-to-direct-client=false",
            "--port=9443",
            "--kube-api-qps=20",
            "--kube-api-burst=30",
            "--profiling-bind-address=",
        ];
        for arguments in [manifest.to_vec(), [&manifest[..], &chart].concat()] {
            let settings = resolved(&arguments).unwrap();
            assert_eq!(settings.address.to_string(), ":9443");
            let Source::Files(files) = settings.certificate else { panic!("nothing is rotated") };
            assert_eq!(files.chain, PathBuf::from("/certs/tls.crt"));
            let served = [settings.health, settings.metrics].map(|address| address.unwrap().to_string());
            assert_eq!(served, [":8081", ":8080"]);
        }
    }

    #[test]
    fn all_invalid_values_are_reported_at_once() {
        let errors = resolved(&["--port=http", "--metrics-bind-address=8080", "--zap-log-level=loud"]).unwrap_err();
        assert_eq!(errors.len(), 3, "{errors:?}");
    }
}
