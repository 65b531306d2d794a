//! The MySQL trigger against a real MariaDB server, and on a cluster.

use std::sync::Arc;

use kedge_scalers::{Connector, NoCluster, Registry, Scaler, Settings};
use kedge_test_cluster::mysql::{MysqlClient, MysqlServer};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::json;

use super::cluster;
use super::rotation::failures;
use super::triggers::{build, read, registry, settings, value};

const COUNT: &str = "SELECT COUNT(*) FROM orders WHERE state = 'new'";

/// A server with an empty table, a user `kedge` who may read it, and a user `safe` who may so over TLS.
async fn server(name: &str) -> (MysqlServer, MysqlClient, rcgen::CertifiedKey<rcgen::KeyPair>) {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let (certificate, key) = (certified.cert.pem(), certified.signing_key.serialize_pem());
    let server = MysqlServer::start(name, &certificate, &key).await.unwrap();
    let mut client = server.connect().unwrap();
    for statement in [
        "CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, state VARCHAR(9)) ENGINE=InnoDB",
        "CREATE TABLE prices (price DECIMAL(9, 3), name VARCHAR(9), mass DOUBLE) ENGINE=InnoDB",
        "CREATE USER kedge@'127.0.0.1' IDENTIFIED BY 's3cret'",
        "GRANT SELECT ON shop.* TO kedge@'127.0.0.1'",
        "CREATE USER safe@'127.0.0.1' IDENTIFIED BY 's4fe' REQUIRE SSL",
        "GRANT SELECT ON shop.orders TO safe@'127.0.0.1'",
    ] {
        client.run(statement).unwrap();
    }
    (server, client, certified)
}

fn add(client: &mut MysqlClient, count: usize) {
    let rows = vec!["('new')"; count].join(", ");
    client.run(&format!("INSERT INTO orders (state) VALUES {rows}")).unwrap();
}

fn query(registry: &Registry, port: u16, query: &str) -> Arc<dyn Scaler> {
    let port = port.to_string();
    let metadata =
        [("host", "127.0.0.1"), ("port", port.as_str()), ("dbName", "shop"), ("username", "kedge"), ("query", query)];
    let values = [("queryValue", "5"), ("activationQueryValue", "2")];
    build(registry, "mysql", &[&metadata[..], &values].concat(), &[("password", "s3cret")])
}

fn dsn(registry: &Registry, connection_string: &str) -> Arc<dyn Scaler> {
    build(registry, "mysql", &[("query", COUNT), ("queryValue", "5")], &[("connectionString", connection_string)])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_is_followed_and_what_is_no_number_is_an_error() {
    let (mut server, mut client, _) = server("mysql").await;
    let (registry, port) = (registry(), server.port());
    let orders = query(&registry, port, COUNT);
    assert_eq!(value(&*orders).await, (0.0, false), "empty");
    add(&mut client, 2);
    assert_eq!(value(&*orders).await, (2.0, false), "at the activation value");
    add(&mut client, 500);
    assert_eq!(value(&*orders).await, (502.0, true), "many");
    client.run("DELETE FROM orders").unwrap();
    assert_eq!(value(&*orders).await, (0.0, false), "drained");
    add(&mut client, 7);
    client.run("INSERT INTO prices VALUES (2.500, 'tea', 1e-3)").unwrap();
    let numbers = [
        ("SELECT price FROM prices", 2.5),
        ("SELECT mass FROM prices", 0.001),
        ("SELECT '12' ", 12.0),
        ("SELECT id FROM orders ORDER BY id LIMIT 3", 503.0),
        ("SHOW COLUMNS FROM orders LIKE 'nothing'", f64::NAN),
        ("SELECT SUM(price) FROM prices WHERE name = 'coffee'", f64::NAN),
        ("SELECT price FROM prices WHERE name = 'coffee'", f64::NAN),
        ("SELECT name FROM prices", f64::NAN),
        ("SELECT price, mass FROM prices", f64::NAN),
        ("SET @x = 1", f64::NAN),
    ];
    for (text, expected) in numbers {
        match read(&*query(&registry, port, text)).await {
            Ok(known) => assert_eq!(known.values, [expected], "{text}"),
            Err(error) => assert!(expected.is_nan() && error.reason() == "SourceWithoutValue", "{text}: {error}"),
        }
    }

    server.kill().unwrap();
    let error = read(&*orders).await.unwrap_err();
    assert_eq!(error.reason(), "SourceUnreachable", "{error}");
    server.start_again().await.unwrap();
    let back = async || read(&*orders).await.map(|known| known.values).map_err(|error| error.to_string());
    assert_eq!(wait_for("mariadbd is back", DEADLINE, back).await.unwrap(), [7.0], "with its data");
    // A connection that the server ends costs no reading.
    let mut client = server.connect().unwrap();
    let connections = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'kedge'";
    assert_eq!(client.run(connections).unwrap().as_deref(), Some("1"), "all triggers share one");
    client.run("KILL USER kedge@'127.0.0.1'").unwrap();
    let gone = async || match client.run(connections).unwrap().as_deref() {
        Some("0") => Ok(()),
        other => Err(format!("{other:?} connections")),
    };
    wait_for("the connection is gone", DEADLINE, gone).await.unwrap();
    assert_eq!(value(&*orders).await.0, 7.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_passwords_and_tls_count_and_refusals_name_no_secret() {
    let (server, mut client, certified) = server("mysql-sign-in").await;
    add(&mut client, 3);
    let port = server.port();
    let trusting = Settings { extra_roots: vec![certified.cert.der().clone()], ..settings() };
    let trusting = Registry::new(trusting, Connector::tcp(), Arc::new(NoCluster));
    let at = |user: &str, options: &str| format!("{user}@tcp(127.0.0.1:{port})/shop{options}");
    for (user, options) in [
        ("kedge:s3cret", ""),
        ("kedge:s3cret", "?tls=true"),
        ("safe:s4fe", "?tls=true&charset=utf8mb4&collation=utf8mb4_bin&max_statement_time=9&timeout=9s"),
        ("safe:s4fe", "?tls=preferred"),
    ] {
        assert_eq!(value(&*dsn(&trusting, &at(user, options))).await.0, 3.0, "{user} {options}");
    }
    let rows = [
        ("kedge:wr0ng", "", "SourceRefused", "denied access: 1045 (28000): Access denied for user 'kedge'@'127.0.0.1'"),
        ("stranger:wr0ng", "", "SourceRefused", "denied access: 1045"),
        ("safe:s4fe", "", "SourceRefused", "denied access: 1045"),
        ("kedge:s3cret", "?tls=true", "SourceUntrusted", "no trusted connection"),
        ("kedge:s3cret", "?no_such_variable=1", "SourceRefused", "answered: 1193 (HY000): Unknown system variable"),
    ];
    for (user, options, reason, expected) in rows {
        let error = read(&*dsn(&registry(), &at(user, options))).await.unwrap_err();
        let text = error.to_string();
        assert!(error.reason() == reason && text.contains(expected), "{user} {options}: {text}");
        assert!(!["wr0ng", "s3cret", "s4fe"].iter().any(|secret| text.contains(secret)), "{text}");
    }
    let of_others = query(&trusting, port, "SELECT COUNT(*) FROM mysql.user");
    let error = read(&*of_others).await.unwrap_err();
    assert!(error.is_denied() && error.to_string().contains("1142 (42000)"), "{error}");
    let error = read(&*query(&trusting, port, "SELECT COUNT(*) FROM nothing")).await.unwrap_err();
    assert!(!error.is_denied() && error.to_string().contains("1146 (42S02)"), "{error}");
    let error = read(&*dsn(&trusting, &format!("kedge:s3cret@tcp(127.0.0.1:{port})/other"))).await.unwrap_err();
    assert!(error.is_denied() && error.to_string().contains("1044 (42000)"), "{error}");

    // A rotated password: who is signed in stays so, and the next trigger has the new one.
    let old = query(&trusting, port, COUNT);
    assert_eq!(value(&*old).await.0, 3.0);
    client.run("ALTER USER kedge@'127.0.0.1' IDENTIFIED BY 'n3w'").unwrap();
    assert_eq!(value(&*old).await.0, 3.0);
    assert_eq!(value(&*dsn(&trusting, &at("kedge:n3w", ""))).await.0, 3.0);
    let error = read(&*dsn(&trusting, &at("kedge:s3cret", "?tls=preferred&charset=utf8"))).await.unwrap_err();
    assert!(error.is_denied(), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_scales_a_deployment_from_zero_and_back_and_a_rotated_password_fails_no_reading() {
    let (server, mut client, _) = server("mysql-scaling").await;
    let namespace = TestNamespace::create(cluster().await, "mysql");
    let metadata = json!({ "query": COUNT, "queryValue": "5" });
    let trigger = json!({ "type": "mysql", "metadata": metadata, "authenticationRef": { "name": "mysql" } });
    let secret_reference = json!([{ "parameter": "connectionString", "name": "mysql", "key": "dsn" }]);
    let secret = |password: &str| {
        let dsn = format!("kedge:{password}@tcp(127.0.0.1:{})/shop?tls=skip-verify", server.port());
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "mysql" }, "stringData": { "dsn": dsn } })
    };
    namespace.apply([
        secret("s3cret"),
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "mysql" }, "spec": { "secretTargetRef": secret_reference } }),
        deployment("web", 0),
        scaled_object("web", [trigger], json!({})),
    ]);
    // The name of the metric has the options in it, which the HPA controller must escape.
    add(&mut client, 14);
    namespace.until_replicas("web", 3).await;
    let before = failures(&namespace).await;
    // Sessions stay signed in while the password changes.
    client.run("ALTER USER kedge@'127.0.0.1' IDENTIFIED BY 'r0tated'").unwrap();
    namespace.apply([secret("r0tated")]);
    add(&mut client, 6);
    namespace.until_replicas("web", 4).await;
    // From here on, only the new password is of use.
    client.run("KILL USER kedge@'127.0.0.1'").unwrap();
    client.run("UPDATE orders SET state = 'done'").unwrap();
    namespace.until_replicas("web", 0).await;
    assert_eq!(failures(&namespace).await, before);
}
