//! The source of the serving certificate: files, or a Secret that the replicas maintain.

use kedge_certificates::ca_bundles::EXTERNAL_METRICS;
use kedge_certificates::files::Files;
use kedge_certificates::spec::service_names;
use kedge_certificates::{CaBundleTarget, CertificateSpec, Lifetimes, Role};
use kedge_scalers::metadata::convert::{self, ConversionError, Converted};

use super::amounts;
use super::environment::NAMESPACE_DEFAULT;
use super::flags::Certificates;
use super::reader::SettingsReader;

#[derive(Debug, PartialEq)]
pub(crate) enum Source {
    Files(Files),
    Secret(kedge_certificates::Settings),
}

impl Source {
    /// The same for a process that leaves rotation to the operator.
    pub(super) fn followed(self) -> Self {
        match self {
            Self::Secret(settings) => Self::Secret(kedge_certificates::Settings { role: Role::Follows, ..settings }),
            files => files,
        }
    }
}

pub(super) fn resolve(flags: &Certificates, read: &mut SettingsReader<'_>) -> Source {
    let rotates = read.flag("--enable-cert-rotation", &flags.enable_cert_rotation, convert::boolean);
    let settings = secret_settings(flags, read);
    if rotates != Some(true) {
        return Source::Files(files(flags));
    }
    let given = [("--tls-cert-file", &flags.tls_cert_file), ("--tls-private-key-file", &flags.tls_private_key_file)];
    for (name, _) in given.iter().filter(|(_, file)| file.is_some()) {
        let secret = &settings.secret;
        read.warn(format!(
            "{name} is not read: with --enable-cert-rotation the Secret {secret} is served; leave out one"
        ));
    }
    Source::Secret(settings)
}

fn files(flags: &Certificates) -> Files {
    let of_dir = |given: &Option<_>, name: &str| given.clone().unwrap_or_else(|| flags.cert_dir.join(name));
    Files { chain: of_dir(&flags.tls_cert_file, "tls.crt"), key: of_dir(&flags.tls_private_key_file, "tls.key") }
}

fn secret_settings(flags: &Certificates, read: &mut SettingsReader<'_>) -> kedge_certificates::Settings {
    let namespace = read.text("POD_NAMESPACE").unwrap_or_else(|| NAMESPACE_DEFAULT.to_owned());
    let mut name = |flag: &str, text: &str| read.flag(flag, text, dns_name).unwrap_or_default();
    let secret = name("--cert-secret-name", &flags.cert_secret_name);
    let operator = name("--operator-service-name", &flags.operator_service_name);
    let metrics = name("--metrics-server-service-name", &flags.metrics_server_service_name);
    let webhooks = name("--webhooks-service-name", &flags.webhooks_service_name);
    let domain = name("--k8s-cluster-domain", &flags.k8s_cluster_domain);
    let names = service_names(&[&operator, &metrics, &webhooks], &namespace, &domain);
    let spec = CertificateSpec { names, lifetimes: lifetimes(flags, read) };
    kedge_certificates::Settings { role: Role::Rotates, namespace, secret, spec, targets: targets(flags, read) }
}

fn targets(flags: &Certificates, read: &mut SettingsReader<'_>) -> Vec<CaBundleTarget> {
    let services = read.flag("--enable-apiservice-patching", &flags.enable_apiservice_patching, convert::boolean);
    let webhooks = read.flag("--enable-webhook-patching", &flags.enable_webhook_patching, convert::boolean);
    let name = read.flag("--validating-webhook-name", &flags.validating_webhook_name, dns_name).unwrap_or_default();
    let service = CaBundleTarget::ApiService { name: EXTERNAL_METRICS.to_owned() };
    let service = (services == Some(true)).then_some(service);
    service.into_iter().chain((webhooks == Some(true)).then_some(CaBundleTarget::ValidatingWebhooks { name })).collect()
}

/// Lifetimes other than the default are for tests, which cannot wait a year.
fn lifetimes(flags: &Certificates, read: &mut SettingsReader<'_>) -> Lifetimes {
    let default = Lifetimes::default();
    let leaf = flags.cert_lifetime.as_deref();
    let leaf = leaf.and_then(|text| read.flag("--cert-lifetime", text, amounts::positive_duration));
    let ca = flags.cert_authority_lifetime.as_deref();
    let ca = ca.and_then(|text| read.flag("--cert-authority-lifetime", text, amounts::positive_duration));
    Lifetimes { leaf: leaf.unwrap_or(default.leaf), ca: ca.unwrap_or(default.ca) }
}

/// A DNS name, which objects and hosts have.
fn dns_name(text: &str) -> Converted<String> {
    let part = |part: &str| {
        let inner = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        !part.is_empty() && part.len() <= 63 && inner && !part.starts_with('-') && !part.ends_with('-')
    };
    match text.split('.').all(part) {
        true => Ok(text.to_owned()),
        false => Err(ConversionError::new("is not a DNS name", "write a-z, 0-9, - and ., as in keda-operator")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_names() {
        let rows = [
            ("keda-operator", true),
            ("cluster.local", true),
            ("a", true),
            ("", false),
            ("A", false),
            ("a.", false),
            ("-a", false),
            ("a b", false),
        ];
        for (text, taken) in rows {
            assert_eq!(dns_name(text).is_ok(), taken, "{text}");
        }
    }
}
