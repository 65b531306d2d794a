//! Cases of `aws-cloudwatch`. KEDA connects only to read.

use super::aws::{KEYS, identities};
use crate::oracle::case::Case;
use crate::oracle::edges::{BOOLEANS, FLOATS, INTEGERS, NAMES, Place, common, sweep, sweep_in};

/// Queues with a metric `depth`: its values in each minute, and how many minutes ago the newest and the oldest are.
pub(in crate::oracle) const METRICS: [(&str, [f64; 3], [i64; 2]); 7] = [
    ("steady", [2.0, 4.0, 6.0], [1, 40]),
    ("zero", [0.0, 0.0, 0.0], [1, 40]),
    ("fraction", [0.25, 0.25, 0.25], [1, 40]),
    ("small", [0.0004, 0.0004, 0.0004], [1, 40]),
    ("negative", [-3.0, -3.0, -3.0], [1, 40]),
    ("large", [1e12, 1e12, 1e12], [1, 40]),
    ("old", [7.0, 7.0, 7.0], [25, 40]),
];

fn base() -> Case {
    let metadata = [
        ("namespace", "shop"),
        ("metricName", "depth"),
        ("dimensionName", "Queue"),
        ("dimensionValue", "steady"),
        ("targetMetricValue", "5"),
        ("minMetricValue", "1"),
        ("awsRegion", "eu-west-1"),
        ("awsEndpoint", "${moto}"),
    ];
    Case::new("aws-cloudwatch").with_all(&metadata).auth_all(&KEYS)
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let base = base();
    let expression = base.clone().with("expression", "SELECT MAX(depth) FROM shop").named("expression");
    let mut cases = sweep(&base, "targetMetricValue", FLOATS);
    cases.extend(sweep(&base, "activationTargetMetricValue", FLOATS));
    cases.extend(sweep(&base, "minMetricValue", FLOATS));
    cases.extend(sweep(&base, "ignoreNullValues", BOOLEANS));
    cases.extend(sweep(&base, "metricCollectionTime", INTEGERS));
    cases.extend(sweep(&base, "metricEndTimeOffset", INTEGERS));
    let hour = base.clone().with("metricCollectionTime", "3600").named("hour");
    cases.extend(sweep(&hour, "metricStatPeriod", INTEGERS));
    let periods = ["5", "10", "15", "30", "59", "60", "61", "90", "120", "300", "3600", "7200", "-60"];
    cases.extend(sweep_in(&hour, "metricStatPeriod", Place::Metadata, &periods));
    for (period, collection) in
        [("60", "60"), ("60", "90"), ("60", "0"), ("60", "-60"), ("300", "60"), ("1", "7"), ("3600", "300")]
    {
        let window = [("metricStatPeriod", period), ("metricCollectionTime", collection)];
        cases.push(base.clone().with_all(&window).named(format!("period {period} collection {collection}")));
    }
    cases.extend(sweep(
        &base,
        "metricUnit",
        &["", "Count", "count", "None", "Count/Second", "Percent", "%", "Kibibytes"],
    ));
    cases.extend(sweep(&base, "metricStat", &["", "Sum", "sum", "p95", "anything", "SampleCount"]));
    cases.extend(sweep(&base, "metricName", NAMES));
    cases.extend(sweep(&base, "namespace", NAMES));
    cases.extend(dimensions(&base));
    cases.extend(dimensions(&expression));
    for field in ["namespace", "metricName", "dimensionName", "dimensionValue", "targetMetricValue", "minMetricValue"] {
        cases.push(expression.clone().without(field).named(format!("without {field}")));
    }
    cases.extend(sweep_in(&expression, "metricUnit", Place::Metadata, &["Count", "count"]));
    cases.extend(sweep(&base, "awsAccountId", &["", "123456789012", "x"]));
    cases.extend(common(&base, "targetMetricValue"));
    cases.extend(identities(&base));
    cases.extend(readings(&base));
    cases
}

fn dimensions(base: &Case) -> Vec<Case> {
    let pairs = [
        ("a;b", "1;2"),
        ("a; b", " 1 ;2 "),
        ("a;b", "1"),
        ("a", "1;2"),
        ("a;", "1;"),
        (";", ";"),
        ("", "1"),
        ("a", ""),
        ("", ""),
        ("a,b", "1,2"),
        ("a;b;c", "1;;3"),
    ];
    let pair = |(names, values): (&str, &str)| {
        let case = base.clone().with_all(&[("dimensionName", names), ("dimensionValue", values)]);
        case.named(format!("dimensions {names:?} {values:?}"))
    };
    pairs.into_iter().map(pair).collect()
}

fn readings(base: &Case) -> Vec<Case> {
    let minutes = base.clone().with_all(&[("metricStatPeriod", "60"), ("metricCollectionTime", "600")]);
    let of = |queue: &str| minutes.clone().with("dimensionValue", queue);
    let mut cases = Vec::new();
    for (queue, ..) in METRICS {
        for stat in ["Average", "Maximum", "Minimum", "Sum", "SampleCount"] {
            cases.push(of(queue).with("metricStat", stat).named(format!("reads {queue} {stat}")).read(1));
        }
        let period = of(queue).with_all(&[("metricStatPeriod", "300"), ("metricCollectionTime", "900")]);
        cases.push(period.named(format!("reads {queue} of five minutes")).read(1));
        let earlier = of(queue).with("metricEndTimeOffset", "1500");
        cases.push(earlier.named(format!("reads {queue} of earlier")).read(1));
        let strict = of(queue).with("ignoreNullValues", "false");
        cases.push(strict.named(format!("reads {queue} without a minimum")).read(1));
    }
    for activation in ["3.9", "4", "4.1", "-1"] {
        let case = of("steady").with("activationTargetMetricValue", activation);
        cases.push(case.named(format!("reads steady above {activation}")).read(1));
    }
    for minimum in ["0", "-2", "3.5"] {
        let case = of("absent").with("minMetricValue", minimum);
        cases.push(case.named(format!("reads absent, minimum {minimum}")).read(1));
    }
    cases.push(of("absent").with("ignoreNullValues", "false").named("reads absent without a minimum").read(1));
    let other = of("steady").with_all(&[("dimensionName", "Other"), ("minMetricValue", "9")]);
    cases.push(other.named("reads another dimension").read(1));
    let unreachable = of("steady").with("awsEndpoint", "http://127.0.0.1:1");
    cases.push(unreachable.named("reads a service that is gone").read(1));
    cases
}
