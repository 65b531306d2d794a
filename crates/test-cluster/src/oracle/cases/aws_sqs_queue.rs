//! Cases of `aws-sqs-queue`. KEDA connects only to read.

use super::aws::{KEYS, identities};
use crate::oracle::case::Case;
use crate::oracle::edges::{BOOLEANS, INTEGERS, NAMES, Place, common, places, sweep, sweep_in};

/// Queues: how many messages each has, how many of them were received, and how many more are delayed.
pub(in crate::oracle) const QUEUES: [(&str, usize, usize, usize); 7] = [
    ("empty", 0, 0, 0),
    ("one", 1, 0, 0),
    ("busy", 12, 5, 2),
    ("taken", 3, 3, 0),
    ("later", 0, 0, 4),
    ("many", 40, 0, 0),
    ("orders.fifo", 2, 0, 0),
];

fn base() -> Case {
    let metadata = [("queueURL", "orders"), ("awsRegion", "eu-west-1"), ("awsEndpoint", "${moto}")];
    Case::new("aws-sqs-queue").with_all(&metadata).auth_all(&KEYS)
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let base = base();
    let mut cases = sweep(&base, "queueLength", INTEGERS);
    cases.extend(sweep(&base, "activationQueueLength", INTEGERS));
    cases.extend(sweep(&base, "scaleOnInFlight", BOOLEANS));
    cases.extend(sweep(&base, "scaleOnDelayed", BOOLEANS));
    cases.extend(sweep(&base, "queueURL", NAMES));
    let urls = [
        "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/orders.fifo",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/orders/",
        "https://sqs.eu-west-1.amazonaws.com/123456789012/",
        "https://sqs.eu-west-1.amazonaws.com/orders",
        "https://sqs.eu-west-1.amazonaws.com",
        "https://sqs.eu-west-1.amazonaws.com//orders",
        "https://sqs.eu-west-1.amazonaws.com/1/orders?x=/y",
        "https://sqs.eu-west-1.amazonaws.com/1/orders#x/y",
        "https://sqs.eu-west-1.amazonaws.com/1/or%64ers",
        "https://sqs.eu-west-1.amazonaws.com/1/or%2Fders",
        "https://sqs.eu-west-1.amazonaws.com/1/or%zzders",
        "HTTPS://sqs/1/orders",
        "sqs://host/1/orders",
        "http://[::1]:4566/1/orders",
        "http://host:port/1/orders",
        "/1/orders",
        "/orders",
        "1/orders",
        "sqs.eu-west-1.amazonaws.com/1/orders",
        "urn:sqs:orders",
        "https:orders",
        "arn:aws:sqs:eu-west-1:1:orders",
        "?",
    ];
    cases.extend(sweep_in(&base, "queueURL", Place::Metadata, &urls));
    cases.extend(places(&base, "queueURL", "orders", "others"));
    cases.extend(common(&base, "queueLength"));
    cases.extend(identities(&base));
    cases.extend(readings(&base));
    cases
}

fn readings(base: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for (queue, ..) in QUEUES {
        let url = format!("${{moto}}/123456789012/{queue}");
        for queue in [queue, &url] {
            for (in_flight, delayed) in [("true", "true"), ("true", "false"), ("false", "true"), ("false", "false")] {
                let flags = [("queueURL", queue), ("scaleOnInFlight", in_flight), ("scaleOnDelayed", delayed)];
                let name = format!("reads {queue} in flight {in_flight} delayed {delayed}");
                cases.push(base.clone().with_all(&flags).named(name).read(1));
            }
        }
    }
    for activation in ["39", "40", "41", "-1", "0"] {
        let case = base.clone().with_all(&[("queueURL", "many"), ("activationQueueLength", activation)]);
        cases.push(case.named(format!("reads many above {activation}")).read(1));
    }
    for queue in ["absent", "${moto}/123456789012/absent", "${moto}/1/absent", "Many"] {
        cases.push(base.clone().with("queueURL", queue).named(format!("reads {queue}")).read(1));
    }
    let unreachable = base.clone().with("awsEndpoint", "http://127.0.0.1:1");
    cases.push(unreachable.named("reads a service that is gone").read(1));
    cases
}
