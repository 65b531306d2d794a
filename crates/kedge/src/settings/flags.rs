//! The flags that have an effect. Each holds its text: `resolve` converts and validates all flags and variables together. As in Go,
//! the last of repeated flags counts.

use std::path::PathBuf;

use kedge_operator::credentials::VAULT_TOKEN_FILE;

use super::compatible::Compatible;

const AFTER_HELP: &str = "\
Other flags of KEDA's operator and metrics adapter are accepted without effect.
All flags and environment variables: docs/reference/operator.md

Examples:
  kedge operator --kubeconfig=$HOME/.kube/config --cert-dir=certs --log-level=debug
  kedge operator --leader-elect --enable-cert-rotation --metrics-bind-address=:8080 --zap-encoder=json
  kedge operator --enable-prometheus-metrics=false --bind-address=:: --secure-port=6443";

/// Kedge's own flags; all others are KEDA's.
pub(crate) const OWN: [&str; 5] =
    ["metrics-api-bind-address", "webhooks-bind-address", "dashboard-bind-address", "log-level", "log-format"];

#[derive(Clone, Debug, clap::Args)]
#[command(args_override_self = true, after_help = AFTER_HELP)]
pub(crate) struct Flags {
    /// Use this kubeconfig; by default $KUBECONFIG, ~/.kube/config, or the service account of the pod
    #[arg(long, value_name = "FILE", help_heading = "Cluster")]
    pub(super) kubeconfig: Option<PathBuf>,

    /// Enable leader election: one of several replicas reconciles
    #[arg(long, value_name = "BOOL", help_heading = "Cluster")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) leader_elect: String,

    /// Set the name of the Lease of the leader
    #[arg(long, value_name = "NAME", default_value = "operator.keda.sh", help_heading = "Cluster")]
    pub(super) leader_election_id: String,

    /// Run ScaledJobs, which is not complete yet; needs the rights to create and delete Jobs
    #[arg(long, value_name = "BOOL", help_heading = "Cluster")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) scaled_jobs: String,

    /// Serve external.metrics.k8s.io at this address, over TLS; takes precedence over --bind-address and --secure-port
    #[arg(long, value_name = "ADDRESS", help_heading = "Serving")]
    pub(super) metrics_api_bind_address: Option<String>,

    /// Serve external.metrics.k8s.io at this IP address
    #[arg(long, value_name = "IP", default_value = "0.0.0.0", help_heading = "Serving")]
    pub(super) bind_address: String,

    /// Serve external.metrics.k8s.io at this port
    #[arg(long, value_name = "PORT", default_value = "6443", help_heading = "Serving")]
    pub(super) secure_port: String,

    /// Serve the admission webhooks at this address, over TLS; not served by default
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true, help_heading = "Serving")]
    pub(super) webhooks_bind_address: String,

    /// Serve the dashboard at this address, over TLS, to callers who may get ScaledObjects; not served by default
    #[arg(long, value_name = "ADDRESS", default_value = "", hide_default_value = true, help_heading = "Serving")]
    pub(super) dashboard_bind_address: String,

    /// Serve /healthz and /readyz at this address; `0` disables them
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8081", help_heading = "Serving")]
    pub(super) health_probe_bind_address: String,

    /// Serve the operator's own metrics for Prometheus at this address, under /metrics; `0` disables them
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080", help_heading = "Serving")]
    pub(super) metrics_bind_address: String,

    /// Serve the operator's own metrics for Prometheus
    #[arg(long, value_name = "BOOL", help_heading = "Serving")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) enable_prometheus_metrics: String,

    #[command(flatten)]
    pub(super) certificates: Certificates,

    /// Trust the CA certificates in this folder for scalers, in addition to those of the system; may be repeated
    #[arg(long, value_name = "DIR", default_value = "/custom/ca", help_heading = "Scalers")]
    pub(super) ca_dir: Vec<PathBuf>,

    /// Allow ClusterTriggerAuthentications to read files below this folder; none by default
    #[arg(long, value_name = "DIR", default_value = "", hide_default_value = true, help_heading = "Scalers")]
    pub(super) filepath_auth_root_path: String,

    /// Restrict the tokens of service accounts: `enforce-audience` requests and sends only those with an audience of
    /// KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES; `legacy` does not restrict them
    #[arg(long, value_name = "MODE", default_value = "enforce-audience", help_heading = "Scalers")]
    pub(super) service_account_token_mode: String,

    /// Sign in to HashiCorp Vault with the token in this file, where a TriggerAuthentication has no `credential`
    #[arg(long, value_name = "FILE", default_value = VAULT_TOKEN_FILE, help_heading = "Scalers")]
    pub(super) vault_kubernetes_auth_token_file: PathBuf,

    /// Keep at most this many idle connections; 0 means no limit
    #[arg(long, value_name = "COUNT", default_value = "0", allow_negative_numbers = true, help_heading = "Scalers")]
    pub(super) http_max_idle_conns: String,

    /// Keep at most this many idle connections per host
    #[arg(long, value_name = "COUNT", default_value = "1000", allow_negative_numbers = true, help_heading = "Scalers")]
    pub(super) http_max_idle_conns_per_host: String,

    /// Close idle connections after this time
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

impl Flags {
    /// The flags of a command line that has none.
    pub(super) fn none_given() -> Self {
        let matches = <Self as clap::Args>::augment_args(clap::Command::new("operator")).get_matches_from(["operator"]);
        <Self as clap::FromArgMatches>::from_arg_matches(&matches).expect("every required flag has a default")
    }
}

/// The flags of the serving certificate.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Certificates {
    /// Serve with tls.crt and tls.key of this folder; both are reloaded when they change
    #[arg(long, value_name = "DIR", default_value = "/certs", help_heading = "Certificates")]
    pub(super) cert_dir: PathBuf,

    /// Serve with this PEM certificate instead of the one in --cert-dir
    #[arg(long, value_name = "FILE", help_heading = "Certificates")]
    pub(super) tls_cert_file: Option<PathBuf>,

    /// Serve with this PEM key instead of the one in --cert-dir
    #[arg(long, value_name = "FILE", help_heading = "Certificates")]
    pub(super) tls_private_key_file: Option<PathBuf>,

    /// Generate and rotate the certificates, stored in a Secret, and inject their CA bundle, instead of reading them from files
    #[arg(long, value_name = "BOOL", help_heading = "Certificates")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) enable_cert_rotation: String,

    /// Store generated certificates in this Secret, in the namespace of the pod
    #[arg(long, value_name = "NAME", default_value = "kedaorg-certs", help_heading = "Certificates")]
    pub(super) cert_secret_name: String,

    /// Issue generated certificates for this Service of the operator
    #[arg(long, value_name = "NAME", default_value = "keda-operator", help_heading = "Certificates")]
    pub(super) operator_service_name: String,

    /// Issue generated certificates for this Service of external.metrics.k8s.io
    #[arg(long, value_name = "NAME", default_value = "keda-metrics-apiserver", help_heading = "Certificates")]
    pub(super) metrics_server_service_name: String,

    /// Issue generated certificates for this Service of the webhooks
    #[arg(long, value_name = "NAME", default_value = "keda-admission-webhooks", help_heading = "Certificates")]
    pub(super) webhooks_service_name: String,

    /// Inject the CA bundle into this ValidatingWebhookConfiguration
    #[arg(long, value_name = "NAME", default_value = "keda-admission", help_heading = "Certificates")]
    pub(super) validating_webhook_name: String,

    /// Inject the CA bundle into the ValidatingWebhookConfiguration
    #[arg(long, value_name = "BOOL", help_heading = "Certificates")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) enable_webhook_patching: String,

    /// Inject the CA bundle into the APIService of external.metrics.k8s.io
    #[arg(long, value_name = "BOOL", help_heading = "Certificates")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "true", default_missing_value = "true")]
    pub(super) enable_apiservice_patching: String,

    /// For tests: set the lifetime of a leaf certificate
    #[arg(long, value_name = "DURATION", hide = true)]
    pub(super) cert_lifetime: Option<String>,

    /// For tests: set the lifetime of a CA
    #[arg(long, value_name = "DURATION", hide = true)]
    pub(super) cert_authority_lifetime: Option<String>,

    /// Set the DNS domain of the cluster's Services, for the names in certificates
    #[arg(long, value_name = "DOMAIN", default_value = "cluster.local", help_heading = "Certificates")]
    pub(super) k8s_cluster_domain: String,
}

/// The flags of logging.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Logging {
    /// Set the log level: error, warn, info, debug or trace; defaults to --zap-log-level, then info
    #[arg(long, value_name = "LEVEL", help_heading = "Logging")]
    pub(super) log_level: Option<String>,

    /// Set the log format: text or json; defaults to --zap-encoder, then text
    #[arg(long, value_name = "FORMAT", help_heading = "Logging")]
    pub(super) log_format: Option<String>,

    /// Set the log level as zap does: error, info, debug, or a number: 0 is info, 1 debug, more is all
    #[arg(long, value_name = "LEVEL", help_heading = "Logging")]
    pub(super) zap_log_level: Option<String>,

    /// Set the log format as zap does: console or json
    #[arg(long, value_name = "ENCODER", help_heading = "Logging")]
    pub(super) zap_encoder: Option<String>,

    /// Set the time format of logs: epoch, millis, nano, iso8601, rfc3339 or rfc3339nano; defaults to RFC 3339 with microseconds
    #[arg(long, value_name = "ENCODING", help_heading = "Logging")]
    pub(super) zap_time_encoding: Option<String>,

    /// Default to the debug level and the text format
    #[arg(long, value_name = "BOOL", help_heading = "Logging")]
    #[arg(num_args(0..=1), require_equals(true), default_value = "false", default_missing_value = "true")]
    pub(super) zap_devel: String,
}
