//! What the chart renders for each set of values. The golden file of the default holds every object; those of the others hold the
//! differences from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kedge_tests::files;
use kedge_tests::helm::{self, Document};
use kedge_tests::programs::run_xtask;
use kedge_webhooks::routes::ROUTES;
use serde_json::json;

use super::{cases, render};

fn by_title(documents: Vec<Document>) -> BTreeMap<String, Document> {
    let count = documents.len();
    let map: BTreeMap<_, _> = documents.into_iter().map(|document| (document.title(), document)).collect();
    assert_eq!(map.len(), count, "two objects have the same name");
    map
}

/// The objects that differ from the default, in full, and the names of those that are missing.
fn differences(default: &BTreeMap<String, Document>, own: &BTreeMap<String, Document>) -> String {
    let mut text = String::new();
    for title in default.keys().filter(|title| !own.contains_key(*title)) {
        let _ = writeln!(text, "# gone: {title}");
    }
    for (title, document) in own {
        let before = default.get(title);
        if before.is_none_or(|before| before.text != document.text) {
            let word = if before.is_none() { "new" } else { "changed" };
            let _ = write!(text, "---\n# {word}: {title}\n{}", document.text);
        }
    }
    text
}

#[test]
fn each_set_of_values_renders_its_golden_file() {
    let nothing = BTreeMap::new();
    let all: Vec<_> = cases().into_iter().map(|case| (by_title(render(&case)), case)).collect();
    let (default, _) = all.iter().find(|(_, case)| case.name == "default").unwrap();
    let mut wrong = Vec::new();
    for (own, case) in &all {
        let base = if case.name == "default" { &nothing } else { default };
        wrong.extend(case.differs("rendered.yaml", &differences(base, own)));
    }
    assert!(wrong.is_empty(), "{}\nUPDATE_GOLDEN=1 rewrites them", wrong.join("\n"));
}

#[test]
fn helm_lint_passes() {
    for case in cases() {
        let values = format!("--values={}", case.path("values.yaml").display());
        let chart = helm::chart().display().to_string();
        let output = helm::helm(["lint", "--strict", "--kube-version=1.36", &values, &chart]);
        assert!(output.as_ref().is_ok_and(|output| output.contains("0 chart(s) failed")), "{}: {output:?}", case.name);
    }
}

#[test]
fn generated_files_of_the_chart_are_fresh() {
    let (fresh, output) = run_xtask(&["generate", "--check"]);
    assert!(fresh, "{output}");
}

#[test]
fn the_chart_has_the_version_of_the_workspace() {
    let chart = files::read_yaml(&helm::chart().join("Chart.yaml"));
    let version = json!(env!("CARGO_PKG_VERSION"));
    assert_eq!((&chart["version"], &chart["appVersion"]), (&version, &version));
}

#[test]
fn crds_are_those_of_the_api_and_outlive_a_release() {
    let documents = helm::template(&["--set=crds.additionalAnnotations.note=more"]).unwrap();
    let crds: Vec<_> = documents.into_iter().filter(|document| document.is("CustomResourceDefinition")).collect();
    let originals = files::list(&files::workspace().join("crds"), "yaml");
    assert_eq!(crds.len(), originals.len());
    for path in originals {
        let original = files::read_yaml(&path);
        let name = &original["metadata"]["name"];
        let ours = &crds.iter().find(|crd| crd.object["metadata"]["name"] == *name).unwrap().object;
        assert_eq!(ours["spec"], original["spec"], "{name}");
        let annotations = json!({ "helm.sh/resource-policy": "keep", "note": "more" });
        assert_eq!(ours["metadata"]["annotations"], annotations, "{name}");
    }
}

#[test]
fn every_route_of_the_webhooks_is_in_the_webhook_configuration() {
    let documents = helm::template(&["--set=crds.install=false"]).unwrap();
    let found = documents.iter().find(|document| document.is("ValidatingWebhookConfiguration")).unwrap();
    let registered: Vec<_> = found.object["webhooks"].as_array().unwrap().iter().collect();
    assert_eq!(registered.len(), ROUTES.len());
    for route in &ROUTES {
        let webhook = registered.iter().find(|webhook| webhook["name"] == route.webhook).unwrap();
        assert_eq!(webhook["clientConfig"]["service"]["path"], route.path, "{}", route.webhook);
        let kind = route.path.rsplit('-').next().unwrap();
        assert_eq!(webhook["rules"][0]["resources"], json!([format!("{kind}s")]), "{}", route.webhook);
    }
}
