//! The timelines.

use serde_json::{Value, json};

use super::script::{Action, Timeline, amount, average, refusal, series, timeline, value};

pub(super) fn timelines() -> Vec<Timeline> {
    [without_behavior(), policies(), windows(), several_metrics(), unusual_values(), actions()].concat()
}

/// One metric with a target per replica of 10, and at most 12 replicas.
fn plain() -> Value {
    json!({ "minReplicas": 1, "maxReplicas": 12, "metrics": [average("load", "10")] })
}

fn bounded(min: i32, max: i32) -> Value {
    json!({ "minReplicas": min, "maxReplicas": max, "metrics": [average("load", "10")] })
}

fn with(behavior: Value) -> Value {
    let mut spec = plain();
    spec["behavior"] = behavior;
    spec
}

fn by_value(target: &str, behavior: Value) -> Value {
    let mut spec = with(behavior);
    spec["metrics"] = json!([value("load", target)]);
    spec
}

/// The rules of one direction.
fn rules(window: u32, select: &str, policies: &[(&str, i32, i32)]) -> Value {
    let policy =
        |(kind, value, period): &(&str, i32, i32)| json!({ "type": kind, "value": value, "periodSeconds": period });
    let policies: Vec<Value> = policies.iter().map(policy).collect();
    json!({ "stabilizationWindowSeconds": window, "selectPolicy": select, "policies": policies })
}

fn up(rules: Value) -> Value {
    json!({ "scaleUp": rules, "scaleDown": free() })
}

fn down(rules: Value) -> Value {
    json!({ "scaleDown": rules })
}

/// Scales in to any number at once.
fn free() -> Value {
    rules(0, "Max", &[("Percent", 100, 3)])
}

fn without_behavior() -> Vec<Timeline> {
    let mut by_value = plain();
    by_value["metrics"] = json!([value("load", "100")]);
    vec![
        timeline("plain", 1, plain()).load([5, 30, 30, 55]).hold(20, 6).hold(5, 6),
        timeline("flapping", 3, plain()).load([30, 50, 20, 50, 20, 50]).hold(20, 6).load([90, 20, 90]).hold(20, 6),
        timeline("doubling", 1, plain()).hold(500, 4).hold(10, 6),
        timeline("at-the-maximum", 2, bounded(1, 5)).load([20, 60, 600]).hold(100, 2).hold(30, 6),
        timeline("at-the-minimum", 4, bounded(3, 12)).hold(5, 6).load([50, 50]).hold(0, 6),
        timeline("value-target", 2, by_value.clone())
            .load([100, 105, 150, 100, 130])
            .hold(100, 2)
            .hold(60, 6)
            .hold(100, 3),
        timeline("value-of-zero", 3, by_value).hold(100, 2).hold(0, 7),
        timeline("tolerance", 10, plain()).load([100, 110, 90, 111, 120]).hold(91, 6).hold(89, 6),
        timeline("errors-now-and-then", 2, plain())
            .load([20, 40])
            .answer([("load", refusal())])
            .load([60])
            .answer([("load", refusal())])
            .answer([("load", refusal())])
            .hold(20, 6),
    ]
}

fn policies() -> Vec<Timeline> {
    let both = [("Pods", 1, 3), ("Percent", 100, 3)];
    let all_ways = json!({
        "scaleUp": rules(0, "Max", &[("Pods", 3, 9)]), "scaleDown": rules(0, "Max", &[("Pods", 2, 9)]),
    });
    vec![
        timeline("pods-up", 1, with(up(rules(0, "Max", &[("Pods", 2, 3)])))).hold(100, 14),
        timeline("percent-up", 2, with(up(rules(0, "Max", &[("Percent", 50, 3)])))).hold(100, 14),
        timeline("larger-of-two-up", 1, with(up(rules(0, "Max", &both)))).hold(110, 11).hold(30, 3).hold(110, 5),
        timeline("smaller-of-two-up", 3, with(up(rules(0, "Min", &both)))).hold(110, 16),
        timeline("no-way-up", 3, with(up(json!({ "selectPolicy": "Disabled" })))).hold(110, 4).hold(10, 3).hold(60, 4),
        timeline("no-way-down", 5, with(down(json!({ "selectPolicy": "Disabled" }))))
            .hold(10, 4)
            .hold(80, 3)
            .hold(10, 6),
        timeline("pods-down", 9, with(down(rules(0, "Max", &[("Pods", 1, 3)])))).hold(20, 16),
        timeline("percent-down", 12, with(down(rules(0, "Max", &[("Percent", 50, 4)])))).hold(10, 16),
        timeline("smaller-of-two-down", 12, with(down(rules(0, "Min", &[("Pods", 3, 4), ("Percent", 50, 4)]))))
            .hold(10, 18),
        timeline("larger-of-two-down", 12, with(down(rules(0, "Max", &[("Pods", 3, 4), ("Percent", 10, 4)]))))
            .hold(10, 16),
        timeline("up-and-down-policies", 4, with(all_ways)).hold(100, 2).hold(10, 3).hold(100, 2).hold(10, 12),
        timeline("two-periods", 1, with(up(rules(0, "Min", &[("Pods", 2, 2), ("Pods", 3, 8)])))).hold(110, 18),
    ]
}

fn windows() -> Vec<Timeline> {
    let freely = |window| rules(window, "Max", &[("Percent", 100, 3)]);
    let up_late = json!({ "scaleUp": rules(4, "Max", &[("Pods", 9, 3)]), "scaleDown": free() });
    let both_late = json!({ "scaleUp": rules(3, "Max", &[("Pods", 9, 3)]), "scaleDown": freely(8) });
    let own_tolerances = json!({
        "scaleUp": { "tolerance": "0" }, "scaleDown": { "tolerance": "500m", "stabilizationWindowSeconds": 0 },
    });
    let by_one = json!({ "scaleUp": rules(0, "Max", &[("Pods", 1, 2)]), "scaleDown": freely(3) });
    vec![
        timeline("down-after-a-while", 6, with(down(freely(4))))
            .load([60, 20, 20, 50, 20])
            .hold(20, 6)
            .load([10, 30])
            .hold(10, 6),
        timeline("up-after-a-while", 2, with(up_late)).load([20, 60, 80, 40]).hold(90, 6).hold(20, 3),
        timeline("both-after-a-while", 4, with(both_late)).load([40, 70, 20, 70, 20]).hold(70, 5).hold(20, 10),
        timeline("empty-behavior", 3, with(json!({}))).load([30, 60, 60]).hold(10, 7),
        timeline("slow-and-late", 8, with(down(rules(3, "Max", &[("Pods", 2, 4)])))).hold(80, 2).hold(10, 17),
        timeline("tolerances-of-its-own", 5, with(own_tolerances))
            .load([50, 51, 49, 61, 40, 36, 35, 34, 29, 20, 14, 11]),
        timeline("value-with-behavior", 3, by_value("100", by_one))
            .load([100, 300, 300, 100, 100, 120, 120])
            .hold(50, 8),
    ]
}

fn several_metrics() -> Vec<Timeline> {
    let two = |behavior: Value| {
        let mut spec = with(behavior);
        spec["metrics"] = json!([average("load", "10"), average("queue", "5")]);
        spec
    };
    let mixed = json!({
        "minReplicas": 1, "maxReplicas": 12, "behavior": down(free()),
        "metrics": [average("load", "10"), value("share", "100"), average("queue", "2500m")],
    });
    let both = |load: i32, queue: i32| [("load", amount(load)), ("queue", amount(queue))];
    let three = |load: i32, share: i32, queue: i32| {
        [("load", amount(load)), ("share", amount(share)), ("queue", amount(queue))]
    };
    vec![
        timeline("the-larger-of-two", 2, two(down(free())))
            .answer(both(20, 10))
            .answer(both(40, 10))
            .answer(both(40, 30))
            .answer(both(10, 30))
            .answer(both(10, 5))
            .answer(both(50, 5))
            .answer(both(0, 0)),
        timeline("one-of-two-is-away", 4, two(down(free())))
            .answer(both(40, 20))
            .answer([("load", refusal()), ("queue", amount(30))])
            .answer([("load", refusal()), ("queue", amount(5))])
            .answer([("load", amount(20)), ("queue", refusal())])
            .answer([("load", amount(90)), ("queue", refusal())])
            .answer([("load", refusal()), ("queue", refusal())])
            .answer(both(20, 5)),
        timeline("one-of-two-is-empty", 4, two(down(free())))
            .answer([("load", series([])), ("queue", amount(30))])
            .answer([("load", series([])), ("queue", amount(5))])
            .answer([("load", amount(70)), ("queue", series([]))])
            .answer(both(20, 5)),
        timeline("three-of-two-kinds", 3, mixed)
            .answer(three(30, 100, 7))
            .answer(three(10, 200, 7))
            .answer(three(10, 100, 20))
            .answer(three(10, 50, 10))
            .answer(three(45, 100, 5))
            .answer(three(10, 30, 5))
            .answer(three(0, 0, 0)),
    ]
}

fn unusual_values() -> Vec<Timeline> {
    vec![
        timeline("series-add-up", 1, with(down(free())))
            .answer([("load", series(["5", "12", "13"]))])
            .answer([("load", series(["1500m", "2500m"]))])
            .answer([("load", series(["60", "-20"]))])
            .answer([("load", series(["-20", "60"]))])
            .answer([("load", series(["0", "0"]))]),
        timeline("values-below-zero", 3, by_value("100", down(free())))
            .answer([("load", series(["-50"]))])
            .answer([("load", series(["200", "-50"]))])
            .answer([("load", series(["-50", "200"]))])
            .load(["100", "300", "-1"]),
        timeline("parts-of-one", 2, with(down(free())))
            .load(["20100m", "22001m", "0.5", "9999m", "10001m", "30.0001", "1k", "1"]),
        timeline("huge-values", 1, with(down(free()))).load(["1Gi", "1", "9e15", "1", "9223372036854775807", "1"]),
        timeline("nothing-at-all", 3, with(down(free())))
            .answer([("load", series([]))])
            .load(["50"])
            .answer([("load", series([]))])
            .answer([("load", series([]))])
            .load(["10", "10"]),
    ]
}

fn actions() -> Vec<Timeline> {
    let freely = || with(down(free()));
    let to = |target: &str| Action::Change(json!({ "metrics": [average("load", target)] }));
    vec![
        timeline("zero-is-left-alone", 2, freely())
            .hold(30, 3)
            .then(Action::Scale(0))
            .pause(4)
            .then(Action::Scale(1))
            .hold(30, 3)
            .hold(10, 3),
        timeline("created-at-zero", 0, freely()).pause(4).then(Action::Scale(3)).hold(50, 3).hold(20, 3),
        timeline("the-maximum-falls", 8, freely())
            .hold(80, 2)
            .then(Action::Change(json!({ "maxReplicas": 3 })))
            .pause(2)
            .hold(80, 4)
            .then(Action::Change(json!({ "maxReplicas": 6 })))
            .hold(80, 4),
        timeline("the-minimum-rises", 2, freely())
            .hold(20, 2)
            .then(Action::Change(json!({ "minReplicas": 5 })))
            .pause(2)
            .hold(20, 3)
            .then(Action::Change(json!({ "minReplicas": 1 })))
            .hold(20, 4),
        timeline("the-target-moves", 4, freely()).hold(40, 2).then(to("5")).hold(40, 4).then(to("20")).hold(40, 5),
        timeline("another-client-scales", 3, with(down(rules(4, "Max", &[("Pods", 2, 9)]))))
            .hold(30, 3)
            .then(Action::Scale(7))
            .hold(30, 10)
            .then(Action::Scale(1))
            .hold(30, 5),
        timeline("behavior-changes", 2, with(up(rules(0, "Max", &[("Pods", 1, 3)]))))
            .hold(90, 5)
            .then(Action::Change(json!({ "behavior": up(rules(0, "Max", &[("Pods", 4, 3)])) })))
            .hold(90, 5)
            .then(Action::Change(json!({ "behavior": null })))
            .hold(20, 6),
        timeline("created-again", 5, with(down(rules(60, "Max", &[("Percent", 100, 3)]))))
            .hold(50, 3)
            .hold(20, 3)
            .then(Action::Delete)
            .pause(3)
            .then(Action::Scale(3))
            .then(Action::Create)
            .hold(20, 3)
            .hold(40, 2)
            .hold(20, 3),
    ]
}
