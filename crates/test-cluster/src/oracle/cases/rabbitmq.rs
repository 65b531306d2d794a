//! Cases of `rabbitmq`. KEDA connects while it builds a trigger for AMQP, and only to read with HTTP.

use crate::oracle::case::Case;
use crate::oracle::edges::{BOOLEANS, FLOATS, INTEGERS, NAMES, Place, common, places, sweep, sweep_in};

pub(in crate::oracle) const USER: &str = "worker";
pub(in crate::oracle) const PASSWORD: &str = "w0rker";

/// Each has the same queues.
pub(in crate::oracle) const VHOSTS: [&str; 2] = ["/", "shop"];

/// The queues, how many messages each has, and how many of these a consumer has not acknowledged.
pub(in crate::oracle) const QUEUES: &[(&str, usize, usize)] =
    &[("queue-0", 0, 0), ("queue-3", 3, 0), ("queue-busy", 7, 2), ("orders-1", 5, 0), ("orders-2", 2, 0)];

const HTTP: &str = "http://worker:w0rker@${rabbitmq-http}/";
const AMQP: &str = "amqp://worker:w0rker@${rabbitmq-amqp}/";

const MODES: [&str; 5] =
    ["QueueLength", "MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime"];

fn base(host: &str) -> Case {
    let protocol = if host.starts_with("http") { "http" } else { "amqp" };
    let metadata = [("queueName", "queue-3"), ("mode", "QueueLength"), ("value", "5"), ("host", host)];
    Case::new("rabbitmq").with_all(&metadata).named(protocol)
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let (http, amqp) = (base(HTTP), base(AMQP));
    let mut cases = sweep(&http, "value", FLOATS);
    cases.extend(sweep(&http, "activationValue", FLOATS));
    cases.extend(sweep(&http.clone().without("mode").without("value").named("old"), "queueLength", FLOATS));
    cases.extend(sweep_in(&http, "queueLength", Place::Metadata, &["0", "5"]));
    cases.extend(sweep(&http, "pageSize", INTEGERS));
    cases.extend(sweep(&http, "useRegex", BOOLEANS));
    cases.extend(sweep(&http, "excludeUnacknowledged", BOOLEANS));
    cases.extend(sweep(&http, "unsafeSsl", BOOLEANS));
    cases.extend(sweep(&http, "queueName", NAMES));
    cases.extend(sweep(&http, "vhostName", NAMES));
    cases.extend(sweep(&http, "timeout", &["", "0", "1000", "1s", "-1s", "-5", "1.5", "x", "1h30m"]));
    cases.extend(sweep(&http, "operation", &["", "sum", "max", "avg", "Sum", "min"]));
    for base in [&http, &amqp] {
        cases.extend(sweep(base, "protocol", &["", "auto", "http", "amqp", "HTTP", "stomp"]));
        cases.extend(sweep(base, "mode", &["", "Unknown", "queueLength", "Other"]));
        cases.extend(sweep_in(base, "mode", Place::Metadata, &MODES));
        cases.extend(sweep_in(base, "tls", Place::Authentication, &["", "disable", "true", "Enable"]));
        for (name, value) in [
            ("useRegex", "true"),
            ("excludeUnacknowledged", "true"),
            ("timeout", "1000"),
            ("workloadIdentityResource", "x"),
        ] {
            cases.push(base.clone().with(name, value).auth(name, value).named(format!("{name}={value}")));
        }
    }
    cases.extend(places(&http, "host", HTTP, "http://other:1/"));
    let hosts = [
        "",
        "${rabbitmq-http}",
        "rabbit",
        "ftp://h",
        "HTTP://h/",
        "https://h:15671/vhost",
        "http://h/%2f",
        "http://h/a/b",
        "http://h/%zz",
        "http://h:x/",
        "://",
        "http://",
    ];
    cases.extend(sweep_in(&http, "host", Place::Metadata, &hosts));
    cases.extend(users(&http));
    cases.extend(oauth(&http));
    cases.extend(common(&http, "value"));
    cases.extend(readings(&http, &amqp));
    cases
}

fn users(base: &Case) -> Vec<Case> {
    let user = [("username", "worker"), ("password", "w0rker")];
    vec![
        base.clone().auth_all(&user).named("with a user"),
        base.clone().auth_all(&user[..1]).named("with a user without a password"),
        base.clone().auth_all(&user[1..]).named("with a password without a user"),
        base.clone().auth("cert", "x").named("with a certificate alone"),
        base.clone().auth("key", "x").named("with a key alone"),
        base.clone().auth_all(&[("cert", "x"), ("key", "x")]).named("with a pair and no TLS"),
        base.clone().auth_all(&[("cert", "x"), ("key", "x"), ("tls", "enable")]).named("with a pair that is none"),
        base.clone().auth_all(&[("ca", "x"), ("tls", "enable")]).named("with a CA that is none"),
    ]
}

fn oauth(base: &Case) -> Vec<Case> {
    let all = [("oauthTokenURI", "http://127.0.0.1:1/token"), ("clientID", "c"), ("clientSecret", "s")];
    let oauth = base.clone().auth_all(&all).named("oauth");
    let mut cases: Vec<Case> =
        all.iter().map(|(field, _)| oauth.clone().without(field).named(format!("without {field}"))).collect();
    cases.extend(sweep(
        &oauth,
        "authModes",
        &["", "oauth", "basic", "tls", "bearer", "apiKey", "custom", "oauth,basic", "oauth,tls", "OAuth"],
    ));
    cases.extend(sweep(base, "authModes", &["oauth", "basic", "tls", "bearer", "apiKey"]));
    cases.push(oauth.clone().auth_all(&[("username", "u"), ("password", "p")]).named("and a user"));
    cases.push(oauth.clone().auth("workloadIdentityResource", "x").named("and a workload identity"));
    cases.push(oauth.with("host", AMQP).named("over AMQP"));
    cases
}

fn readings(http: &Case, amqp: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    for base in [http, amqp] {
        for queue in ["queue-0", "queue-3", "queue-busy", "absent"] {
            cases.push(base.clone().with("queueName", queue).named(format!("reads {queue}")).read(1));
            let shop = base.clone().with_all(&[("queueName", queue), ("vhostName", "shop")]);
            cases.push(shop.named(format!("reads {queue} of shop")).read(1));
        }
        for activation in ["2", "3", "4"] {
            cases.push(
                base.clone().with("activationValue", activation).named(format!("reads above {activation}")).read(1),
            );
        }
    }
    let ready = http.clone().with_all(&[("queueName", "queue-busy"), ("excludeUnacknowledged", "true")]);
    cases.push(ready.named("reads only what is ready").read(1));
    for operation in ["sum", "max", "avg"] {
        for page_size in ["1", "100"] {
            let regex =
                [("useRegex", "true"), ("queueName", "^orders-.*$"), ("operation", operation), ("pageSize", page_size)];
            cases
                .push(http.clone().with_all(&regex).named(format!("reads a regex {operation} by {page_size}")).read(1));
        }
    }
    let none = http.clone().with_all(&[("useRegex", "true"), ("queueName", "^absent")]);
    cases.push(none.named("reads a regex without a match").read(1));
    let broken = http.clone().with_all(&[("useRegex", "true"), ("queueName", "(")]);
    cases.push(broken.named("reads a regex that is none").read(1));
    let busy = [("useRegex", "true"), ("queueName", "^queue-"), ("excludeUnacknowledged", "true")];
    cases.push(http.clone().with_all(&busy).named("reads a regex only what is ready").read(1));
    // Rates are of the moment, except that of a queue without any message.
    for mode in MODES {
        let quiet = http.clone().with_all(&[("queueName", "queue-0"), ("mode", mode)]);
        cases.push(quiet.named(format!("reads {mode} of queue-0")).read(1));
    }
    cases.extend(hosts_with_state(http, amqp));
    cases
}

/// Hosts whose users and virtual hosts count.
fn hosts_with_state(http: &Case, amqp: &Case) -> Vec<Case> {
    let mut cases = Vec::new();
    let of_http = ["/", "", "/%2F", "/%2f", "//", "/shop", "/shop/", "/absent", "/?x=y", "/#x"];
    let of_amqp = ["/", "", "/%2F", "/%2f", "//", "/shop", "/?heartbeat=7", "/#x"];
    let refused = ["/shop/", "/absent", "/%zz"];
    for (base, server, paths) in [(http, "${rabbitmq-http}", &of_http[..]), (amqp, "${rabbitmq-amqp}", &of_amqp)] {
        let scheme = if server.contains("http") { "http" } else { "amqp" };
        for path in paths {
            let host = format!("{scheme}://worker:w0rker@{server}{path}");
            cases.push(base.clone().with("host", &host).named(format!("reads at {path:?}")).read(1));
        }
        let other = base.clone().with("host", &format!("{scheme}://other:wr0ng@{server}/"));
        let user = other.clone().auth_all(&[("username", USER), ("password", PASSWORD)]);
        cases.push(user.named("reads with a user besides that of the host").read(1));
        let name = if scheme == "http" { "reads with a wrong password" } else { "refused: wrong password" };
        cases.push(other.named(name).read(1));
    }
    for path in refused {
        let host = format!("amqp://worker:w0rker@${{rabbitmq-amqp}}{path}");
        cases.push(amqp.clone().with("host", &host).named(format!("refused: at {path:?}")).read(1));
    }
    for host in ["amqps://worker:w0rker@${rabbitmq-amqp}/", "amqp://${rabbitmq-amqp}/", "amqp://127.0.0.1:1/"] {
        cases.push(amqp.clone().with("host", host).named(format!("refused: host {host:?}")).read(1));
    }
    cases
}
