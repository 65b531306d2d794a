//! The pause annotations, each alone and every two of them in every order.

use std::collections::{BTreeMap, BTreeSet};

use kedge_tests::namespace::{TestNamespace, cron_closed, cron_open, deployment, scaled_object};
use serde_json::json;

use super::cluster;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Paused,
    /// At two replicas.
    AtTwo,
    ScaleIn,
    ScaleOut,
    Forced,
}

use Form::{AtTwo, Forced, Paused, ScaleIn, ScaleOut};

const FORMS: [Form; 5] = [Paused, AtTwo, ScaleIn, ScaleOut, Forced];

impl Form {
    fn key(self) -> &'static str {
        match self {
            Paused => "autoscaling.keda.sh/paused",
            AtTwo => "autoscaling.keda.sh/paused-replicas",
            ScaleIn => "autoscaling.keda.sh/paused-scale-in",
            ScaleOut => "autoscaling.keda.sh/paused-scale-out",
            Forced => "autoscaling.keda.sh/force-activation",
        }
    }

    fn annotation(self) -> String {
        format!("{}={}", self.key(), if self == AtTwo { "2" } else { "true" })
    }
}

/// The replicas of a target without load that had this many.
fn replicas_without_load(forms: &BTreeSet<Form>, from: i64) -> i64 {
    let has = |form| forms.contains(&form);
    match () {
        () if has(AtTwo) => 2,
        () if has(Paused) || has(ScaleIn) => from,
        // Active without load: the HPA keeps one replica.
        () if has(Forced) => from.min(1),
        () => 0,
    }
}

fn is_paused(forms: &BTreeSet<Form>) -> bool {
    forms.iter().any(|form| *form != Forced)
}

/// Objects by name, with their annotations and how many replicas they should have.
type Expected = BTreeMap<String, (BTreeSet<Form>, i64)>;

/// Waits until all targets have the expected replicas, and all objects the expected condition Paused.
async fn until(namespace: &TestNamespace<'_>, what: &str, expected: &Expected) {
    let wanted: BTreeMap<String, (Option<i64>, String)> = expected
        .iter()
        .map(|(name, (forms, replicas))| {
            let word = if is_paused(forms) { "True" } else { "False" };
            (name.clone(), (Some(*replicas), word.to_owned()))
        })
        .collect();
    let observe = |namespace: &TestNamespace<'_>| -> BTreeMap<String, (Option<i64>, String)> {
        let (objects, targets) = (namespace.list("so"), namespace.list("deployment"));
        let find = |list: &serde_json::Value, name: &str| {
            let items = list["items"].as_array().cloned().unwrap_or_default();
            items.into_iter().find(|item| item["metadata"]["name"] == name).unwrap_or_default()
        };
        let paused = |name: &str| {
            let conditions = find(&objects, name)["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let found = conditions.into_iter().find(|condition| condition["type"] == "Paused").unwrap_or_default();
            found["status"].as_str().unwrap_or_default().to_owned()
        };
        let row = |name: &String| (name.clone(), (find(&targets, name)["spec"]["replicas"].as_i64(), paused(name)));
        expected.keys().map(row).collect()
    };
    namespace.until(what, wanted, observe).await;
}

/// All ordered pairs of forms, and a canary without any, by the names of their objects.
fn pairs() -> BTreeMap<String, Vec<Form>> {
    let mut all = BTreeMap::from([("canary".to_owned(), Vec::new())]);
    for (first, a) in FORMS.into_iter().enumerate() {
        for (second, b) in FORMS.into_iter().enumerate().filter(|(second, _)| *second != first) {
            all.insert(format!("web-{first}{second}"), vec![a, b]);
        }
    }
    all
}

#[tokio::test]
async fn every_two_forms_in_every_order_have_their_effects() {
    let namespace = TestNamespace::create(cluster().await, "pauses");
    let pairs = pairs();
    let apply = |trigger: fn(i64) -> serde_json::Value| {
        let object = |name: &String| scaled_object(name, [trigger(3)], json!({}));
        namespace.apply(pairs.keys().map(object).collect::<Vec<_>>());
    };
    namespace.apply(pairs.keys().map(|name| deployment(name, 0)).collect::<Vec<_>>());
    apply(cron_open);
    let mut expected: Expected = pairs.keys().map(|name| (name.clone(), (BTreeSet::new(), 3))).collect();
    until(&namespace, "all are scaled out", &expected).await;

    for turn in 0..2 {
        for (name, forms) in pairs.iter().filter(|(_, forms)| forms.len() > turn) {
            namespace.kubectl(["annotate", "so", name, &forms[turn].annotation()]);
            let (on, replicas) = expected.get_mut(name).expect("it is there");
            on.insert(forms[turn]);
            // The trigger stays active, so only `paused-replicas` scales a target.
            *replicas = if on.contains(&AtTwo) { 2 } else { *replicas };
        }
        until(&namespace, "annotated", &expected).await;
    }

    apply(cron_closed);
    // Targets that are not paused are scaled to zero meanwhile, which leaves the others time to be scaled.
    for (on, replicas) in expected.values_mut() {
        *replicas = replicas_without_load(on, *replicas);
    }
    until(&namespace, "the load has ended", &expected).await;
    for turn in 0..2 {
        for (name, forms) in pairs.iter().filter(|(_, forms)| forms.len() > turn) {
            namespace.kubectl(["annotate", "so", name, &format!("{}-", forms[turn].key())]);
            let (on, replicas) = expected.get_mut(name).expect("it is there");
            on.remove(&forms[turn]);
            *replicas = replicas_without_load(on, *replicas);
        }
        until(&namespace, "one annotation is gone", &expected).await;
    }
    assert!(expected.values().all(|(on, replicas)| on.is_empty() && *replicas == 0));
}

#[tokio::test]
async fn each_form_allows_activation_or_not() {
    let namespace = TestNamespace::create(cluster().await, "activation");
    let rows = [(Paused, 0), (AtTwo, 2), (ScaleIn, 3), (ScaleOut, 0), (Forced, 3)];
    let name = |form: Form| format!("web-{}", form as usize);
    let all = |trigger: serde_json::Value| {
        let names = rows.iter().map(|(form, _)| name(*form)).chain(["canary".to_owned()]);
        names.map(|name| scaled_object(&name, [trigger.clone()], json!({}))).collect::<Vec<_>>()
    };
    namespace.apply(rows.iter().map(|(form, _)| deployment(&name(*form), 0)).chain([deployment("canary", 0)]));
    namespace.apply(all(cron_closed(3)));
    let expected = |replicas: fn(Form) -> i64| -> Expected {
        let row = |(form, _): &(Form, i64)| (name(*form), ([*form].into(), replicas(*form)));
        rows.iter().map(row).collect()
    };
    for (form, _) in rows {
        namespace.kubectl(["annotate", "so", &name(form), &form.annotation()]);
    }
    let without_load = |form| match form {
        AtTwo => 2,
        Forced => 1,
        Paused | ScaleIn | ScaleOut => 0,
    };
    until(&namespace, "all have their replicas without load", &expected(without_load)).await;
    namespace.apply(all(cron_open(3)));
    namespace.until_replicas("canary", 3).await;
    let with_load: Expected = rows.iter().map(|(form, replicas)| (name(*form), ([*form].into(), *replicas))).collect();
    until(&namespace, "each has the replicas that its form allows", &with_load).await;
}
