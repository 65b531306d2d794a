//! The output of kubectl for our API: columns and explanations.

use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::files;
use serde_json::Value;

use crate::shared;

const KINDS: [&str; 4] = ["so", "sj", "ta", "cta"];

const EXPLAINED: [&str; 4] = ["ScaledObject", "ScaledJob", "TriggerAuthentication", "ClusterTriggerAuthentication"];

#[tokio::test]
async fn kubectl_get_prints_kedas_columns() {
    let (ours, kedas) = (shared::ours().await, shared::kedas().await);
    for cluster in [ours, kedas] {
        for file in [
            "scaledobject-every-field-set",
            "scaledjob-minimal",
            "triggerauthentication-every-section-set",
            "clustertriggerauthentication-every-section-set",
        ] {
            let path = files::workspace().join(format!("tests/manifests/accepted/{file}.yaml"));
            cluster.kubectl(["apply", "--server-side", "--filename", &path.display().to_string()]).unwrap();
        }
    }
    for kind in KINDS {
        let (ours, kedas) = (table(ours, kind), table(kedas, kind));
        assert_eq!(ours, kedas, "kubectl get {kind}");
        assert!(ours.lines().count() >= 2, "no row for {kind}: {ours}");
    }
    for cluster in [ours, kedas] {
        for kind in KINDS {
            cluster.kubectl(["delete", kind, "sample"]).unwrap();
        }
    }
}

/// What `kubectl get KIND -o wide` prints for the object of this test, without the age, which is last where there is one.
fn table(cluster: &Cluster, kind: &str) -> String {
    let printed = cluster.kubectl(["get", kind, "--output=wide", "--field-selector=metadata.name=sample"]).unwrap();
    let has_age = printed.lines().next().is_some_and(|head| head.ends_with("AGE"));
    let cut = |line: &str| {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        if has_age {
            words.pop();
        }
        words.join(" ")
    };
    printed.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// The schemas that `kubectl explain` reads. The API server publishes them a moment after a CRD is established.
async fn published_schemas(cluster: &Cluster) -> Value {
    let published = wait_for("the schemas are published", DEADLINE, async || {
        let printed = cluster.kubectl(["get", "--raw", "/openapi/v3/apis/keda.sh/v1alpha1"]);
        let schemas: Value = printed
            .map_err(|error| error.to_string())
            .and_then(|text| serde_json::from_str(&text).map_err(|error| error.to_string()))?;
        let is_missing = |kind: &&str| schemas["components"]["schemas"][format!("sh.keda.v1alpha1.{kind}")].is_null();
        match EXPLAINED.into_iter().find(is_missing) {
            Some(kind) => Err(format!("{kind} is missing")),
            None => Ok(schemas),
        }
    });
    published.await.unwrap()
}

#[tokio::test]
async fn kubectl_explain_has_text_for_every_field() {
    let cluster = shared::ours().await;
    let published = published_schemas(cluster).await;
    let mut explained = 0;
    for kind in EXPLAINED {
        let schema = &published["components"]["schemas"][format!("sh.keda.v1alpha1.{kind}")];
        explained += require_text(kind, schema);
    }
    assert!(explained > 300, "only {explained} fields");

    for (field, text) in [
        ("scaledobject", "Scales a workload by events"),
        ("so.spec.cooldownPeriod", "before the target is scaled to zero"),
        ("so.spec.triggers.metadata", "quote numbers"),
        ("sj.spec.scalingStrategy.strategy", "queue minus running Jobs"),
        ("ta.spec.hashiCorpVault.secrets.type", "key-value version 1"),
        ("cta.spec.filePath", "--filepath-auth-root-path"),
    ] {
        let printed = cluster.kubectl(["explain", field]).unwrap();
        let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(text), "{field}: {printed}");
    }
}

/// Fails for a field without a description. Returns the number of fields. Kubernetes' own types are left out.
fn require_text(path: &str, schema: &Value) -> usize {
    let mut explained = 0;
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if path.ends_with(".metadata") && property.get("allOf").is_some()
            || path.starts_with("ScaledJob.spec.jobTargetRef.")
        {
            continue;
        }
        let text = property["description"].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{path} is not explained");
        explained += 1 + require_text(&path, property);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get(inner) {
            explained += require_text(path, inner);
        }
    }
    explained
}
