//! The RabbitMQ trigger against a real broker, over both of its protocols, and on a cluster.

use std::sync::Arc;

use kedge_scalers::Scaler;
use kedge_test_cluster::rabbitmq::{PASSWORD, RabbitBroker, RabbitClient, USER};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::json;

use super::cluster;
use super::rotation::failures;
use super::triggers::{build, read, registry, value};

fn over_amqp(broker: &RabbitBroker) -> String {
    format!("amqp://{USER}:{PASSWORD}@{}", broker.amqp())
}

fn over_http(broker: &RabbitBroker) -> String {
    format!("http://{USER}:{PASSWORD}@{}", broker.management())
}

/// A trigger for `orders`, with more parameters or others.
fn orders(host: &str, more: &[(&str, &str)]) -> Arc<dyn Scaler> {
    let own = [("host", host), ("queueName", "orders"), ("activationValue", "2")];
    let metadata = [&own[..], more].concat();
    build(&registry(), "rabbitmq", &metadata, &[])
}

/// Waits for a value: statistics are not of this moment.
async fn until(scaler: &dyn Scaler, expected: f64) -> bool {
    let reached = async || match read(scaler).await {
        Ok(known) if known.values == [expected] => Ok(known.activity == kedge_scalers::Activity::Active),
        other => Err(other),
    };
    wait_for("the value is the expected one", DEADLINE, reached)
        .await
        .unwrap_or_else(|error| panic!("{expected}: {error}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_ready_messages_of_a_queue_are_read_over_amqp() {
    let mut broker = RabbitBroker::start("rabbitmq-amqp", &[]).await.unwrap();
    let scaler = orders(&over_amqp(&broker), &[]);
    let missing = read(&*scaler).await.unwrap_err();
    assert_eq!(missing.reason(), "SourceWithoutValue");
    let text = missing.to_string();
    assert!(text.contains("NOT_FOUND - no queue 'orders' in vhost '/'; check `queueName`"), "{text}");
    broker.create_queue("orders").await.unwrap();
    assert_eq!(value(&*scaler).await, (0.0, false), "empty");
    broker.publish("orders", 2).await.unwrap();
    assert_eq!(value(&*scaler).await, (2.0, false), "at the activation value");
    broker.publish("orders", 98).await.unwrap();
    assert_eq!(value(&*scaler).await, (100.0, true), "many");
    let mut client = RabbitClient::connect(broker.amqp()).unwrap();
    client.take("orders", 30).unwrap();
    assert_eq!(value(&*scaler).await, (70.0, true), "those that are not acknowledged do not count");
    drop(client);
    assert!(until(&*scaler, 100.0).await, "they come back");
    broker.purge("orders").await.unwrap();
    assert_eq!(value(&*scaler).await, (0.0, false), "drained");

    broker.kill().unwrap();
    let gone = read(&*scaler).await.unwrap_err();
    assert!(["SourceUnreachable", "SourceMalformed"].contains(&gone.reason()), "{gone}");
    broker.start_again().await.unwrap();
    // It was killed, perhaps before it wrote the queue to disk.
    broker.create_queue("orders").await.unwrap();
    assert!(!until(&*scaler, 0.0).await, "back, without its messages");
    broker.delete_queue("orders").await.unwrap();
    assert_eq!(read(&*scaler).await.unwrap_err().reason(), "SourceWithoutValue", "a queue that is gone has no number");
}

#[tokio::test(flavor = "multi_thread")]
async fn statistics_are_read_over_the_management_api() {
    let mut broker = RabbitBroker::start("rabbitmq-http", &[]).await.unwrap();
    let host = over_http(&broker);
    let (all, ready) = (orders(&host, &[]), orders(&host, &[("excludeUnacknowledged", "true")]));
    let missing = read(&*all).await.unwrap_err().to_string();
    assert!(missing.contains("no queue \"orders\" in this vhost, or no such vhost; check `queueName`"), "{missing}");
    broker.create_queue("orders").await.unwrap();
    // Without statistics at first, of which KEDA makes 0.
    let new = read(&*all).await;
    assert!(new.as_ref().is_err_and(|error| error.reason() == "SourceWithoutValue"), "{new:?}");
    assert!(!until(&*all, 0.0).await, "empty");
    broker.publish("orders", 20).await.unwrap();
    assert!(until(&*all, 20.0).await, "many");
    let mut client = RabbitClient::connect(broker.amqp()).unwrap();
    client.take("orders", 5).unwrap();
    assert!(until(&*ready, 15.0).await);
    assert!(until(&*all, 20.0).await, "those that are not acknowledged count");
    let rate = orders(&host, &[("mode", "DeliverGetRate"), ("value", "1")]);
    let delivered = async || match read(&*rate).await {
        Ok(known) if known.values[0] > 0.0 => Ok(()),
        other => {
            client.take("orders", 1).map_err(|error| format!("{error:#} {other:?}"))?;
            Err(format!("{other:?}"))
        }
    };
    wait_for("messages are delivered", DEADLINE, delivered).await.unwrap();
    drop(client);
    assert!(until(&*ready, 20.0).await, "they come back");
    broker.purge("orders").await.unwrap();
    assert!(!until(&*all, 0.0).await, "drained");

    broker.kill().unwrap();
    let gone = read(&*all).await.unwrap_err();
    assert!(["SourceUnreachable", "SourceMalformed"].contains(&gone.reason()), "{gone}");
    broker.start_again().await.unwrap();
    // It was killed, perhaps before it wrote the queue to disk.
    broker.create_queue("orders").await.unwrap();
    assert!(!until(&*all, 0.0).await, "back, without its messages");
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_whose_names_match_are_read_together_and_names_need_no_care() {
    let broker = RabbitBroker::start("rabbitmq-regex", &[]).await.unwrap();
    let host = over_http(&broker);
    for (queue, count) in [("orders-eu", 6), ("orders-us", 3), ("bills", 9)] {
        broker.create_queue(queue).await.unwrap();
        broker.publish(queue, count).await.unwrap();
    }
    let matching = |pattern: &str, more: &[(&str, &str)]| {
        orders(&host, &[&[("useRegex", "true"), ("queueName", pattern)], more].concat())
    };
    for (operation, expected) in [("sum", 9.0), ("avg", 4.0), ("max", 6.0)] {
        assert!(until(&*matching("^orders-", &[("operation", operation)]), expected).await, "{operation}");
    }
    assert_eq!(value(&*matching("^none$", &[])).await, (0.0, false), "no queue matches");
    let error = read(&*matching("^orders-", &[("pageSize", "1")])).await.unwrap_err().to_string();
    assert!(error.contains("raise `pageSize`"), "{error}");
    let error = read(&*matching("(", &[])).await.unwrap_err().to_string();
    assert!(error.contains("check that `queueName` is a regular expression"), "{error}");
    // KEDA finds it over AMQP only.
    broker.create_queue("my%20%2B%2Fqueue").await.unwrap();
    broker.publish("my +/queue", 4).await.unwrap();
    for host in [&host, &over_amqp(&broker)] {
        assert!(until(&*orders(host, &[("queueName", "my +/queue")]), 4.0).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_name_what_to_check_and_no_secret() {
    let broker = RabbitBroker::start("rabbitmq-refusals", &[]).await.unwrap();
    broker.create_queue("orders").await.unwrap();
    broker.ask("PUT", "/vhosts/bank", None).await.unwrap();
    let worker = json!({ "password": "w0rker", "tags": "management" });
    broker.ask("PUT", "/users/worker", Some(worker)).await.unwrap();
    let permissions = json!({ "configure": "", "write": "", "read": ".*" });
    broker.ask("PUT", "/permissions/%2F/worker", Some(permissions)).await.unwrap();
    let (amqp, http) = (broker.amqp(), broker.management());
    let as_worker = orders(&format!("amqp://worker:w0rker@{amqp}"), &[]);
    assert_eq!(value(&*as_worker).await, (0.0, false), "who may only read");
    let rows = [
        (format!("amqp://worker:wr0ng@{amqp}"), true, "check the user and the password in `host`"),
        (format!("http://worker:wr0ng@{http}"), true, "check the user and the password in `host`"),
        (format!("amqp://worker:w0rker@{amqp}/bank"), true, "check the vhost: `vhostName`, or the path of `host`"),
        (format!("amqp://worker:w0rker@{amqp}/none"), false, "check the vhost: `vhostName`, or the path of `host`"),
        (format!("http://worker:w0rker@{http}/bank"), true, "and permissions in the vhost"),
        (
            format!("http://worker:w0rker@{http}/none"),
            false,
            "check `queueName`, and `vhostName` or the path of `host`",
        ),
        (format!("amqp://worker:w0rker@{amqp}?auth_mechanism=external"), false, "EXTERNAL is not offered"),
    ];
    for (host, is_denied, expected) in rows {
        let error = read(&*orders(&host, &[])).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains(expected), "{host}: {text}");
        assert_eq!(error.is_denied(), is_denied, "{host}: {text}");
        assert!(!["wr0ng", "w0rker", PASSWORD].iter().any(|secret| text.contains(secret)), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn over_tls_the_certificate_counts() {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("server.crt"), &certificate).unwrap();
    std::fs::write(path("server.key"), key).unwrap();
    let port = kedge_test_cluster::ports::Port::reserve().unwrap();
    let lines = [
        format!("listeners.ssl.1 = 127.0.0.1:{}", port.number),
        format!("ssl_options.certfile = {}", path("server.crt")),
        format!("ssl_options.keyfile = {}", path("server.key")),
        "ssl_options.verify = verify_none".to_owned(),
    ];
    let broker = RabbitBroker::start("rabbitmq-tls", &lines).await.unwrap();
    broker.create_queue("orders").await.unwrap();
    broker.publish("orders", 3).await.unwrap();
    let host = format!("amqps://{USER}:{PASSWORD}@127.0.0.1:{}", port.number);
    let with = |more: &[(&str, &str)], auth: &[(&str, &str)]| {
        let metadata = [&[("host", host.as_str()), ("queueName", "orders")], more].concat();
        build(&registry(), "rabbitmq", &metadata, auth)
    };
    let trusting = [("tls", "enable"), ("ca", certificate.as_str())];
    assert_eq!(value(&*with(&[], &trusting)).await, (3.0, true));
    assert_eq!(value(&*with(&[("unsafeSsl", "true")], &[("tls", "enable")])).await, (3.0, true));
    for (name, scaler) in [("no CA", with(&[], &[])), ("unsafeSsl alone", with(&[("unsafeSsl", "true")], &[]))] {
        let error = read(&*scaler).await.unwrap_err();
        assert_eq!(error.reason(), "SourceUntrusted", "{name}: {error}");
    }
}

/// Creates a user who may read statistics and the queues of `/`, or changes the password of one.
async fn set_user(broker: &RabbitBroker, name: &str, password: &str) {
    let user = json!({ "password": password, "tags": "management" });
    broker.ask("PUT", &format!("/users/{name}"), Some(user)).await.unwrap();
    let permissions = json!({ "configure": "", "write": "", "read": ".*" });
    broker.ask("PUT", &format!("/permissions/%2F/{name}"), Some(permissions)).await.unwrap();
}

/// Closes the connections of a user, as the broker lists them.
async fn close_connections(broker: &RabbitBroker, user: &str) {
    let close = async || {
        let listed = broker.ask("GET", "/connections", None).await.map_err(|error| format!("{error:#}"))?;
        let own = listed.as_array().into_iter().flatten().filter(|connection| connection["user"] == user);
        let names: Vec<String> = own.filter_map(|connection| Some(connection["name"].as_str()?.to_owned())).collect();
        for name in &names {
            let path = name.replace(' ', "%20").replace('>', "%3E");
            broker.ask("DELETE", &format!("/connections/{path}"), None).await.map_err(|error| format!("{error:#}"))?;
        }
        if names.is_empty() { Err("none is listed".to_owned()) } else { Ok(()) }
    };
    wait_for("the connections are closed", DEADLINE, close).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn queues_scale_deployments_from_zero_and_back_and_rotated_credentials_fail_no_reading() {
    let broker = RabbitBroker::start("rabbitmq-scaling", &[]).await.unwrap();
    let namespace = TestNamespace::create(cluster().await, "rabbitmq");
    let secret = |name: &str, username: &str, password: &str| {
        let data = json!({ "username": username, "password": password });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": name }, "stringData": data })
    };
    let authentication = |name: &str| {
        let reference = |key: &str| json!({ "parameter": key, "name": name, "key": key });
        let spec = json!({ "secretTargetRef": [reference("username"), reference("password")] });
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": name }, "spec": spec })
    };
    let hosts = [("amqp", format!("amqp://{}/", broker.amqp())), ("http", format!("http://{}/", broker.management()))];
    for (name, host) in &hosts {
        broker.create_queue(name).await.unwrap();
        set_user(&broker, name, "w0rker").await;
        let metadata = json!({ "host": host, "queueName": name, "mode": "QueueLength", "value": "5" });
        let trigger = json!({ "type": "rabbitmq", "metadata": metadata, "authenticationRef": { "name": name } });
        namespace.apply([
            secret(name, name, "w0rker"),
            authentication(name),
            deployment(name, 0),
            scaled_object(name, [trigger], json!({})),
        ]);
        broker.publish(name, 14).await.unwrap();
    }
    for (name, _) in &hosts {
        namespace.until_replicas(name, 3).await;
    }
    let before = failures(&namespace).await;
    // Connections stay signed in while the password changes. Each request over HTTP has it: there, another user comes first.
    set_user(&broker, "amqp", "r0tated").await;
    namespace.apply([secret("amqp", "amqp", "r0tated")]);
    set_user(&broker, "http-2", "r0tated").await;
    namespace.apply([secret("http", "http-2", "r0tated")]);
    for (name, _) in &hosts {
        broker.publish(name, 6).await.unwrap();
    }
    for (name, _) in &hosts {
        namespace.until_replicas(name, 4).await;
    }
    // From here on, only the new credentials are of use.
    close_connections(&broker, "amqp").await;
    broker.ask("DELETE", "/users/http", None).await.unwrap();
    for (name, _) in &hosts {
        broker.purge(name).await.unwrap();
        namespace.until_replicas(name, 0).await;
    }
    assert_eq!(failures(&namespace).await, before);
}
