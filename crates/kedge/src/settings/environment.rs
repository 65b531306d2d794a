//! The environment variables: read once, and described for the reference.

use std::collections::BTreeMap;
use std::fs;

use kedge_scalers::CloudEnvironment;

/// The namespace of a pod without `POD_NAMESPACE`.
// KEDA: its default.
pub(super) const NAMESPACE_DEFAULT: &str = "keda";

/// The file in a pod that holds its namespace.
const NAMESPACE_FILE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

/// The environment of the process.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// The namespace of this pod's service account.
    pub(super) pod_namespace: Option<String>,
}

impl Environment {
    /// Reads the environment. Called once, at start.
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

    /// The variables that hold the cloud identity of this process.
    pub(super) fn cloud_environment(&self) -> CloudEnvironment {
        let named = self.variables.iter().filter(|(name, _)| CloudEnvironment::NAMES.contains(&name.as_str()));
        CloudEnvironment { variables: named.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    #[cfg(test)]
    pub(super) fn from_variables(variables: &[(&str, &str)]) -> Self {
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { variables, pod_namespace: None }
    }
}

/// The description of a variable.
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
    variable("WATCH_NAMESPACE", "all", "Restricts the operator to these namespaces, separated by commas. Empty, or two quotes `\"\"`, means all"),
    variable("WATCH_LABEL_SELECTOR", "all", "Restricts the operator to the ScaledObjects that match this label selector"),
    variable("WATCH_LABEL_SELECTOR_FOR_TRIGGERAUTH", "all", "Restricts the operator to the TriggerAuthentications and ClusterTriggerAuthentications that match this label selector"),
    variable("POD_NAME", "`HOSTNAME`, else `kedge`", "Names this replica in events and in the Lease"),
    variable("POD_NAMESPACE", "`keda`", "Names the namespace of this pod, of its Lease, and of the Secret of its certificates"),
    variable("KEDA_CLUSTER_OBJECT_NAMESPACE", "`POD_NAMESPACE`, else that of the service account, else `keda`", "Names the namespace of the Secrets of ClusterTriggerAuthentications"),
    variable("VAULT_TOKEN", "", "Sets the token for HashiCorp Vault, which takes precedence over that of a TriggerAuthentication"),
    variable("VAULT_NAMESPACE", "", "Sets the namespace of HashiCorp Vault for TriggerAuthentications that name none"),
    variable("VAULT_CACERT", "", "Names the file with the CAs of HashiCorp Vault, which replace those of the machine"),
    variable("VAULT_CACERT_BYTES", "", "Holds the CAs of HashiCorp Vault as PEM text, where `VAULT_CACERT` is not set"),
    variable("VAULT_CAPATH", "", "Names a folder with the CAs of HashiCorp Vault, where neither of the two is set"),
    variable("VAULT_CLIENT_CERT", "", "Names the file with the client certificate for HashiCorp Vault. Needs `VAULT_CLIENT_KEY`"),
    variable("VAULT_CLIENT_KEY", "", "Names the file with the key of `VAULT_CLIENT_CERT`"),
    variable("VAULT_SKIP_VERIFY", "`false`", "`true` trusts every certificate of HashiCorp Vault"),
    variable("VAULT_CLIENT_TIMEOUT", "`KEDA_HTTP_DEFAULT_TIMEOUT`", "Limits a request to HashiCorp Vault, in seconds or as in `1m`. 60 seconds in KEDA"),
    variable("VAULT_HEADERS", "", "Adds headers to the requests to HashiCorp Vault, as a JSON object"),
    variable("KEDA_HTTP_DEFAULT_TIMEOUT", "`3000`", "Limits a request of a scaler to this many milliseconds, where its trigger sets no timeout. 0 or less counts as 300"),
    variable("KEDA_HTTP_DISABLE_KEEP_ALIVE", "`false`", "Makes scalers open a new connection for each request"),
    variable("KEDA_HTTP_MIN_TLS_VERSION", "`TLS12`", "Sets the minimum TLS version of scalers: `TLS12` or `TLS13`. Another value logs a warning and counts as the default"),
    variable("KEDA_HTTP_TLS_CIPHER_LIST", "all there are", "Lists the cipher suites of scalers by Go's names, separated by `:` or `,`. Unknown names are ignored with a warning"),
    variable("KEDA_SERVICE_MIN_TLS_VERSION", "as scalers; `TLS13` if set and empty", "Sets the minimum TLS version of servers, except the metrics API"),
    variable("KEDA_SERVICE_TLS_CIPHER_LIST", "as scalers", "Lists the cipher suites of servers, except the metrics API"),
    variable("HTTP_PROXY", "", "Sets the proxy of scalers for `http://`. Lower case works too"),
    variable("HTTPS_PROXY", "", "Sets the proxy of scalers for `https://`. Lower case works too"),
    variable("NO_PROXY", "", "Lists the hosts that scalers connect to directly, separated by commas. Lower case works too"),
    variable("AWS_*, AZURE_*, GOOGLE_APPLICATION_CREDENTIALS, GCE_METADATA_HOST", "", "Set the cloud identity of this process, for triggers that authenticate with a pod identity"),
    variable("KEDA_SCALEDOBJECT_CTRL_MAX_RECONCILES", "`32`", "Limits the concurrent reconciles of ScaledObjects. 5 in KEDA; a reconcile also polls here"),
    variable("KEDA_OPERATOR_LEADER_ELECTION_LEASE_DURATION", "`15s`", "Sets how long a leader that does not renew its Lease stays the leader. Above the renew deadline"),
    variable("KEDA_OPERATOR_LEADER_ELECTION_RENEW_DEADLINE", "`10s`", "Sets how long the leader tries to renew its Lease before it gives up. Above the retry period"),
    variable("KEDA_OPERATOR_LEADER_ELECTION_RETRY_PERIOD", "`2s`", "Sets the time between two attempts to acquire or renew the Lease"),
    variable("KEDA_RESTRICT_SECRET_ACCESS", "`false`", "`true` restricts the operator to the Secrets in the namespace of cluster objects"),
    variable("KEDA_BOUND_SERVICE_ACCOUNT_TOKEN_EXPIRY", "`1h`", "Sets the lifetime of requested service account tokens: `1h` to `6h`"),
    variable("KEDA_SERVICE_ACCOUNT_TOKEN_AUDIENCES", "none", "Lists the audiences of service account tokens, as YAML or JSON: `[{audience, namespace, serviceAccountName}]`. With an account, tokens of that account are requested for this audience; every audience is approved for token files"),
    variable("KEDA_OUTBOUND_FILTER", "off", "Restricts the HashiCorp Vault servers that the operator signs in to, as YAML or JSON: `{hashiCorpVault: {mode, allowedEndpoints}}`. The mode is `off`, `warn` or `enforce`"),
    variable("KEDGE_OUTBOUND_POLICY", "denies the metadata addresses of machines", "Restricts the hosts and networks that the operator connects to for triggers, and who may use its identities, as YAML or JSON: see [outbound policy](../outbound-policy.md)"),
    variable("KEDA_CHECK_UNEXPECTED_SCALERS_PARAMS", "", "`enabled` reports the unexpected parameters of a trigger in an event"),
];

/// KEDA's variables that have no effect here, and why.
#[rustfmt::skip]
pub(crate) const IGNORED_VARIABLES: &[(&str, &str)] = &[
    ("KEDA_SCALEDJOB_CTRL_MAX_RECONCILES", "ScaledJobs are not run yet"),
    ("OPERATOR_NAME", "it has no effect in KEDA either"),
    ("RAW_METRICS_GRPC_PROTOCOL, RAW_METRICS_MODE", "operator and metrics API are one process, with no gRPC between them"),
    ("VAULT_MAX_RETRIES, VAULT_RATE_LIMIT", "a failed request to Vault is repeated after ten seconds, and triggers keep the credentials that they have"),
    ("VAULT_HTTP_PROXY, VAULT_PROXY_ADDR", "Vault is reached through the proxy of scalers; set HTTP_PROXY, HTTPS_PROXY and NO_PROXY"),
    ("VAULT_TLS_SERVER_NAME, VAULT_SRV_LOOKUP, VAULT_DISABLE_REDIRECTS, VAULT_WRAP_TTL", "the address of the TriggerAuthentication is used as it is"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL", "metrics are not pushed by OpenTelemetry; scrape --metrics-bind-address"),
];
