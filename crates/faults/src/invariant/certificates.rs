//! Once callers trust the serving certificate, they trust it at all times.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use kedge_certificates::{SecretContents, has_usable_leaf};
use kedge_plane::{Change, Gvr};
use serde_json::Value;

use super::RunRecord;
use crate::certificates::{SECRET, WEBHOOKS};
use crate::fault::Fault;

/// Checked where the clock is not adjusted: certificates that live for minutes do not outlast hours.
pub(super) fn trusted_at_all_times(record: &RunRecord) -> Vec<String> {
    if !record.scenario.rotates_certificates || record.has(|fault| matches!(fault, Fault::Clock { .. })) {
        return Vec::new();
    }
    let (mut pair, mut trusted_before) = (Pair::default(), false);
    let mut violations = Vec::new();
    for change in record.changes.iter().filter(|change| [SECRET, WEBHOOKS].contains(&change.name.as_str())) {
        // Until this change, and from then on.
        let until = pair.is_trusted(change.at);
        pair.update(change);
        let trusted = pair.is_trusted(change.at);
        if trusted_before && !(until && trusted) {
            let (at, what) = (record.since_start(record.instant(change)).as_secs(), &change.resource.plural);
            let when = if until { "after" } else { "before" };
            violations.push(format!("at {at} s callers did not trust the certificate {when} a change of {what}"));
        }
        trusted_before |= trusted;
    }
    if !trusted_before {
        violations.push("callers never trusted the certificate".to_owned());
    }
    violations
}

/// The certificate that replicas serve, and the CA bundle of their callers.
#[derive(Default)]
struct Pair {
    served: SecretContents,
    ca_bundle: Vec<u8>,
}

impl Pair {
    fn update(&mut self, change: &Change) {
        let decode = |text: &Value| STANDARD.decode(text.as_str().unwrap_or_default()).unwrap_or_default();
        if change.resource == Gvr::new("", "v1", "secrets") {
            let data = &change.after["data"];
            (self.served.chain, self.served.key) = (decode(&data["tls.crt"]), decode(&data["tls.key"]));
        } else {
            self.ca_bundle = decode(&change.after["webhooks"][0]["clientConfig"]["caBundle"]);
        }
    }

    fn is_trusted(&self, now: DateTime<Utc>) -> bool {
        has_usable_leaf(&SecretContents { ca_bundle: self.ca_bundle.clone(), ..self.served.clone() }, now)
    }
}
