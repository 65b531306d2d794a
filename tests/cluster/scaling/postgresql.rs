//! `postgresql` triggers against a real server, and on a cluster.

use std::sync::Arc;

use kedge_scalers::{Registry, Scaler};
use kedge_test_cluster::postgresql::{
    CLEARTEXT_WORKER, DATABASE, MD5_WORKER, PASSWORD, PostgresServer, SCRAM_WORKER, TLS_WORKER,
};
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::namespace::{TestNamespace, deployment, scaled_object};
use serde_json::json;

use super::cluster;
use super::rotation::failures;
use super::triggers::{build, read, registry, value};

const COUNT: &str = "SELECT count(*) FROM orders";

/// A table that all users may read.
fn create_orders(server: &PostgresServer) {
    server.execute("CREATE TABLE orders (id int); GRANT SELECT ON orders TO PUBLIC").unwrap();
}

/// A trigger of a user, without TLS.
fn trigger(registry: &Registry, server: &PostgresServer, user: &str, query: &str, password: &str) -> Arc<dyn Scaler> {
    let port = server.port().to_string();
    let metadata = [
        ("host", "127.0.0.1"),
        ("port", &port),
        ("userName", user),
        ("dbName", DATABASE),
        ("sslmode", "disable"),
        ("query", query),
        ("targetQueryValue", "5"),
        ("activationTargetQueryValue", "2"),
    ];
    build(registry, "postgresql", &metadata, &[("password", password)])
}

fn connected(registry: &Registry, connection: &str) -> Arc<dyn Scaler> {
    build(registry, "postgresql", &[("query", COUNT), ("targetQueryValue", "5")], &[("connection", connection)])
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_counted_and_what_gives_no_number_is_an_error() {
    let mut server = PostgresServer::start("postgresql-queries").await.unwrap();
    let registry = registry();
    let trigger = |query: &str| trigger(&registry, &server, SCRAM_WORKER, query, PASSWORD);
    let orders = trigger(COUNT);
    let missing = read(&*orders).await.unwrap_err().to_string();
    assert!(missing.contains("42P01: relation \"orders\" does not exist; correct `query`"), "{missing}");
    create_orders(&server);
    assert_eq!(value(&*orders).await, (0.0, false), "empty");
    server.execute("INSERT INTO orders VALUES (1), (2)").unwrap();
    assert_eq!(value(&*orders).await, (2.0, false), "a few, at the activation value");
    server.execute("INSERT INTO orders SELECT generate_series(3, 5000)").unwrap();
    assert_eq!(value(&*orders).await, (5000.0, true), "many");
    for (query, expected) in [
        ("SELECT 2.5::numeric", 2.5),
        ("SELECT 0.1::float8", 0.1),
        ("SELECT '42'::text", 42.0),
        ("SELECT id FROM orders ORDER BY id;", 1.0),
        ("SELECT -7::smallint -- a comment", -7.0),
    ] {
        assert_eq!(value(&*trigger(query)).await.0, expected, "{query}");
    }
    for (query, expected) in [
        ("SELECT id FROM orders WHERE id > 10000", "the query gives no row"),
        ("SELECT max(id) FROM orders WHERE id > 10000", "the query gives NULL"),
        ("SELECT true", "the query gives something else than a number"),
        ("SELECT 'NaN'::float8", "the query gives something else than a number"),
        ("SELECT 1, 2", "the query gives 2 columns instead of one"),
        ("SELECT 1; SELECT 2", "the query has several statements"),
        ("BEGIN", "the query leaves a transaction open"),
        ("COPY orders TO STDOUT", "the query is a COPY"),
        ("SELEC 1", "42601: syntax error at or near \"SELEC\"; correct `query`"),
        ("SELECT 1 / 0", "22012: division by zero"),
        ("SELECT count(*) FROM pg_authid", "42501: permission denied for table pg_authid; grant the user"),
        ("-- nothing", "the query gives no rows"),
    ] {
        let error = read(&*trigger(query)).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{query}: {error}");
    }
    server.execute("DELETE FROM orders").unwrap();
    assert_eq!(value(&*orders).await, (0.0, false), "drained");
    server
        .execute("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename LIKE '%worker'")
        .unwrap();
    assert_eq!(value(&*orders).await, (0.0, false), "a closed session is replaced");

    server.kill().unwrap();
    // The processes of its sessions end a moment later, and may still answer.
    let gone = async || match read(&*orders).await {
        Err(error) if error.reason() == "SourceUnreachable" => Ok(()),
        other => Err(other),
    };
    wait_for("postgresql is gone", DEADLINE, gone).await.unwrap();
    server.start_again().await.unwrap();
    let back = async || read(&*orders).await.map(|known| known.values).map_err(|error| error.to_string());
    assert_eq!(wait_for("postgresql is back", DEADLINE, back).await.unwrap(), [0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn users_sign_in_with_every_method_and_refusals_name_no_secret() {
    let server = PostgresServer::start("postgresql-sign-in").await.unwrap();
    create_orders(&server);
    let registry = registry();
    for user in [SCRAM_WORKER, MD5_WORKER, CLEARTEXT_WORKER] {
        assert_eq!(value(&*trigger(&registry, &server, user, COUNT, PASSWORD)).await.0, 0.0, "{user}");
        let error = read(&*trigger(&registry, &server, user, COUNT, "wr0ng")).await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_denied() && text.contains("28P01: password authentication failed"), "{text}");
        assert!(text.contains("check the user and the password") && !text.contains("wr0ng"), "{text}");
    }
    let port = server.port();
    for (connection, expected) in [
        (format!("postgres://{SCRAM_WORKER}:{PASSWORD}@127.0.0.1:{port}/none?sslmode=disable"), "3D000"),
        (format!("host=127.0.0.1 port={port} user=stranger password={PASSWORD} dbname={DATABASE}"), "28000"),
        (format!("host=127.0.0.1 port={port} user={SCRAM_WORKER} dbname={DATABASE}"), "none is given"),
    ] {
        let error = read(&*connected(&registry, &connection)).await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_denied() && text.contains(expected) && !text.contains(PASSWORD), "{text}");
    }
    // Another password: whoever is signed in stays so, and whoever has the new one can sign in.
    let old = trigger(&registry, &server, SCRAM_WORKER, COUNT, PASSWORD);
    assert_eq!(value(&*old).await.0, 0.0);
    server.execute(&format!("ALTER ROLE {SCRAM_WORKER} PASSWORD 'n3w'")).unwrap();
    let new = trigger(&registry, &server, SCRAM_WORKER, COUNT, "n3w");
    assert_eq!((value(&*old).await.0, value(&*new).await.0), (0.0, 0.0));
    let hosts = format!("host=127.0.0.1,127.0.0.1 port=1,{port} user={SCRAM_WORKER} password=n3w dbname={DATABASE}");
    for wanted in ["any", "primary", "read-write", "prefer-standby"] {
        let scaler = connected(&registry, &format!("{hosts} target_session_attrs={wanted}"));
        assert_eq!(value(&*scaler).await.0, 0.0, "{wanted}");
    }
    let error = read(&*connected(&registry, &format!("{hosts} target_session_attrs=standby"))).await.unwrap_err();
    assert!(error.to_string().contains("the server is no standby"), "{error}");
    let options = format!("{hosts} options='-c search_path=none' application_name=kedge");
    let error = read(&*connected(&registry, &options)).await.unwrap_err().to_string();
    assert!(error.contains("42P01"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tls_is_used_and_verified_as_sslmode_says() {
    let server = PostgresServer::start("postgresql-tls").await.unwrap();
    create_orders(&server);
    let registry = registry();
    let (port, certificate) = (server.port(), server.certificate.display().to_string());
    let tls = |host: &str, more: &str| {
        let parts = format!("host={host} port={port} user={TLS_WORKER} password={PASSWORD} dbname={DATABASE} {more}");
        connected(&registry, &parts)
    };
    for (host, more) in [
        ("127.0.0.1", ""),
        ("127.0.0.1", "sslmode=allow"),
        ("127.0.0.1", "sslmode=require"),
        ("localhost", &format!("sslmode=verify-ca sslrootcert={certificate}")),
        ("127.0.0.1", &format!("sslmode=verify-full sslrootcert={certificate}")),
    ] {
        assert_eq!(value(&*tls(host, more)).await.0, 0.0, "{more}");
    }
    for (host, more, expected) in [
        ("127.0.0.1", "sslmode=disable".to_owned(), "28000: no pg_hba.conf entry"),
        ("127.0.0.1", "sslmode=verify-full".to_owned(), "give the certificate of that CA as `sslrootcert`"),
        ("localhost", format!("sslmode=verify-full sslrootcert={certificate}"), "its certificate is not for localhost"),
    ] {
        let error = read(&*tls(host, &more)).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{more}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_scales_a_deployment_from_zero_and_back_and_a_rotated_password_fails_no_reading() {
    let server = PostgresServer::start("postgresql-scaling").await.unwrap();
    create_orders(&server);
    let namespace = TestNamespace::create(cluster().await, "postgresql");
    let metadata = json!({
        "host": "127.0.0.1",
        "port": server.port().to_string(),
        "userName": SCRAM_WORKER,
        "dbName": DATABASE,
        "sslmode": "prefer",
        "query": COUNT,
        "targetQueryValue": "5",
    });
    let trigger = json!({ "type": "postgresql", "metadata": metadata, "authenticationRef": { "name": "postgresql" } });
    let secret_reference = json!([{ "parameter": "password", "name": "postgresql", "key": "password" }]);
    let secret = |password: &str| json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "postgresql" }, "stringData": { "password": password } });
    namespace.apply([
        secret(PASSWORD),
        json!({ "apiVersion": "keda.sh/v1alpha1", "kind": "TriggerAuthentication", "metadata": { "name": "postgresql" }, "spec": { "secretTargetRef": secret_reference } }),
        deployment("web", 0),
        scaled_object("web", [trigger], json!({})),
    ]);
    server.execute("INSERT INTO orders SELECT generate_series(1, 14)").unwrap();
    namespace.until_replicas("web", 3).await;
    let before = failures(&namespace).await;
    // Sessions stay signed in while the password changes.
    server.execute(&format!("ALTER ROLE {SCRAM_WORKER} PASSWORD 'r0tated'")).unwrap();
    namespace.apply([secret("r0tated")]);
    server.execute("INSERT INTO orders SELECT generate_series(15, 20)").unwrap();
    namespace.until_replicas("web", 4).await;
    // From here on, only the new password is of use.
    let end = format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '{SCRAM_WORKER}'");
    server.execute(&end).unwrap();
    server.execute("DELETE FROM orders").unwrap();
    namespace.until_replicas("web", 0).await;
    assert_eq!(failures(&namespace).await, before);
}
