//! No secret reaches the API server: no status, no event, no annotation.

use super::RunRecord;

pub(super) fn in_no_request(record: &RunRecord) -> Vec<String> {
    let disclosing = record.entries.iter().filter(|entry| entry.has_secret);
    disclosing.map(|entry| format!("a secret is in {}", entry.line)).collect()
}
