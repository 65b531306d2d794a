//! Cases of `nats-jetstream`. KEDA connects only to read.

use crate::oracle::case::Case;
use crate::oracle::edges::{BOOLEANS, INTEGERS, NAMES, Place, common, give, places, sweep, sweep_in};

/// Consumers by stream: how many messages they took, and how many of those they acknowledged.
pub(in crate::oracle) const CONSUMERS: [(&str, &str, usize, usize); 9] = [
    ("empty", "worker", 0, 0),
    ("one", "worker", 0, 0),
    ("hundred", "fresh", 0, 0),
    ("hundred", "busy", 40, 30),
    ("hundred", "slow", 10, 0),
    ("hundred", "done", 100, 100),
    ("hundred", "last", 100, 99),
    ("ten", "worker", 4, 1),
    ("dotted-name", "a_worker-1", 2, 2),
];

/// Streams, with how many messages each has.
pub(in crate::oracle) const STREAMS: [(&str, usize); 5] =
    [("empty", 0), ("one", 1), ("ten", 10), ("hundred", 100), ("dotted-name", 3)];

/// Accounts, each with a stream `orders`, a consumer `worker` and so many messages.
pub(in crate::oracle) const ACCOUNTS: [(&str, &str, usize); 2] = [("SHOP", "shop", 3), ("BANK", "bank", 8)];

fn base() -> Case {
    Case::new("nats-jetstream").with_all(&[
        ("natsServerMonitoringEndpoint", "${nats}"),
        ("account", "$G"),
        ("stream", "ten"),
        ("consumer", "worker"),
    ])
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let base = base();
    let mut cases = sweep(&base, "lagThreshold", INTEGERS);
    cases.extend(sweep(&base, "activationLagThreshold", INTEGERS));
    cases.extend(sweep(&base, "stream", NAMES));
    cases.extend(sweep(&base, "consumer", NAMES));
    cases.extend(sweep(&base, "useHttps", BOOLEANS));
    cases.extend(sweep(&base, "account", NAMES));
    cases.extend(sweep(&base.clone().without("account").named("no account"), "accountID", NAMES));
    cases.extend(places(&base, "account", "$G", "OTHER"));
    cases.extend(places(&base.clone().without("account"), "accountID", "$G", "OTHER"));
    cases.extend(places(&base, "natsServerMonitoringEndpoint", "${nats}", "127.0.0.1:1"));
    cases.extend(places(&base, "stream", "ten", "one"));
    cases.extend(common(&base, "lagThreshold"));
    for https in ["false", "true"] {
        let base = base.clone().with("useHttps", https).named(format!("useHttps {https}")).read(1);
        let endpoints = [
            "${nats}/",
            "${nats}/jsz",
            "http://${nats}",
            "https://${nats}",
            "nats://${nats}",
            "127.0.0.1",
            "127.0.0.1:0",
            "127.0.0.1:x",
            "127.0.0.1:99999",
            "127.0.0.1:1",
            "[::1]:1",
            "::1",
            "user:pass@${nats}",
            "host name:1",
            ":8222",
            "${nats}?x=y",
            "${nats}#x",
        ];
        cases.extend(sweep_in(&base, "natsServerMonitoringEndpoint", Place::Metadata, &endpoints));
    }
    cases.extend(readings(&base));
    cases
}

fn readings(base: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for (stream, consumer, _, _) in CONSUMERS {
        let case = base.clone().with_all(&[("stream", stream), ("consumer", consumer)]);
        cases.push(case.clone().named(format!("reads {stream} {consumer}")).read(1));
        cases.push(case.named(format!("reads {stream} {consumer} twice")).read(2));
    }
    for activation in ["8", "9", "10", "-1", "0"] {
        cases.push(give(base, "activationLagThreshold", Place::Metadata, activation).named("read").read(1));
    }
    for (stream, consumer) in [("absent", "worker"), ("ten", "absent"), ("ten", "Worker"), ("TEN", "worker")] {
        let case = base.clone().with_all(&[("stream", stream), ("consumer", consumer)]);
        cases.push(case.named(format!("reads {stream} {consumer}")).read(1));
    }
    for account in ["$G", "G", "OTHER", "$SYS"] {
        cases.push(base.clone().with("account", account).named(format!("reads account {account}")).read(1));
        let by_id = base.clone().without("account").with("accountID", account);
        cases.push(by_id.named(format!("reads account with id {account}")).read(1));
    }
    let orders = base.clone().with_all(&[
        ("natsServerMonitoringEndpoint", "${nats-accounts}"),
        ("stream", "orders"),
        ("consumer", "worker"),
    ]);
    for account in ["SHOP", "BANK", "PLAIN", "shop", "$G"] {
        cases.push(orders.clone().with("account", account).named(format!("reads orders of {account}")).read(1));
    }
    let name_and_id = orders.with_all(&[("account", "BANK"), ("accountID", "SHOP")]);
    cases.push(name_and_id.clone().named("reads by id and name").read(1));
    cases.push(name_and_id.auth("account", "SHOP").named("reads by authentication").read(1));
    for endpoint in ["127.0.0.1:1", "http://${nats}", "${nats}/x", "host.invalid:8222"] {
        cases.push(give(base, "natsServerMonitoringEndpoint", Place::Metadata, endpoint).named("read").read(1));
    }
    cases.push(base.clone().with("useHttps", "true").named("reads a server without TLS over TLS").read(1));
    cases
}
