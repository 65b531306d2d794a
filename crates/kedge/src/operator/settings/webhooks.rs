//! What `kedge webhooks` is told: the flags of KEDA's webhooks, with the meaning they have there.

use std::path::PathBuf;

use super::addresses::{self, Address, Host};
use super::certificates::{self, Source};
use super::reader::Reader;
use super::settle::namespaces;
use super::tls::{self, Tls};
use super::{Environment, Logging, amounts, flags, logging};

const AFTER_HELP: &str = "\
Examples:
  kedge webhooks --enable-cert-rotation --zap-log-level=info
  kedge webhooks --kubeconfig=$HOME/.kube/config --cert-dir=certs --port=9443 --health-probe-bind-address=0";

#[derive(Clone, Debug, clap::Args)]
#[command(args_override_self = true, after_help = AFTER_HELP)]
pub(crate) struct Flags {
    /// The kubeconfig to use; without it, $KUBECONFIG or ~/.kube/config, or the pod's own service account
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    kubeconfig: Option<PathBuf>,

    /// The port at which the webhooks are served, over TLS
    #[arg(long, value_name = "PORT", default_value = "9443", help_heading = "Serving")]
    port: String,

    /// Where /healthz and /readyz are served; `0` is nowhere
    #[arg(long, value_name = "ADDRESS", default_value = ":8081", help_heading = "Serving")]
    health_probe_bind_address: String,

    /// Where the webhooks' own metrics are served for Prometheus, at /metrics; `0` is nowhere
    #[arg(long, value_name = "ADDRESS", default_value = ":8080", help_heading = "Serving")]
    metrics_bind_address: String,

    /// Accepted for KEDA's manifests: a target that is not known is always looked up before it is called missing
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

/// Everything that is settled when the webhooks start.
#[derive(Debug, PartialEq)]
pub(in crate::operator) struct Settings {
    pub(in crate::operator) kubeconfig: Option<PathBuf>,
    /// The namespaces that are looked after; none is all.
    pub(in crate::operator) namespaces: Vec<String>,
    pub(in crate::operator) address: Address,
    pub(in crate::operator) tls: Tls,
    pub(in crate::operator) certificate: Source,
    pub(in crate::operator) health: Option<Address>,
    pub(in crate::operator) metrics: Option<Address>,
    pub(in crate::operator) logging: Logging,
    /// What is to be logged about all this.
    pub(in crate::operator) warnings: Vec<String>,
}

/// The settings, or all that is wrong.
pub(in crate::operator) fn settle(flags: &Flags, environment: &Environment) -> Result<Settings, Vec<String>> {
    let mut read = Reader::new(environment);
    let cache = &flags.cache_miss_to_direct_client;
    read.flag("--cache-miss-to-direct-client", cache, kedge_scalers::metadata::convert::boolean);
    let health = &flags.health_probe_bind_address;
    let scalers = tls::of_scalers(&mut read);
    let tls = tls::of_services(&mut read, &scalers);
    let settings = Settings {
        kubeconfig: flags.kubeconfig.clone(),
        namespaces: namespaces(&mut read),
        tls,
        address: Address { host: Host::Every, port: read.flag("--port", &flags.port, amounts::port).unwrap_or(0) },
        certificate: certificates::settle(&flags.certificates, &mut read).followed(),
        health: read.flag("--health-probe-bind-address", health, addresses::parse_or_nowhere).flatten(),
        metrics: read
            .flag("--metrics-bind-address", &flags.metrics_bind_address, addresses::parse_or_nowhere)
            .flatten(),
        logging: logging::settle(&flags.logging, &mut read),
        warnings: Vec::new(),
    };
    read.finish().map(|warnings| Settings { warnings, ..settings })
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, FromArgMatches as _};

    use super::*;

    fn settled(arguments: &[&str]) -> Result<Settings, Vec<String>> {
        let command = Flags::augment_args(Command::new("webhooks"));
        let matches = command.try_get_matches_from([&["webhooks"], arguments].concat()).unwrap();
        settle(&Flags::from_arg_matches(&matches).unwrap(), &Environment::default())
    }

    #[test]
    fn kedas_manifests_start_it() {
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
            let settings = settled(&arguments).unwrap();
            assert_eq!(settings.address.to_string(), ":9443");
            let Source::Files(files) = settings.certificate else { panic!("nothing is rotated") };
            assert_eq!(files.chain, PathBuf::from("/certs/tls.crt"));
            let served = [settings.health, settings.metrics].map(|address| address.unwrap().to_string());
            assert_eq!(served, [":8081", ":8080"]);
        }
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let mistakes = settled(&["--port=http", "--metrics-bind-address=8080", "--zap-log-level=loud"]).unwrap_err();
        assert_eq!(mistakes.len(), 3, "{mistakes:?}");
    }
}
