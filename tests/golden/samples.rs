//! The samples that users start from.

use kedge_api::{ScaledObject, TriggerAuthentication};
use kedge_tests::files;
use serde_json::Value;

#[test]
fn every_sample_is_read_without_losing_a_field() {
    let samples = files::list(&files::workspace().join("config/samples"), "yaml");
    assert!(!samples.is_empty());
    for path in samples {
        let documents: Vec<Value> = serde_saphyr::from_multiple(&files::read(&path)).unwrap();
        for written in documents {
            let read = match written["kind"].as_str().unwrap() {
                "ScaledObject" => {
                    serde_json::to_value(serde_json::from_value::<ScaledObject>(written.clone()).unwrap())
                }
                "TriggerAuthentication" => {
                    serde_json::to_value(serde_json::from_value::<TriggerAuthentication>(written.clone()).unwrap())
                }
                _ => continue,
            };
            assert_eq!(read.unwrap(), written, "{}", path.display());
        }
    }
}
