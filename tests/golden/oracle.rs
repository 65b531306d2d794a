//! Every case that KEDA's own scalers were asked about, built by Kedge without any server: the verdict, the metric and its target
//! must be KEDA's. `cargo xtask oracle record` writes the answers; the readings of servers are compared in `tests/cluster/oracle.rs`.

use std::collections::BTreeMap;

use kedge_test_cluster::oracle::Family;
use kedge_test_cluster::oracle::sources::Sources;
use kedge_tests::files;
use kedge_tests::oracle::{self, DIFFERENCES, Kind};

const BUILT: [Kind; 4] = [Kind::KedgeRefuses, Kind::KedgeBuilds, Kind::Metric, Kind::Target];

#[tokio::test]
async fn triggers_are_built_or_refused_as_by_keda_with_its_metrics_and_targets() {
    let mut problems = Vec::new();
    for family in Family::RECORDED {
        let stand_ins = Sources::stand_ins(family.placeholders());
        let registry = oracle::registry(&[]);
        let recorded = oracle::recorded(family);
        let mut found = BTreeMap::new();
        for recorded in &recorded {
            let built = oracle::build(&registry, &stand_ins.fill(&recorded.case));
            let difference = oracle::compare_built(recorded, &built).await;
            found.extend(difference.map(|difference| (recorded.case.name.as_str(), difference)));
        }
        problems.extend(oracle::verify(family, &recorded, &found, &BUILT));
    }
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// The objects that these triggers read are in their cases.
#[tokio::test]
async fn numbers_in_objects_are_read_as_by_keda() {
    let family = Family::KubernetesResource;
    let recorded = oracle::recorded(family);
    let mut found = BTreeMap::new();
    for recorded in recorded.iter().filter(|recorded| recorded.case.reads > 0) {
        let registry = oracle::registry(&recorded.case.objects);
        let Ok(scaler) = oracle::build(&registry, &recorded.case) else { continue };
        let difference = oracle::compare_reading(recorded, &*scaler).await;
        found.extend(difference.map(|difference| (recorded.case.name.as_str(), difference)));
    }
    let problems = oracle::verify(family, &recorded, &found, &[Kind::Reading]);
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn what_is_recorded_are_the_cases_of_today() {
    for family in Family::RECORDED {
        let recorded: Vec<_> = oracle::recorded(family).into_iter().map(|recorded| recorded.case).collect();
        let is_same = recorded == family.cases();
        assert!(is_same, "the cases have changed; run `cargo xtask oracle record {}`", family.name());
    }
}

#[test]
fn every_listed_difference_has_its_reason_on_the_page() {
    let page = files::read(&files::workspace().join("docs/differences-from-keda.md"));
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for difference in DIFFERENCES {
        let reason = difference.reason;
        assert!(reason.len() > 20 && page.contains(reason), "docs/differences-from-keda.md does not say: {reason}");
    }
}
