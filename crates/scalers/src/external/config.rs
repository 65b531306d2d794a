//! The parameters of an `external` or `external-push` trigger, parsed.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use kedge_proto::externalscaler::ScaledObjectRef;

use crate::field::{Field, FieldGroup};
use crate::grpc::{Channel, Peer, Security, parse_address};
use crate::http::{TlsProfile, Verification};
use crate::metadata::{Reader, convert};
use crate::shared::Shared;
use crate::target::TargetType;
use crate::trigger::{BuildError, FieldError, Secret, TriggerConfig};

pub(super) const FIELDS: FieldGroup = FieldGroup {
    title: "Parameters",
    fields: &[SCALER_ADDRESS, SCALER_TIMEOUT, ENABLE_TLS, UNSAFE_SSL, CA_CERT, TLS_CLIENT_CERT, TLS_CLIENT_KEY],
};

pub const SCALER_ADDRESS: Field = Field::required("scalerAddress").help("The address of the gRPC server: `host:port`");
/// Not `timeout`: all metadata is sent to the server, which may have a parameter of that name.
const SCALER_TIMEOUT: Field = Field::optional("scalerTimeout")
    .default_of("the operator's `KEDA_HTTP_DEFAULT_TIMEOUT`")
    .help("The time limit of a call, as in `10s`. Not in KEDA, which sets no limit");
pub const ENABLE_TLS: Field =
    Field::optional("enableTLS").default("false").help("`true`: connects with TLS, also without a CA or a certificate");
pub const UNSAFE_SSL: Field =
    Field::optional("unsafeSsl").default("false").help("`true`: does not verify the server's certificate");
pub const CA_CERT: Field =
    Field::authentication("caCert").help("A CA that is trusted in addition, as PEM; turns TLS on");
pub const TLS_CLIENT_CERT: Field = Field::authentication("tlsClientCert")
    .help("The client certificate, as PEM; turns TLS on, and has an effect only with its key");
pub const TLS_CLIENT_KEY: Field = Field::secret("tlsClientKey").help("The key of the client certificate, as PEM");

/// A checked trigger.
pub(super) struct Config {
    pub(super) channel: Arc<Channel>,
    pub(super) reference: ScaledObjectRef,
    pub(super) target_type: TargetType,
    /// How long a call may take.
    pub(super) limit: Duration,
}

pub(super) fn parse(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<Config, BuildError> {
    let mut read = Reader::new(trigger);
    let address = read.required(SCALER_ADDRESS, parse_address);
    let timeout = read.optional(SCALER_TIMEOUT, convert::duration);
    let security = parse_security(&mut read);
    let channel = address.and_then(|address| {
        read.make(|| shared.grpc.channel(&Peer { address, security }, &shared.http).map_err(rename))
    });
    let target_type = read.take(TargetType::parse(trigger));
    let limit = shared.http.settings().limit(timeout);
    let made =
        (|| Some(Config { channel: channel?, reference: reference(trigger), target_type: target_type?, limit }))();
    read.finish(made)
}

fn parse_security(read: &mut Reader<'_>) -> Security {
    let is_wanted = read.or_default(ENABLE_TLS, convert::boolean);
    let is_unsafe = read.or_default(UNSAFE_SSL, convert::boolean);
    let secret = |field: Field| read.text(field).map(Secret::new);
    let ca = secret(CA_CERT);
    // KEDA: one without the other does not count.
    let identity = secret(TLS_CLIENT_CERT).zip(secret(TLS_CLIENT_KEY));
    if !is_wanted && ca.is_none() && identity.is_none() {
        return Security::Plaintext;
    }
    let verification = if is_unsafe { Verification::Off } else { Verification::Full };
    Security::Tls(TlsProfile { verification, ca, identity })
}

/// The parameters of TLS have names of their own here.
fn rename(problem: FieldError) -> FieldError {
    let field = match problem.field.as_str() {
        "ca" => CA_CERT.name,
        "cert" => TLS_CLIENT_CERT.name,
        "key" => TLS_CLIENT_KEY.name,
        other => other,
    };
    FieldError::new(field, problem.problem.replace("`cert`", "`tlsClientCert`"), problem.remedy)
}

/// What is sent to the server about the trigger.
fn reference(trigger: &TriggerConfig<'_>) -> ScaledObjectRef {
    let metadata: HashMap<String, String> = trigger
        .metadata
        .iter()
        .filter_map(|(key, value)| match key.ends_with("FromEnv") {
            // KEDA: the key stays as it is; without a value it is left out.
            true => {
                let resolved = trigger.environment.get(value).filter(|resolved| !resolved.is_empty())?;
                Some((key.clone(), resolved.to_owned()))
            }
            false => Some((key.clone(), value.clone())),
        })
        .collect();
    ScaledObjectRef {
        name: trigger.object.to_owned(),
        namespace: trigger.namespace.to_owned(),
        scaler_metadata: metadata,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::http::Settings;
    use crate::http::connector::Connector;
    use crate::sample::Sample;

    fn shared() -> Shared {
        Shared::new(Settings::default(), Connector::tcp(), Arc::new(crate::NoCluster))
    }

    fn sample() -> Sample {
        Sample::new("external").with("scalerAddress", "scaler.queues:9090")
    }

    #[test]
    fn a_call_has_the_limit_of_its_trigger_or_of_the_operator() {
        let limit = |sample: &Sample| parse(&sample.trigger(), &shared()).map(|config| config.limit.as_secs());
        assert_eq!(limit(&sample()).unwrap(), 3);
        assert_eq!(limit(&sample().with("scalerTimeout", "20s")).unwrap(), 20);
        assert_eq!(limit(&sample().with("timeout", "never")).unwrap(), 3, "that is the server's own parameter");
        let error = limit(&sample().with("scalerTimeout", "soon")).unwrap_err().to_string();
        assert!(error.contains("`scalerTimeout` \"soon\" is not a duration"), "{error}");
    }

    #[test]
    fn all_metadata_is_sent_with_values_from_the_environment_and_no_credentials() {
        let sample = sample()
            .with("colour", " blue ")
            .with("queueFromEnv", "QUEUE")
            .with("missingFromEnv", "UNSET")
            .with("emptyFromEnv", "EMPTY")
            .auth("token", "hunter2");
        let environment: crate::Environment = [("QUEUE", "orders"), ("EMPTY", "")]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let trigger = TriggerConfig { environment: &environment, ..sample.trigger() };
        let reference = parse(&trigger, &shared()).unwrap().reference;
        assert_eq!((reference.name.as_str(), reference.namespace.as_str()), ("web", "default"));
        let sent: BTreeMap<_, _> = reference.scaler_metadata.into_iter().collect();
        let expected = [("colour", " blue "), ("queueFromEnv", "orders"), ("scalerAddress", "scaler.queues:9090")];
        assert_eq!(sent, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn tls_is_used_when_it_is_enabled_or_has_credentials() {
        let certified = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap();
        let (cert, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
        let pair = |sample: Sample| sample.auth("tlsClientCert", &cert).auth("tlsClientKey", &key);
        let rows = [
            ("nothing", sample(), None),
            ("unsafeSsl alone", sample().with("unsafeSsl", "true"), None),
            ("a certificate without its key", sample().auth("tlsClientCert", &cert), None),
            ("a key without its certificate", sample().auth("tlsClientKey", &key), None),
            ("enableTLS", sample().with("enableTLS", "true"), Some(Verification::Full)),
            ("a CA", sample().auth("caCert", &cert), Some(Verification::Full)),
            ("a pair", pair(sample()), Some(Verification::Full)),
            ("a CA, unsafe", sample().auth("caCert", &cert).with("unsafeSsl", "true"), Some(Verification::Off)),
        ];
        for (name, sample, expected) in rows {
            let trigger = sample.trigger();
            let security = parse_security(&mut Reader::new(&trigger));
            let found = match security {
                Security::Plaintext => None,
                Security::Tls(profile) => Some(profile.verification),
            };
            assert_eq!(found, expected, "{name}");
            parse(&trigger, &shared()).map(|_| ()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }

    #[test]
    fn errors_name_the_parameters_that_are_written() {
        let tls = || sample().with("enableTLS", "true");
        let rows: [(&str, Sample, &[&str]); 7] = [
            ("no address", Sample::new("external"), &["`scalerAddress` is missing; give it in the trigger's metadata"]),
            (
                "no port",
                Sample::new("external-push").with("scalerAddress", "scaler:"),
                &["`scalerAddress` \"scaler:\" has no usable port; write host:port"],
            ),
            ("not a CA", tls().auth("caCert", "hunter2"), &["`caCert` holds no usable certificate"]),
            (
                "not a pair",
                tls().auth("tlsClientCert", "hunter2").auth("tlsClientKey", "hunter2"),
                &["`tlsClientCert` holds no usable certificate"],
            ),
            ("not a boolean", sample().with("enableTLS", "yes"), &["`enableTLS` \"yes\""]),
            ("Utilization", sample().metric_type("Utilization"), &["`metricType`"]),
            (
                "all at once",
                Sample::new("external").with("unsafeSsl", "x").metric_type("x"),
                &["`scalerAddress`", "`unsafeSsl`", "`metricType`"],
            ),
        ];
        for (name, sample, expected) in rows {
            let text = match parse(&sample.trigger(), &shared()) {
                Ok(_) => panic!("{name}: it is accepted"),
                Err(error) => error.to_string(),
            };
            for part in expected {
                assert!(text.contains(part), "{name}: {text}");
            }
            assert!(!text.contains("hunter2"), "{name}: {text}");
        }
    }
}
