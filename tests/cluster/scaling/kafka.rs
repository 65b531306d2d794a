//! The Kafka triggers against a real broker, and on a cluster.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use kedge_scalers::{Registry, Scaler};
use kedge_test_cluster::http_source::{HttpSource, SourceResponse};
use kedge_test_cluster::kafka::{KafkaServer, PASSWORD, ROTATED_USER, STRANGER, STRANGER_PASSWORD, USER};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::json;
use tokio::sync::OnceCell;

use super::cluster;
use super::rotation::failures;
use super::triggers::{build, read, registry, value};

/// One broker for the tests that neither kill it nor count all of its topics. Each has topics and groups of its own.
static SHARED: OnceCell<KafkaServer> = OnceCell::const_new();

async fn shared() -> &'static KafkaServer {
    SHARED.get_or_init(async || KafkaServer::start("kafka-shared").await.unwrap()).await
}

/// A trigger for group `workers`, with a threshold that limits nothing.
fn group(
    registry: &Registry,
    trigger_type: &str,
    address: &str,
    more: &[(&str, &str)],
    auth: &[(&str, &str)],
) -> Arc<dyn Scaler> {
    let mut metadata = vec![("bootstrapServers", address), ("consumerGroup", "workers"), ("lagThreshold", "1000")];
    metadata.extend_from_slice(more);
    build(registry, trigger_type, &metadata, auth)
}

async fn refusal(scaler: &dyn Scaler) -> String {
    read(scaler).await.unwrap_err().to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_of_a_group_is_read_and_what_is_missing_is_an_error() {
    let mut server = KafkaServer::start("kafka-lag").await.unwrap();
    let (registry, address) = (registry(), server.address());
    let kafka = |more: &[(&str, &str)]| group(&registry, "kafka", &address, more, &[]);
    let orders = kafka(&[("topic", "orders"), ("activationLagThreshold", "2")]);
    let missing = refusal(&*orders).await;
    assert!(missing.contains("UNKNOWN_TOPIC_OR_PARTITION: there is no topic \"orders\"; check `topic`"), "{missing}");

    let mut client = server.client().unwrap();
    client.create_topic("orders", 3).await.unwrap();
    // The first question makes the broker create the topic that holds offsets.
    let first = async || read(&*orders).await.map(|known| known.values).map_err(|error| error.to_string());
    let first = wait_for("the fresh broker knows the group", DEADLINE, first).await.unwrap();
    assert_eq!(first, [3.0], "no offset counts one for each partition");
    assert_eq!(value(&*orders).await, (3.0, true));
    let invalid = kafka(&[("topic", "orders"), ("scaleToZeroOnInvalidOffset", "true")]);
    assert_eq!(value(&*invalid).await, (0.0, false));
    let earliest = kafka(&[("topic", "orders"), ("offsetResetPolicy", "earliest")]);
    assert_eq!(value(&*earliest).await, (0.0, false), "empty");
    client.produce("orders", 0, 40).await.unwrap();
    client.produce("orders", 1, 2).await.unwrap();
    assert_eq!(value(&*earliest).await, (42.0, true), "all that is kept");
    client.delete_before("orders", 0, 30).await.unwrap();
    assert_eq!(value(&*earliest).await, (12.0, true), "some is not kept");
    let unknown = refusal(&*kafka(&[])).await;
    assert!(unknown.contains("group \"workers\" has committed no offsets"), "{unknown}");
    for (partition, offset) in [(0, 40), (1, 0), (2, 0)] {
        client.commit("workers", "orders", partition, offset).await.unwrap();
    }
    assert_eq!(value(&*orders).await, (2.0, false), "a few, at the activation value");
    client.produce("orders", 2, 500).await.unwrap();
    assert_eq!(value(&*orders).await, (502.0, true), "many");
    assert_eq!(value(&*kafka(&[("topic", "orders"), ("partitionLimitation", "0-1")])).await.0, 2.0);
    client.create_topic("payments", 1).await.unwrap();
    client.produce("payments", 0, 7).await.unwrap();
    assert_eq!(value(&*kafka(&[])).await.0, 502.0, "topics without a committed offset are not known");
    client.commit("workers", "payments", 0, 5).await.unwrap();
    assert_eq!(value(&*kafka(&[])).await.0, 504.0);
    for (partition, offset) in [(1, 2), (2, 500)] {
        client.commit("workers", "orders", partition, offset).await.unwrap();
    }
    assert_eq!(value(&*orders).await, (0.0, false), "drained");
    client.commit("workers", "orders", 2, 600).await.unwrap();
    assert_eq!(value(&*orders).await, (-100.0, false), "a group that is ahead");
    read_several_topics_or_all(&server).await;

    // Gone, and back, with its data.
    server.kill().await.unwrap();
    let gone = read(&*orders).await.unwrap_err();
    assert_eq!(gone.reason(), "SourceUnreachable", "{gone}");
    server.start_again().await.unwrap();
    let back = async || read(&*orders).await.map(|known| known.values).map_err(|error| error.to_string());
    assert_eq!(wait_for("kafka is back", DEADLINE, back).await.unwrap(), [-100.0]);
    let mut client = server.client().unwrap();
    client.delete_topic("orders").await.unwrap();
    let deleted = async || match read(&*orders).await {
        Ok(known) => Err(format!("{known:?}")),
        Err(error) => Ok(error.to_string()),
    };
    let deleted = wait_for("the deleted topic is gone", DEADLINE, deleted).await.unwrap();
    assert!(deleted.contains("UNKNOWN_TOPIC_OR_PARTITION"), "{deleted}");
}

/// On a broker with two more topics, of three partitions and of one.
async fn read_several_topics_or_all(server: &KafkaServer) {
    let (registry, address) = (registry(), server.address());
    let mut client = server.client().unwrap();
    for (topic, count) in [("returns", 5), ("refunds", 7)] {
        client.create_topic(topic, 1).await.unwrap();
        client.produce(topic, 0, count).await.unwrap();
        client.commit("packers", topic, 0, 1).await.unwrap();
    }
    let apache = |more: &[(&str, &str)]| {
        let metadata = [&[("consumerGroup", "packers")], more].concat();
        group(&registry, "apache-kafka", &address, &metadata, &[])
    };
    assert_eq!(value(&*apache(&[("topic", "returns,refunds")])).await, (10.0, true));
    assert_eq!(value(&*apache(&[("topic", "returns, refunds, returns,")])).await, (10.0, true));
    let without_members = refusal(&*apache(&[])).await;
    assert!(without_members.contains("group \"packers\" has no members"), "{without_members}");
    client.join("packers").await.unwrap();
    // Topics without an offset of the group count one for each partition: three, one, and the one in which the broker keeps offsets.
    assert_eq!(value(&*apache(&[])).await, (10.0 + 3.0 + 1.0 + 1.0, true));
}

#[tokio::test(flavor = "multi_thread")]
async fn users_sign_in_and_refusals_name_no_secret() {
    let server = shared().await;
    let (registry, address) = (registry(), server.sasl_address());
    let mut client = server.client().unwrap();
    client.create_topic("signed-orders", 1).await.unwrap();
    client.produce("signed-orders", 0, 9).await.unwrap();
    client.commit("workers", "signed-orders", 0, 2).await.unwrap();
    let orders = |trigger_type: &str, sasl: &str, auth: &[(&str, &str)]| {
        group(&registry, trigger_type, &address, &[("topic", "signed-orders"), ("sasl", sasl)], auth)
    };
    let user = [("username", USER), ("password", PASSWORD)];
    for sasl in ["plaintext", "scram_sha256", "scram_sha512"] {
        for trigger_type in ["kafka", "apache-kafka"] {
            assert_eq!(value(&*orders(trigger_type, sasl, &user)).await, (7.0, true), "{trigger_type} {sasl}");
        }
        let error = read(&*orders("kafka", sasl, &[("username", USER), ("password", "wr0ng")])).await.unwrap_err();
        assert!(error.is_denied(), "{error}");
        let text = error.to_string();
        assert!(text.contains("SASL_AUTHENTICATION_FAILED") && !text.contains("wr0ng"), "{text}");
    }
    let stranger = [("username", STRANGER), ("password", STRANGER_PASSWORD)];
    let error = read(&*orders("kafka", "plaintext", &stranger)).await.unwrap_err();
    assert!(
        error.is_denied() && error.to_string().contains("AUTHORIZATION_FAILED: allow the user to describe"),
        "{error}"
    );
    let anonymous = refusal(&*orders("kafka", "none", &[])).await;
    assert!(anonymous.contains("if it wants a user, set `sasl`"), "{anonymous}");
    let unwanted =
        group(&registry, "kafka", &server.address(), &[("topic", "signed-orders"), ("sasl", "plaintext")], &user);
    let unwanted = refusal(&*unwanted).await;
    assert!(unwanted.contains("ILLEGAL_SASL_STATE") || unwanted.contains("broke off"), "{unwanted}");

    // A token that is not signed, as this broker accepts it.
    let encode = |part: serde_json::Value| URL_SAFE_NO_PAD.encode(part.to_string());
    let claims = json!({ "sub": USER, "iat": 1_700_000_000, "exp": 4_000_000_000_u64 });
    let token = format!("{}.{}.", encode(json!({ "alg": "none" })), encode(claims));
    let source = HttpSource::start().await.unwrap();
    let endpoint = format!("{}/json/token", source.url());
    let oauth = || {
        let auth = [
            ("username", "client"),
            ("password", "s3cret"),
            ("oauthTokenEndpointUri", endpoint.as_str()),
            ("scopes", "kafka"),
        ];
        orders("kafka", "oauthbearer", &auth)
    };
    source.set("token", SourceResponse::raw("200 OK", json!({ "access_token": token, "expires_in": 600 }).to_string()));
    assert_eq!(value(&*oauth()).await, (7.0, true));
    source.set("token", SourceResponse::raw("200 OK", json!({ "access_token": "n0nsense" }).to_string()));
    let other = group(
        &registry,
        "kafka",
        &address,
        &[("topic", "signed-orders"), ("sasl", "oauthbearer")],
        &[("username", "other"), ("password", "s3cret"), ("oauthTokenEndpointUri", endpoint.as_str())],
    );
    let error = read(&*other).await.unwrap_err();
    assert!(error.is_denied() && !error.to_string().contains("n0nsense"), "{error}");

    // The connection that has signed in lives on; one that begins needs the new password.
    let before = orders("kafka", "scram_sha256", &user);
    value(&*before).await;
    server.set_password(USER, "n3w").await.unwrap();
    assert_eq!(value(&*before).await, (7.0, true));
    assert_eq!(read_once_known(server, "signed-orders", USER, "n3w").await, [7.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_needs_a_trusted_broker_and_the_certificate_that_it_wants() {
    let server = shared().await;
    let (registry, address) = (registry(), server.tls_address());
    let mut client = server.client().unwrap();
    client.find_coordinator("workers").await.unwrap();
    client.create_topic("encrypted-orders", 1).await.unwrap();
    client.produce("encrypted-orders", 0, 3).await.unwrap();
    let (ca, cert, key) = (&server.certificate, &server.client_certificate, &server.client_key);
    let orders = |more: &[(&str, &str)], auth: &[(&str, &str)]| {
        let metadata =
            [&[("topic", "encrypted-orders"), ("tls", "enable"), ("offsetResetPolicy", "earliest")], more].concat();
        group(&registry, "kafka", &address, &metadata, auth)
    };
    let pair = [("cert", cert.as_str()), ("key", key.as_str())];
    assert_eq!(value(&*orders(&[], &[&pair[..], &[("ca", ca)]].concat())).await, (3.0, true));
    assert_eq!(value(&*orders(&[("unsafeSsl", "true")], &pair)).await, (3.0, true));
    let untrusted = read(&*orders(&[], &pair)).await.unwrap_err();
    assert_eq!(untrusted.reason(), "SourceUntrusted", "{untrusted}");
    let unknown = read(&*orders(&[], &[("ca", ca)])).await.unwrap_err();
    assert!(["SourceUntrusted", "SourceMalformed"].contains(&unknown.reason()), "{unknown}");
}

/// What a trigger reads once the broker accepts this password: it learns of it after it has confirmed the change.
async fn read_once_known(server: &KafkaServer, topic: &str, user: &str, password: &str) -> Vec<f64> {
    let (registry, address) = (registry(), server.sasl_address());
    let auth = [("username", user), ("password", password)];
    let known = async || {
        let scaler = group(&registry, "kafka", &address, &[("topic", topic), ("sasl", "scram_sha256")], &auth);
        read(&*scaler).await.map(|known| known.values).map_err(|error| error.to_string())
    };
    wait_for("the broker knows the password", DEADLINE, known).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lag_scales_a_deployment_from_zero_and_back_and_a_rotated_password_fails_no_reading() {
    let server = shared().await;
    let mut client = server.client().unwrap();
    client.create_topic("scaling-orders", 4).await.unwrap();
    for partition in 0..4 {
        client.commit("scaled-workers", "scaling-orders", partition, 0).await.unwrap();
    }
    let namespace = TestNamespace::create(cluster().await, "kafka");
    let metadata = json!({
        "bootstrapServers": server.sasl_address(), "consumerGroup": "scaled-workers", "topic": "scaling-orders", "lagThreshold": "5", "sasl": "scram_sha256",
    });
    let trigger = json!({ "type": "kafka", "metadata": metadata, "authenticationRef": { "name": "kafka" } });
    let references = ["username", "password"].map(|name| json!({ "parameter": name, "name": "kafka", "key": name }));
    let secret = |password: &str| {
        let values = json!({ "username": ROTATED_USER, "password": password });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "kafka" }, "stringData": values })
    };
    server.set_password(ROTATED_USER, "s3cret").await.unwrap();
    namespace.apply([
        secret("wr0ng"),
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "kafka" }, "spec": { "secretTargetRef": references } }),
        deployment("web", 0),
        scaled_object("web", [trigger], json!({})),
    ]);
    let ready = |namespace: &TestNamespace<'_>| namespace.condition("web", "Ready").0;
    namespace.until("the password is refused", "False".to_owned(), ready).await;
    namespace.apply([secret("s3cret")]);
    namespace.until("the new password is used", "True".to_owned(), ready).await;
    client.produce("scaling-orders", 0, 14).await.unwrap();
    namespace.until_replicas("web", 3).await;
    let before = failures(&namespace).await;
    // Connections stay signed in while the password changes.
    server.set_password(ROTATED_USER, "r0tated").await.unwrap();
    read_once_known(server, "scaling-orders", ROTATED_USER, "r0tated").await;
    namespace.apply([secret("r0tated")]);
    client.produce("scaling-orders", 0, 6).await.unwrap();
    namespace.until_replicas("web", 4).await;
    client.commit("scaled-workers", "scaling-orders", 0, 20).await.unwrap();
    namespace.until_replicas("web", 0).await;
    assert_eq!(failures(&namespace).await, before);
}
