//! Violations of ScaledObjects and ScaledJobs, rule by rule.

use kedge_core::trigger_class::Resource;

use super::*;
use crate::neighbours::{
    ConflictCheck, Container, Hpa, KindName, OtherScaledObject, PodResources, ResourceSet, Workload,
};

fn deployment() -> KindName {
    KindName::from_reference(None, None)
}

#[test]
fn a_manifest_is_judged_by_itself() {
    let formula = |modifiers: Value, triggers: Value| json!({ "advanced": { "scalingModifiers": modifiers }, "triggers": triggers });
    let named = |name: &str, kind: &Value| {
        let mut trigger = kind.clone();
        trigger["name"] = json!(name);
        trigger
    };
    let a = || json!([named("a", &cron_json())]);
    let cached = |mut trigger: Value| {
        trigger["useCachedMetrics"] = json!(true);
        trigger
    };
    let fallback = |threshold: i32, replicas: i32| json!({ "failureThreshold": threshold, "replicas": replicas });
    let cpu_only = || json!([cpu_json()]);
    let rows: Vec<(&str, Value, &[&str])> = vec![
        ("nothing wrong", json!({}), &[]),
        ("min above max", json!({ "minReplicaCount": 5, "maxReplicaCount": 4 }), &["min-above-max"]),
        ("min above the default max", json!({ "minReplicaCount": 101 }), &["min-above-max"]),
        (
            "idle at min",
            json!({ "minReplicaCount": 2, "idleReplicaCount": 2 }),
            &["idle-not-below-min", "idle-above-zero"],
        ),
        ("idle zero without min", json!({ "idleReplicaCount": 0 }), &["idle-not-below-min"]),
        ("idle zero with min zero", json!({ "idleReplicaCount": 0, "minReplicaCount": 0 }), &[]),
        ("idle above zero", json!({ "idleReplicaCount": 1, "minReplicaCount": 2 }), &["idle-above-zero"]),
        ("a fallback", json!({ "fallback": fallback(1, 1) }), &[]),
        ("a negative threshold", json!({ "fallback": fallback(-1, 1) }), &["negative-fallback"]),
        ("a negative number", json!({ "fallback": fallback(1, -1) }), &["negative-fallback"]),
        (
            "a fallback of cpu alone",
            json!({ "minReplicaCount": 1, "fallback": fallback(1, 1), "triggers": cpu_only() }),
            &["fallback-without-source"],
        ),
        (
            "a fallback with a formula",
            json!({ "fallback": { "failureThreshold": 1, "replicas": 1, "behavior": "scalingModifiers" } }),
            &["fallback-without-formula"],
        ),
        ("no formula", formula(json!({ "target": "2" }), a()), &["missing-formula"]),
        ("only an activation target", formula(json!({ "activationTarget": "1" }), a()), &["missing-formula"]),
        ("no target", formula(json!({ "formula": "a" }), a()), &["missing-formula-target"]),
        ("an unknown name", formula(json!({ "formula": "a + missing", "target": "2" }), a()), &["invalid-formula"]),
        ("no formula at all", formula(json!({ "formula": "a +", "target": "2" }), a()), &["invalid-formula"]),
        ("no number", formula(json!({ "formula": "a == 1", "target": "2" }), a()), &["invalid-formula"]),
        ("a target of zero", formula(json!({ "formula": "a", "target": "0" }), a()), &["invalid-formula-target"]),
        (
            "an activation that is no number",
            formula(json!({ "formula": "a", "target": "2", "activationTarget": "x" }), a()),
            &["invalid-formula-activation-target"],
        ),
        (
            "a formula over cpu",
            formula(json!({ "formula": "c", "target": "2" }), json!([named("c", &cpu_json()), cron_json()])),
            &["invalid-formula"],
        ),
        ("a formula", formula(json!({ "formula": "float(a) > 1 ? 2 : 3", "target": "2" }), a()), &[]),
        ("no trigger", json!({ "triggers": [] }), &["no-triggers"]),
        ("cron cached", json!({ "triggers": [cached(cron_json())] }), &["unsupported-cached-metrics"]),
        (
            "cpu cached",
            json!({ "minReplicaCount": 1, "triggers": [cached(cpu_json())] }),
            &["unsupported-cached-metrics"],
        ),
        ("prometheus cached", json!({ "triggers": [cached(prometheus_json())] }), &[]),
        (
            "a name twice",
            json!({ "triggers": [named("x", &cron_json()), named("x", &prometheus_json())] }),
            &["duplicate-trigger-name"],
        ),
        ("no names", json!({ "triggers": [cron_json(), cron_json()] }), &[]),
        ("empty names", json!({ "triggers": [named("", &cron_json()), named("", &cron_json())] }), &[]),
        ("a bad trigger", json!({ "triggers": [{ "type": "cron", "metadata": {} }] }), &["invalid-trigger"; 4]),
        (
            "a type of KEDA's",
            json!({ "triggers": [{ "type": "solace-event-queue", "metadata": {} }] }),
            &["unsupported-trigger-type"],
        ),
        (
            "no type of anybody's",
            json!({ "triggers": [{ "type": "telepathy", "metadata": {} }] }),
            &["unknown-trigger-type"],
        ),
        ("cpu alone and a sleep", json!({ "triggers": cpu_only() }), &["unsupported-scale-to-zero"]),
        ("cpu alone and zero", json!({ "minReplicaCount": 0, "triggers": cpu_only() }), &["unsupported-scale-to-zero"]),
        ("cpu alone, awake", json!({ "minReplicaCount": 1, "triggers": cpu_only() }), &[]),
        ("cpu and another", json!({ "triggers": [cpu_json(), cron_json()] }), &[]),
        (
            "cpu alone for another kind",
            json!({ "scaleTargetRef": { "name": "web", "kind": "Widget", "apiVersion": "x/v1" }, "triggers": cpu_only() }),
            &[],
        ),
        (
            "an interval that is not used",
            json!({ "minReplicaCount": 1, "pollingInterval": 9 }),
            &["unused-polling-interval"],
        ),
        (
            "an interval for the cache",
            json!({ "minReplicaCount": 1, "pollingInterval": 9, "triggers": [cached(prometheus_json())] }),
            &[],
        ),
        (
            "an interval for a formula",
            json!({
                "minReplicaCount": 1, "pollingInterval": 9, "triggers": [load()],
                "advanced": { "scalingModifiers": { "formula": "load + 1", "target": "1" } },
            }),
            &[],
        ),
        (
            "a cooldown that is not used",
            json!({ "minReplicaCount": 1, "cooldownPeriod": 9 }),
            &["unused-cooldown-period"],
        ),
        (
            "an initial cooldown that is not used",
            json!({ "minReplicaCount": 1, "initialCooldownPeriod": 9 }),
            &["unused-initial-cooldown-period"],
        ),
        (
            "all of them used",
            json!({ "minReplicaCount": 2, "idleReplicaCount": 0, "pollingInterval": 9, "cooldownPeriod": 9, "initialCooldownPeriod": 9 }),
            &[],
        ),
        ("used without a minimum", json!({ "pollingInterval": 9, "cooldownPeriod": 9 }), &[]),
    ];
    for (name, spec, expected) in rows {
        let found = validate(&object(spec), &Neighbours::default());
        assert_eq!(ids(&found), expected, "{name}: {found:?}");
    }
}

#[test]
fn every_violation_is_reported_at_once_in_a_fixed_order() {
    let spec = json!({
        "minReplicaCount": 5, "maxReplicaCount": 4,
        "fallback": { "failureThreshold": -1, "replicas": 1, "behavior": "scalingModifiers" },
        "triggers": [{ "type": "cron", "name": "x", "useCachedMetrics": true, "metadata": cron_json()["metadata"] },
                     { "type": "prometheus", "name": "x", "metadata": { "serverAddress": "http://p", "query": "up", "threshold": "much" } }],
    });
    let expected = [
        "fallback-without-formula",
        "min-above-max",
        "negative-fallback",
        "unsupported-cached-metrics",
        "duplicate-trigger-name",
        "invalid-trigger",
    ];
    assert_eq!(ids(&validate(&object(spec), &Neighbours::default())), expected);
}

#[test]
fn names_must_fit() {
    let named = |name: usize, hpa: Option<usize>| {
        let mut object = object(match hpa {
            Some(hpa) => json!({ "advanced": { "horizontalPodAutoscalerConfig": { "name": "h".repeat(hpa) } } }),
            None => json!({}),
        });
        object.metadata.name = Some("n".repeat(name));
        object
    };
    let rows: [(usize, Option<usize>, &[&str]); 6] = [
        (54, None, &[]),
        (55, None, &["hpa-name-too-long"]),
        (63, Some(5), &[]),
        (64, Some(5), &["name-too-long"]),
        (9, Some(64), &["hpa-name-too-long"]),
        (65, None, &["name-too-long", "hpa-name-too-long"]),
    ];
    for (name, hpa, expected) in rows {
        assert_eq!(ids(&validate(&named(name, hpa), &Neighbours::default())), expected, "{name} {hpa:?}");
    }
}

#[test]
fn two_objects_do_not_share_a_target_or_an_hpa() {
    let other = |name: &str, kind: KindName| OtherScaledObject { name: name.into(), kind };
    let rows: [(&str, Neighbours, &[&str]); 5] = [
        (
            "itself",
            Neighbours {
                same_target: vec![other("so", deployment())],
                same_hpa: vec!["so".into()],
                ..Neighbours::default()
            },
            &[],
        ),
        (
            "the target",
            Neighbours { same_target: vec![other("first", deployment())], ..Neighbours::default() },
            &["duplicate-target"],
        ),
        (
            "a name, but another kind",
            Neighbours {
                same_target: vec![other("first", KindName::from_reference(None, Some("StatefulSet")))],
                ..Neighbours::default()
            },
            &[],
        ),
        ("the HPA", Neighbours { same_hpa: vec!["first".into()], ..Neighbours::default() }, &["duplicate-hpa-name"]),
        (
            "both",
            Neighbours {
                same_target: vec![other("first", deployment())],
                same_hpa: vec!["first".into()],
                ..Neighbours::default()
            },
            &["duplicate-target", "duplicate-hpa-name"],
        ),
    ];
    for (name, neighbours, expected) in rows {
        assert_eq!(ids(&validate(&object(json!({})), &neighbours)), expected, "{name}");
    }
}

#[test]
fn an_hpa_that_is_there_already_must_be_its_own_or_given_up() {
    let hpa =
        || Hpa { name: "mine".into(), kind: deployment(), owners: vec![], conflict_check: ConflictCheck::Included };
    let plain = || object(json!({}));
    let naming = |name: &str| {
        let mut object = object(json!({ "advanced": { "horizontalPodAutoscalerConfig": { "name": name } } }));
        object.metadata.annotations =
            Some([("scaledobject.keda.sh/transfer-hpa-ownership".to_owned(), "true".to_owned())].into());
        object
    };
    let mut nearly = naming("mine");
    nearly.metadata.annotations.as_mut().unwrap().values_mut().for_each(|value| *value = "True".to_owned());
    let rows: [(&str, ScaledObject, Hpa, &[&str]); 8] = [
        ("a foreign one", plain(), hpa(), &["conflicting-hpa"]),
        ("for another kind", plain(), Hpa { kind: KindName::from_reference(None, Some("StatefulSet")), ..hpa() }, &[]),
        ("one that is to be ignored", plain(), Hpa { conflict_check: ConflictCheck::Excluded, ..hpa() }, &[]),
        ("its own", plain(), Hpa { owners: vec!["so".into()], ..hpa() }, &[]),
        ("another's", plain(), Hpa { owners: vec!["first".into()], ..hpa() }, &["conflicting-hpa"]),
        ("taken over", naming("mine"), hpa(), &[]),
        ("taken over, but not named", naming("other"), hpa(), &["missing-hpa-name"]),
        ("not quite asked for", nearly, hpa(), &["conflicting-hpa"]),
    ];
    for (name, object, hpa, expected) in rows {
        let neighbours = Neighbours { hpas: vec![hpa], ..Neighbours::default() };
        assert_eq!(ids(&validate(&object, &neighbours)), expected, "{name}");
    }
}

#[test]
fn containers_must_request_what_they_are_scaled_by() {
    let cpu = || ResourceSet::default().with(Resource::Cpu);
    let container = |name: &str, requests: ResourceSet| Container { name: name.into(), requests };
    let with = |containers: Vec<Container>, defaults: ResourceSet| Neighbours {
        workload: Workload::Found(PodResources { containers: containers.into(), ..PodResources::default() }),
        defaults,
        ..Neighbours::default()
    };
    let of_pod = |pod: ResourceSet| {
        let containers = [container("main", ResourceSet::default())].into();
        Neighbours { workload: Workload::Found(PodResources { pod, containers }), ..Neighbours::default() }
    };
    let of = |name: &str| {
        let mut trigger = cpu_json();
        trigger["metadata"]["containerName"] = json!(name);
        object(json!({ "minReplicaCount": 1, "triggers": [trigger] }))
    };
    let all = || object(json!({ "minReplicaCount": 1, "triggers": [cpu_json()] }));
    let two = || vec![container("main", cpu()), container("proxy", ResourceSet::default())];
    let memory = || ResourceSet::default().with(Resource::Memory);
    let rows: [(&str, ScaledObject, Neighbours, &[&str]); 12] = [
        ("the pod has it", all(), of_pod(cpu()), &[]),
        ("the pod has the other", all(), of_pod(memory()), &["missing-resource-request"]),
        ("the pod has it, but a container is named", of("main"), of_pod(cpu()), &["missing-resource-request"]),
        ("all have it", all(), with(vec![container("main", cpu())], ResourceSet::default()), &[]),
        ("one has not", all(), with(two(), ResourceSet::default()), &["missing-resource-request"]),
        ("the namespace gives it", all(), with(two(), cpu()), &[]),
        (
            "the namespace gives the other",
            all(),
            with(two(), ResourceSet::default().with(Resource::Memory)),
            &["missing-resource-request"],
        ),
        ("the one that has it", of("main"), with(two(), ResourceSet::default()), &[]),
        ("the one that has not", of("proxy"), with(two(), ResourceSet::default()), &["missing-resource-request"]),
        ("one that is not there", of("missing"), with(two(), ResourceSet::default()), &[]),
        ("no target", all(), Neighbours { workload: Workload::Missing, ..Neighbours::default() }, &["missing-target"]),
        (
            "no target, and no rule needs it",
            object(json!({})),
            Neighbours { workload: Workload::Missing, ..Neighbours::default() },
            &[],
        ),
    ];
    for (name, object, neighbours, expected) in rows {
        assert_eq!(ids(&validate(&object, &neighbours)), expected, "{name}");
        let dry = scaled_object(&registry(), &object, &[], &neighbours, Run::DryRun);
        assert_eq!(ids(&dry), [""; 0], "{name}: a dry run does not fetch the target");
    }
}

#[test]
fn a_kind_must_be_served() {
    let own = Neighbours { unserved: vec![("x/v1".into(), "Ghost".into())], ..Neighbours::default() };
    let ghost = object(json!({ "scaleTargetRef": { "name": "web", "apiVersion": "x/v1", "kind": "Ghost" } }));
    let found = validate(&ghost, &own);
    assert_eq!(ids(&found), ["unknown-target-kind"]);
    assert_eq!(found[0].problem, "no matches for kind \"Ghost\" in version \"x/v1\"");
    let of_hpa = validate(&object(json!({})), &own);
    assert!(of_hpa[0].remedy.contains("an HPA for a target of this name"), "{of_hpa:?}");
}

#[test]
fn jobs_are_validated_by_their_triggers_alone() {
    let job = |triggers: Value| -> ScaledJob {
        let template = json!({ "template": { "spec": { "containers": [{ "name": "main" }] } } });
        serde_json::from_value(json!({
            "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledJob", "metadata": { "name": "j".repeat(99) },
            "spec": { "jobTargetRef": template, "minReplicaCount": 9, "maxReplicaCount": 3, "triggers": triggers },
        }))
        .unwrap()
    };
    let rows: [(&str, Value, &[&str]); 5] = [
        ("nothing wrong with them", json!([cron_json()]), &[]),
        ("none", json!([]), &["no-triggers"]),
        (
            "a name twice",
            json!([{ "type": "solace-event-queue", "name": "x", "metadata": {} }, { "type": "solace-event-queue", "name": "x", "metadata": {} }]),
            &["duplicate-trigger-name", "unsupported-trigger-type", "unsupported-trigger-type"],
        ),
        ("an unknown type", json!([{ "type": "telepathy", "metadata": {} }]), &["unknown-trigger-type"]),
        (
            "a bad trigger",
            json!([{ "type": "kubernetes-workload", "metadata": { "podSelector": "a in", "value": "1" } }]),
            &["invalid-trigger"],
        ),
    ];
    for (name, triggers, expected) in rows {
        assert_eq!(ids(&scaled_job(&registry(), &job(triggers), &[])), expected, "{name}");
    }
}
