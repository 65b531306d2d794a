//! Sources of each type: what they hold, and what is wrong with a trigger of them.

use super::rig::{PASSWORD, Rig, object};
use super::server::{self, MYSQL_GREETING, serve};

/// A trigger of a source; its credentials come from the command line.
struct Checked {
    trigger: String,
    auth: Vec<String>,
    metric: &'static str,
}

fn password(password: &str) -> Vec<String> {
    vec![format!("password={password}")]
}

fn user(of_password: &str) -> Vec<String> {
    [vec!["username=worker".to_owned()], password(of_password)].concat()
}

fn keys() -> Vec<String> {
    vec!["awsAccessKeyID=AKID".to_owned(), format!("awsSecretAccessKey={PASSWORD}")]
}

/// A trigger that can be read, and one that cannot, with what the latter must name.
fn types() -> Vec<(Checked, Checked, &'static str)> {
    let redis = serve(b"", server::redis);
    let (nats, sqs) = (serve(b"", server::nats), serve(b"", server::sqs));
    let (rabbitmq, kafka) = (serve(b"", server::rabbitmq), serve(b"", server::kafka));
    let (postgresql, mysql) = (serve(b"", server::postgresql), serve(MYSQL_GREETING, server::mysql));
    let list = format!("{{type: redis, metadata: {{address: '127.0.0.1:{redis}', listName: orders}}}}");
    let consumer = format!(
        "{{type: nats-jetstream, metadata: {{natsServerMonitoringEndpoint: '127.0.0.1:{nats}', account: $G, stream: orders, \
         consumer: worker, lagThreshold: '5'}}}}"
    );
    let sqs = format!(
        "{{type: aws-sqs-queue, metadata: {{queueURL: orders, awsRegion: eu-west-1, awsEndpoint: 'http://127.0.0.1:{sqs}'}}}}"
    );
    let queue = format!(
        "{{type: rabbitmq, metadata: {{host: 'http://127.0.0.1:{rabbitmq}', queueName: orders, mode: QueueLength, \
         value: '5'}}}}"
    );
    let row = format!(
        "{{type: postgresql, metadata: {{host: 127.0.0.1, port: '{postgresql}', userName: worker, dbName: shop, sslmode: disable, \
         query: SELECT 7, targetQueryValue: '5'}}}}"
    );
    let cell = format!(
        "{{type: mysql, metadata: {{host: 127.0.0.1, port: '{mysql}', username: worker, dbName: shop, query: SELECT 7, \
         queryValue: '5'}}}}"
    );
    let topic = format!(
        "{{type: kafka, metadata: {{bootstrapServers: '127.0.0.1:{kafka}', consumerGroup: workers, topic: orders, lagThreshold: '5', \
         allowIdleConsumers: 'true'}}}}"
    );
    let row_of = |trigger: &str, auth: Vec<String>, metric, other: String, wrong_auth, expected| {
        let right = Checked { trigger: trigger.to_owned(), auth, metric };
        (right, Checked { trigger: other, auth: wrong_auth, metric }, expected)
    };
    let other = |trigger: &str, from: &str, to: &str| trigger.replace(from, to);
    vec![
        row_of(
            &list,
            password(PASSWORD),
            "s0-redis-orders",
            list.clone(),
            password("guess"),
            "check `username` and `password`",
        ),
        row_of(
            &consumer,
            vec![],
            "s0-nats-jetstream-orders",
            other(&consumer, "stream: orders", "stream: bills"),
            vec![],
            "check `stream`, or create it",
        ),
        row_of(
            &sqs,
            keys(),
            "s0-aws-sqs-orders",
            other(&sqs, "queueURL: orders", "queueURL: bills"),
            keys(),
            "check `queueURL` and `awsRegion`",
        ),
        row_of(
            &queue,
            user(PASSWORD),
            "s0-rabbitmq-orders",
            queue.clone(),
            user("guess"),
            "check the user and the password in `host`, or `username` and `password`",
        ),
        row_of(
            &row,
            password(PASSWORD),
            "s0-postgresql",
            row.clone(),
            password("guess"),
            "check the user and the password in `connection`, or `userName` and `password`",
        ),
        row_of(
            &cell,
            password(PASSWORD),
            "s0-mysql-shop",
            other(&cell, "username: worker", "username: stranger"),
            password(PASSWORD),
            "check the user and the password in `connectionString`, or `username` and `password`",
        ),
        row_of(
            &topic,
            vec![],
            "s0-kafka-orders",
            other(&topic, "topic: orders", "topic: nowhere"),
            vec![],
            "check `topic`",
        ),
    ]
}

fn check(checked: &Checked) -> (String, i32) {
    let rig = Rig::new(&[("worker.yaml", &object(std::slice::from_ref(&checked.trigger)))]);
    let auth = checked.auth.iter().flat_map(|entry| ["--auth", entry.as_str()]);
    rig.run(&["-f", "worker.yaml"].into_iter().chain(auth).collect::<Vec<_>>())
}

#[test]
fn every_type_of_source_shows_its_value_or_what_to_do() {
    for (right, wrong, expected) in types() {
        let (text, code) = check(&right);
        assert_eq!(code, 0, "{}: {text}", right.trigger);
        for part in [right.metric, "value    7, active: it is above 0", "target   5 for each replica (AverageValue)"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let (text, code) = check(&wrong);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(code, 1, "{}: {text}", wrong.trigger);
        assert!(words.contains(expected) && words.contains("1 of 1 triggers failed"), "{expected}: {text}");
    }
}
