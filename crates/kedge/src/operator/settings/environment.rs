//! The environment variables: collected once, and described here for the reference.

use std::collections::BTreeMap;
use std::fs;

use kedge_scalers::Ambient;

/// Where a pod finds the namespace it runs in.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// What surrounds the process.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// The namespace of this pod's service account.
    pub(super) pod_namespace: Option<String>,
}

impl Environment {
    /// Collects it. Called once, at start.
    pub(crate) fn collect() -> Self {
        let text = |text: std::ffi::OsString| text.to_string_lossy().into_owned();
        let pod_namespace = fs::read_to_string(NAMESPACE_FILE).ok().map(|text| text.trim().to_owned());
        Self {
            variables: std::env::vars_os().map(|(name, value)| (text(name), text(value))).collect(),
            pod_namespace: pod_namespace.filter(|name| !name.is_empty()),
        }
    }

    /// A variable, also if it is empty.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        debug_assert!(
            name == "HOSTNAME" || VARIABLES.iter().any(|variable| variable.name.eq_ignore_ascii_case(name)),
            "{name} is not described"
        );
        self.variables.get(name).map(String::as_str)
    }

    /// The variables by which clouds say who this process is.
    pub(super) fn ambient(&self) -> Ambient {
        let named = self.variables.iter().filter(|(name, _)| Ambient::NAMES.contains(&name.as_str()));
        Ambient { variables: named.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    #[cfg(test)]
    pub(super) fn of(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { variables, pod_namespace: None }
    }
}

/// What is said of a variable.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

const fn variable(name: &'static str, default: &'static str, meaning: &'static str) -> Variable {
    Variable { name, default, meaning }
}

#[rustfmt::skip]
pub(crate) const VARIABLES: &[Variable] = &[
    variable("WATCH_NAMESPACE", "all", "The namespaces to look after, with commas between. Empty, or two quotes `\"\"`, is all"),
    variable("WATCH_LABEL_SELECTOR", "all", "A label selector: which ScaledObjects to look after"),
    variable("WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH", "all", "The same for TriggerAuthentications and ClusterTriggerAuthentications"),
    variable("POD_NAME", "`HOSTNAME`, else `kedge`", "The name of this replica, in events and in the Lease"),
    variable("POD_NAMESPACE", "`keda`", "The namespace of this pod, of its Lease, and of the Secret of its certificates"),
    variable("KEDA_CLUSTER_OBJECT_NAMESPACE", "`POD_NAMESPACE`, else that of the service account, else `keda`", "Where the Secrets of ClusterTriggerAuthentications are"),
    variable("VAULT_TOKEN", "", "The token for HashiCorp Vault, which wins over that of a TriggerAuthentication"),
    variable("VAULT_NAMESPACE", "", "The namespace of HashiCorp Vault, where a TriggerAuthentication names none"),
    variable("KEDA_HTTP_DEFAULT_TIMEOUT", "`3000`", "Milliseconds that a request of a scaler may take, where its trigger says nothing. 0 or less counts as 300"),
    variable("KEDA_HTTP_DISABLE_KEEP_ALIVE", "`false`", "Whether scalers make a new connection for each request"),
    variable("KEDA_HTTP_MIN_TLS_VERSION", "`TLS12`", "The oldest TLS that scalers speak: `TLS12` or `TLS13`. With another value, the default, and a warning"),
    variable("KEDA_HTTP_TLS_CIPHER_LIST", "all there are", "The suites that scalers offer, by Go's names, with `:` or `,` between. Unknown ones are left out, with a warning"),
    variable("KEDA_SERVICE_MIN_TLS_VERSION", "as scalers; `TLS13` if set and empty", "The oldest TLS that servers speak, the metrics API aside"),
    variable("KEDA_SERVICE_TLS_CIPHER_LIST", "as scalers", "The suites that they take"),
    variable("HTTP_PROXY", "", "The proxy of scalers for `http://`. Also in lower case"),
    variable("HTTPS_PROXY", "", "The proxy of scalers for `https://`. Also in lower case"),
    variable("NO_PROXY", "", "The hosts that scalers ask directly, with commas between. Also in lower case"),
    variable("AWS_*, AZURE_*, GOOGLE_APPLICATION_CREDENTIALS, GCE_METADATA_HOST", "", "Who this process is to a cloud, for triggers that sign in with a pod identity"),
    variable("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES", "`32`", "How many ScaledObjects are looked at at once. 5 in KEDA; a look also polls here"),
    variable("KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "`15s`", "How long a leader that is not heard of stays the leader. Above the next"),
    variable("KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE", "`10s`", "How long the leader tries to renew before it gives up. Above the next"),
    variable("KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "`2s`", "How long to wait between tries"),
    variable("KEDA_RESTRICT_SECRET_ACCESS", "`false`", "`true`: Secrets are read in the namespace of cluster objects alone"),
    variable("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", "`1h`", "How long a token lasts that is asked for in the name of a service account: `1h` to `6h`"),
    variable("KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS", "", "`enabled`: a parameter that a trigger type does not know is told in an event"),
];

/// KEDA's variables that have no effect here, and why.
#[rustfmt::skip]
pub(crate) const IGNORED_VARIABLES: &[(&str, &str)] = &[
    ("KEDA_SCALEDJOB_CTRL_MAX_RECONCILES", "ScaledJobs are not run yet"),
    ("OPERATOR_NAME", "nor has it one in KEDA"),
    ("RAW_METRICS_GRPC_PROTOCOL, RAW_METRICS_MODE", "operator and metrics API are one process, with no gRPC between them"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL", "metrics are not pushed by OpenTelemetry; scrape --metrics-bind-address"),
];
