//! The flags that have a meaning here. Each keeps its text: what the text means, and whether it means anything, is settled
//! for all flags and variables together. As in Go, a flag may be repeated and the last one counts.

use std::path::PathBuf;

use super::compatible::Compatible;

const AFTER_HELP: &str = "\
A flag that KEDA's operator or metrics adapter has and that is not listed is accepted too, and has no effect.
All flags and environment variables: docs/reference/operator.md

Examples:
  kedge operator --kubeconfig=$HOME/.kube/config --cert-dir=certs --log-level=debug
  kedge operator --leader-elect --enable-cert-rotation --metrics-bind-address=:8080 --zap-encoder=json
  kedge operator --enable-prometheus-metrics=false --bind-address=:: --secure-port=6443";

/// The flags of Kedge's own; all others are KEDA's.
pub(crate) const OWN: [&str; 4] = ["metrics-api-bind-address", "webhooks-bind-address", "log-level", "log-format"];

#[derive(Clone, Debug, clap::Args)]
#[command(args_override_self = true, after_help = AFTER_HELP)]
pub(crate) struct Flags {
    /// The kubeconfig to use; without it, $KUBECONFIG or ~/.kube/config, or the pod's own service account
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Whether the API server is asked not to compress its answers; none are compressed so far, either way
    #[arg(long, value_name = "BOOL", help_heading = "Cluster")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) disable_compression: String,

    /// Whether one of several replicas is chosen to work
    #[arg(long, value_name = "BOOL", help_heading = "Cluster")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) leader_elect: String,

    /// The name of the Lease by which it is chosen
    #[arg(long, value_name = "NAME", default_value = "operator.keda.sh", help_heading = "Cluster")]
    pub(super) leader_election_id: String,

    /// Where external.metrics.k8s.io is served, over TLS; else --bind-address and --secure-port say it
    #[arg(long, value_name = "ADDRESS", help_heading = "Serving")]
    pub(super) metrics_api_bind_address: Option<String>,

    /// The IP address at which external.metrics.k8s.io is served
    #[arg(long, value_name = "IP", default_value = "0.0.0.0", help_heading = "Serving")]
    pub(super) bind_address: String,

    /// The port at which external.metrics.k8s.io is served
    #[arg(long, value_name = "PORT", default_value = "6443", help_heading = "Serving")]
    pub(super) secure_port: String,

    /// Where the admission webhooks are served, over TLS; without it, nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true, help_heading = "Serving")]
    pub(super) webhooks_bind_address: String,

    /// Where /healthz and /readyz are served; `0` is nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081", help_heading = "Serving")]
    pub(super) health_probe_bind_address: String,

    /// Where the operator's own metrics are served for Prometheus, at /metrics; `0` is nowhere
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", help_heading = "Serving")]
    pub(super) metrics_bind_address: String,

    /// Whether they are served
    #[arg(long, value_name = "BOOL", help_heading = "Serving")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) enable_prometheus_metrics: String,

    #[command(flatten)]
    pub(super) certificates: Certificates,

    /// A folder of authorities that scalers trust beside those of the machine; may be given several times
    #[arg(long, value_name = "DIR", default_value = "/custom/ca", help_heading = "Scalers")]
    pub(super) ca_dir: Vec<PathBuf>,

    /// The folder below which a ClusterTriggerAuthentication may name files; without it, none
    #[arg(long, value_name = "DIR", default_value = "", hide_default_value = true, help_heading = "Scalers")]
    pub(super) filepath_auth_root_path: String,

    /// How many unused connections are kept in all; 0 is no limit
    #[arg(long, value_name = "COUNT", default_value = "0", allow_negative_numbers = true, help_heading = "Scalers")]
    pub(super) http_max_idle_conns: String,

    /// How many unused connections to one host are kept
    #[arg(long, value_name = "COUNT", default_value = "1000", allow_negative_numbers = true, help_heading = "Scalers")]
    pub(super) http_max_idle_conns_per_host: String,

    /// How long an unused connection is kept
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "90s",
        allow_negative_numbers = true,
        help_heading = "Scalers"
    )]
    pub(super) http_idle_conn_timeout: String,

    #[command(flatten)]
    pub(super) logging: Logging,

    #[command(flatten)]
    pub(super) compatible: Compatible,
}

/// What is served with: the same for everything that serves the cluster.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Certificates {
    /// The folder of tls.crt and tls.key to serve with; they may be replaced at any time
    #[arg(long, value_name = "DIR", default_value = "/certs", help_heading = "Certificates")]
    pub(super) cert_dir: PathBuf,

    /// The certificate instead of the one in --cert-dir, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificates")]
    pub(super) tls_cert_file: Option<PathBuf>,

    /// The key instead of the one in --cert-dir, PEM
    #[arg(long, value_name = "FILE", help_heading = "Certificates")]
    pub(super) tls_private_key_file: Option<PathBuf>,

    /// Whether certificates are made, kept in a Secret and renewed, and trusted by the API server, instead of read from files
    #[arg(long, value_name = "BOOL", help_heading = "Certificates")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) enable_cert_rotation: String,

    /// The Secret they are kept in, in the namespace of the pod
    #[arg(long, value_name = "NAME", default_value = "kedaorg-certs", help_heading = "Certificates")]
    pub(super) cert_secret_name: String,

    /// The operator's Service, which they name
    #[arg(long, value_name = "NAME", default_value = "keda-operator", help_heading = "Certificates")]
    pub(super) operator_service_name: String,

    /// The Service of external.metrics.k8s.io, which they name
    #[arg(long, value_name = "NAME", default_value = "keda-metrics-apiserver", help_heading = "Certificates")]
    pub(super) metrics_server_service_name: String,

    /// The Service of the webhooks, which they name
    #[arg(long, value_name = "NAME", default_value = "keda-admission-webhooks", help_heading = "Certificates")]
    pub(super) webhooks_service_name: String,

    /// The ValidatingWebhookConfiguration that is to trust them
    #[arg(long, value_name = "NAME", default_value = "keda-admission", help_heading = "Certificates")]
    pub(super) validating_webhook_name: String,

    /// Whether their authority is put into it
    #[arg(long, value_name = "BOOL", help_heading = "Certificates")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) enable_webhook_patching: String,

    /// Whether their authority is put into the APIService of external.metrics.k8s.io
    #[arg(long, value_name = "BOOL", help_heading = "Certificates")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) enable_apiservice_patching: String,

    /// For tests: how long a leaf certificate lasts
    #[arg(long, value_name = "DURATION", hide = true)]
    pub(super) cert_lifetime: Option<String>,

    /// For tests: how long a certificate authority lasts
    #[arg(long, value_name = "DURATION", hide = true)]
    pub(super) cert_authority_lifetime: Option<String>,

    /// The DNS domain of the cluster's services, for the names in certificates
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local", help_heading = "Certificates")]
    pub(super) k8s_cluster_domain: String,
}

/// How to log: the same for every long-running command.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Logging {
    /// How much to log: error, warn, info, debug or trace; else --zap-log-level says it, else info
    #[arg(long, value_name = "LEVEL", help_heading = "Logging")]
    pub(super) log_level: Option<String>,

    /// How to log: text or json; else --zap-encoder says it, else text
    #[arg(long, value_name = "FORMAT", help_heading = "Logging")]
    pub(super) log_format: Option<String>,

    /// How much to log, in zap's words: error, info, debug, or a number: 0 is info, 1 debug, more is all
    #[arg(long, value_name = "LEVEL", help_heading = "Logging")]
    pub(super) zap_log_level: Option<String>,

    /// How to log, in zap's words: console or json
    #[arg(long, value_name = "ENCODER", help_heading = "Logging")]
    pub(super) zap_encoder: Option<String>,

    /// How times are written: epoch, millis, nano, iso8601, rfc3339 or rfc3339nano; else RFC 3339 with microseconds
    #[arg(long, value_name = "ENCODING", help_heading = "Logging")]
    pub(super) zap_time_encoding: Option<String>,

    /// Whether to log as for a developer: debug and text, where nothing else is said
    #[arg(long, value_name = "BOOL", help_heading = "Logging")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) zap_devel: String,
}
