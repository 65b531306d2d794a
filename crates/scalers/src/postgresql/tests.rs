use std::sync::atomic::Ordering;

use kedge_api::authentication::PodIdentityProvider;
use kedge_core::secret::Secret;
use tokio::time::Instant;

use super::fake::{FakeServers, Method, error, file, framed, number, ready, rows, server_tls, welcome};
use super::*;
use crate::damaged::Damage;
use crate::recorded_server::Recording;
use crate::sample::Sample;
use crate::scaler::{Activity, Known};
use crate::trigger::{Resolution, Role};
use crate::{CloudEnvironment, Registry, Settings};

/// A trigger with single parameters, without TLS.
fn parts() -> Sample {
    Sample::new("postgresql")
        .with("query", "SELECT 1")
        .with("targetQueryValue", "5")
        .with("host", "db")
        .with("port", "5432")
        .with("userName", "worker")
        .with("dbName", "shop")
        .with("sslmode", "disable")
}

fn connection(text: &str) -> Sample {
    Sample::new("postgresql").with("query", "SELECT 1").with("targetQueryValue", "5").auth("connection", text)
}

async fn read(registry: &Registry, sample: &Sample) -> Result<Known, ReadError> {
    let scaler = registry.build(&sample.trigger()).unwrap_or_else(|error| panic!("{error}"));
    scaler.read("", DateTime::UNIX_EPOCH).await
}

async fn value(fake: &FakeServers, sample: &Sample) -> Result<f64, String> {
    let known = read(&fake.registry(), sample).await;
    known.map(|known| known.values[0]).map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    let trusted = Recording::new([number("42")]).sign_in([welcome()]).value_bytes(b"42");
    trusted.assert_no_outage_is_a_number(&parts(), 42.0).await;
    let md5 = trusted.clone().sign_in([framed(b'R', b"\0\0\0\x05salt"), welcome()]);
    md5.assert_no_outage_is_a_number(&parts().auth("password", "hunter2"), 42.0).await;
    let preferring = trusted.sign_in([b"N".to_vec(), welcome()]);
    preferring.assert_no_outage_is_a_number(&parts().with("sslmode", "prefer"), 42.0).await;
}

#[tokio::test(start_paused = true)]
async fn connections_are_kept_and_shared_and_replaced_without_a_failed_reading() {
    let fake = FakeServers::with(Method::Scram, "s3cret");
    let registry = fake.registry();
    let sample = parts().auth("password", "s3cret");
    for _ in 0..3 {
        let known = read(&registry, &sample).await.unwrap();
        assert_eq!((known.values, known.activity), (vec![7.0], Activity::Active));
    }
    let held = registry.build(&sample.trigger()).unwrap();
    held.read("", DateTime::UNIX_EPOCH).await.unwrap();
    let before = fake.state().connected.len();
    for _ in 0..3 {
        assert_eq!(read(&registry, &sample).await.unwrap().values, [7.0]);
    }
    assert_eq!(fake.state().connected.len(), before, "one connection for equal triggers");
    read(&registry, &sample.clone().with("dbName", "other")).await.unwrap();
    assert_eq!(fake.state().connected.len(), before + 1, "another database");
    fake.state().shuts_down = true;
    let error = held.read("", DateTime::UNIX_EPOCH).await.unwrap_err();
    assert!(error.to_string().contains("57P01: terminating connection"), "{error}");
    fake.state().shuts_down = false;
    held.read("", DateTime::UNIX_EPOCH).await.unwrap();

    let two_answers = Damage::Cut(welcome().len() + 2 * number("7").len());
    let (registry, opened) = Recording::new([number("7")]).sign_in([welcome()]).registry(two_answers);
    let scaler = registry.build(&parts().trigger()).unwrap();
    for _ in 0..6 {
        assert_eq!(scaler.read("", DateTime::UNIX_EPOCH).await.unwrap().values, [7.0]);
    }
    assert_eq!(opened.load(Ordering::Relaxed), 3);
}

#[tokio::test(start_paused = true)]
async fn users_sign_in_as_the_server_asks() {
    for method in [Method::Trust, Method::Cleartext, Method::Md5, Method::Scram] {
        let fake = FakeServers::with(method, "s3cret");
        assert_eq!(value(&fake, &parts().auth("password", "s3cret")).await, Ok(7.0), "{method:?}");
        if method == Method::Trust {
            continue;
        }
        let error = read(&fake.registry(), &parts().auth("password", "wr0ng")).await.unwrap_err();
        assert!(error.is_denied(), "{method:?}: {error}");
        let words = "db:5432 denied access: 28P01: password authentication failed for user \"worker\"; check the user and the password in `connection`, or `userName` and `password`";
        assert_eq!(error.to_string(), words, "{method:?}");
        let error = read(&fake.registry(), &parts()).await.unwrap_err();
        assert!(error.is_denied(), "{method:?}: {error}");
        assert_eq!(
            error.to_string(),
            "db:5432 denied access: the server asks for a password, and none is given; give `password`, or one in `connection`"
        );
    }
    for (method, expected) in [
        (Method::FalseScram, "denied access: the server has not proved that it knows the password"),
        (
            Method::Gssapi,
            "answered: the server asks for GSSAPI, which is not supported; let pg_hba.conf have scram-sha-256",
        ),
    ] {
        let error = value(&FakeServers::with(method, "s3cret"), &parts().auth("password", "s3cret")).await.unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_skips_the_proof_is_refused() {
    let scram = framed(b'R', b"\0\0\0\x0aSCRAM-SHA-256\0\0");
    let rows = [
        vec![scram.clone(), welcome()],
        vec![scram, framed(b'R', b"\0\0\0\x03"), welcome()],
        vec![framed(b'R', b"\0\0\0\x03"), framed(b'R', b"\0\0\0\x03"), welcome()],
        vec![ready()],
    ];
    for sign_in in rows {
        let recording = Recording::new([number("7")]).sign_in(&sign_in);
        let error = recording.read(&parts().auth("password", "s3cret"), Damage::None).await.unwrap_err();
        assert_eq!(error.reason(), "SourceMalformed", "{sign_in:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rotated_password_fails_no_reading() {
    let fake = FakeServers::with(Method::Scram, "first");
    let registry = fake.registry();
    let old = registry.build(&parts().auth("password", "first").trigger()).unwrap();
    old.read("", DateTime::UNIX_EPOCH).await.unwrap();
    fake.state().password = "second".to_owned();
    old.read("", DateTime::UNIX_EPOCH).await.unwrap();
    let new = registry.build(&parts().auth("password", "second").trigger()).unwrap();
    new.read("", DateTime::UNIX_EPOCH).await.unwrap();
    old.read("", DateTime::UNIX_EPOCH).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_a_query_gives_is_one_number_or_an_error() {
    let whole = |answer: Vec<u8>| [answer, ready()].concat();
    let several = [rows(&[Some("1")]), rows(&[Some("2")])].concat();
    let answers: Vec<(&'static str, Vec<u8>, Result<f64, &str>)> = vec![
        ("one", number("2.5"), Ok(2.5)),
        ("further rows", whole(rows(&[Some("3"), Some("4"), None])), Ok(3.0)),
        ("none", whole(rows(&[])), Err("has no value: the query gives no row")),
        ("null", whole(rows(&[None])), Err("has no value: the query gives NULL")),
        ("text", number("many"), Err("has no value: the query gives something else than a number")),
        ("nothing", whole(framed(b'I', b"")), Err("has no value: the query gives no rows")),
        ("two", whole(several), Err("answered: the query has several statements; write one")),
        ("copy", whole(framed(b'H', b"\0\0\0")), Err("answered: the query is a COPY")),
        (
            "open",
            [rows(&[Some("1")]), framed(b'Z', b"T")].concat(),
            Err("answered: the query leaves a transaction open"),
        ),
        ("empty", ready(), Err("cannot be used: it ends without a result")),
        ("too much", [number("1"), number("1")].concat(), Err("cannot be used: there is more than was asked for")),
        (
            "no table",
            whole(error("ERROR", "42P01", "relation \"orders\" does not exist")),
            Err("answered: 42P01: relation \"orders\" does not exist; correct `query`"),
        ),
        (
            "forbidden",
            whole(error("ERROR", "42501", "permission denied for table orders")),
            Err("denied access: 42501: permission denied for table orders; grant the user what the query needs"),
        ),
        (
            "midway",
            whole([rows(&[Some("1")]), error("ERROR", "22012", "division by zero")].concat()),
            Err("answered: 22012: "),
        ),
    ];
    let fake = FakeServers::default();
    fake.state().answers = answers.iter().map(|(name, answer, _)| (*name, answer.clone())).collect();
    let registry = fake.registry();
    for (name, _, expected) in answers {
        let read = read(&registry, &parts().with("query", name)).await;
        match (read.map(|known| known.values[0]).map_err(|error| error.to_string()), expected) {
            (Ok(value), Ok(expected)) => assert_eq!(value, expected, "{name}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{name}: {error}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn refusals_at_the_start_name_a_remedy() {
    let rows = [
        (
            "3D000",
            "database \"shop\" does not exist",
            true,
            "check the name of the database in `connection`, or `dbName`",
        ),
        ("28000", "role \"worker\" does not exist", true, "check the user and `sslmode`"),
        ("42501", "permission denied for database \"shop\"", true, "or CONNECT on the database"),
        ("53300", "sorry, too many clients already", false, "raise max_connections"),
        ("57P03", "the database system is starting up", false, "57P03"),
        ("28P01", "no hunter2 here", true, "28P01: no *** here; check the user and the password in `connection`"),
    ];
    for (code, message, is_denied, expected) in rows {
        let recording = Recording::new([number("7")]).sign_in([error("FATAL", code, message)]);
        let error = recording.read(&parts().auth("password", "hunter2"), Damage::None).await.unwrap_err();
        assert_eq!(error.is_denied(), is_denied, "{error}");
        assert!(error.to_string().contains(expected) && !error.to_string().contains("hunter2"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn encryption_is_what_sslmode_says() {
    let (tls, pem) = server_tls("db");
    let ca = file(&Secret::new(pem));
    let (_, other_pem) = server_tls("db");
    let other_ca = file(&Secret::new(other_pem));
    let [ca, other_ca] = [&ca, &other_ca].map(|file| file.path().display().to_string());
    // The mode; the host; whether the server has TLS; what pg_hba.conf wants; whether the session has TLS, or the error.
    type Row<'a> = (String, &'a str, bool, Option<bool>, Result<bool, &'a str>);
    let rows: Vec<Row<'_>> = vec![
        ("disable".into(), "db", true, None, Ok(false)),
        ("disable".into(), "db", true, Some(true), Err("28000: no pg_hba.conf entry")),
        ("allow".into(), "db", true, None, Ok(false)),
        ("allow".into(), "db", true, Some(true), Ok(true)),
        ("prefer".into(), "db", true, None, Ok(true)),
        ("prefer".into(), "db", false, None, Ok(false)),
        ("prefer".into(), "db", true, Some(false), Ok(false)),
        ("require".into(), "db", true, None, Ok(true)),
        ("require".into(), "db", false, None, Err("the server has no TLS, and `sslmode` asks for it")),
        ("require".into(), "other", true, None, Ok(true)),
        (format!("require sslrootcert={ca}"), "other", true, None, Ok(true)),
        (format!("require sslrootcert={other_ca}"), "db", true, None, Err("as `sslrootcert`")),
        (
            "verify-ca".into(),
            "db",
            true,
            None,
            Err("signed by a CA that is not trusted; give the certificate of that CA as `sslrootcert`"),
        ),
        (format!("verify-ca sslrootcert={ca}"), "other", true, None, Ok(true)),
        (format!("verify-ca sslrootcert={other_ca}"), "db", true, None, Err("as `sslrootcert`")),
        (format!("verify-full sslrootcert={ca}"), "db", true, None, Ok(true)),
        (format!("verify-full sslrootcert={ca}"), "other", true, None, Err("is not for other, but for db")),
        (
            "verify-full sslrootcert=/none".into(),
            "db",
            true,
            None,
            Err("`sslrootcert` that cannot be used: entity not found"),
        ),
        ("verify-full".into(), "db", false, None, Err("the server has no TLS")),
    ];
    for (mode, host, has_tls, only_with_tls, expected) in rows {
        let fake = FakeServers::default();
        (fake.state().tls, fake.state().only_with_tls) = (has_tls.then(|| Arc::clone(&tls)), only_with_tls);
        let sample = connection(&format!("host={host} user=u sslmode={mode}"));
        match (value(&fake, &sample).await, expected) {
            (Ok(_), Ok(expected)) => assert_eq!(fake.state().started.last().unwrap().1, expected, "{mode} {host}"),
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{mode} {host}: {error}"),
            other => panic!("{mode} {host} {has_tls} {only_with_tls:?}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn several_hosts_are_tried_in_turn() {
    let fake = FakeServers::default();
    fake.state().down.insert("a".to_owned());
    fake.state().standbys.insert("b".to_owned());
    let hosts = |more: &str| connection(&format!("host=a,b,c user=u sslmode=disable {more}"));
    let asked = |fake: &FakeServers| std::mem::take(&mut fake.state().connected);
    let registry = fake.registry();
    let scaler = registry.build(&hosts("").trigger()).unwrap();
    scaler.read("", DateTime::UNIX_EPOCH).await.unwrap();
    scaler.read("", DateTime::UNIX_EPOCH).await.unwrap();
    assert_eq!(asked(&fake), ["a", "b"], "then the one that answered");
    let rows: [(&str, Result<&str, &str>); 6] = [
        ("any", Ok("b")),
        ("primary", Ok("c")),
        ("read-write", Ok("c")),
        ("standby", Ok("b")),
        ("read-only", Ok("b")),
        ("prefer-standby", Ok("b")),
    ];
    for (wanted, expected) in rows {
        let read = value(&fake, &hosts(&format!("target_session_attrs={wanted}"))).await;
        let last = asked(&fake).pop().unwrap();
        assert_eq!(read.map(|_| last.as_str()).map_err(|_| ""), expected, "{wanted}");
    }
    fake.state().standbys.clear();
    assert_eq!(value(&fake, &hosts("target_session_attrs=prefer-standby")).await, Ok(7.0));
    assert_eq!(asked(&fake), ["a", "b", "c", "a", "b"], "any will do");
    let error = value(&fake, &hosts("target_session_attrs=standby")).await.unwrap_err();
    assert!(error.contains("the server is no standby, and `target_session_attrs` asks for another"), "{error}");
    asked(&fake);
    (fake.state().method, fake.state().password) = (Method::Cleartext, "s3cret".to_owned());
    let error = value(&fake, &hosts("password=wr0ng")).await.unwrap_err();
    assert!(error.contains("28P01") && !error.contains("wr0ng"), "{error}");
    assert_eq!(asked(&fake), ["a", "b"], "a wrong password is wrong everywhere");
}

#[tokio::test(start_paused = true)]
async fn time_is_limited() {
    let hangs = Recording::new([number("7")]).registry(Damage::Hang(0)).0;
    for (text, expected) in [("", 3), ("connect_timeout=1", 1), ("connect_timeout=60", 3)] {
        let started = Instant::now();
        let error = read(&hangs, &connection(&format!("host=db user=u sslmode=prefer {text}"))).await.unwrap_err();
        assert_eq!((error.reason(), started.elapsed()), ("SourceTimeout", Duration::from_secs(expected)), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_begins_with_the_parameters_of_the_connection() {
    let fake = FakeServers::default();
    let url = "postgres://worker@db/shop?application_name=kedge&sslmode=disable&options=-c%20statement_timeout%3D2s";
    assert_eq!(value(&fake, &connection(url)).await, Ok(7.0));
    let expected =
        ["user", "worker", "database", "shop", "application_name", "kedge", "options", "-c statement_timeout=2s"];
    assert_eq!(fake.state().started[0].0, expected);
}

#[test]
fn parameters_are_checked_together() {
    let registry = FakeServers::default().registry();
    const MISSING: &str = "`connection` is missing, and so are `host`, `port`, `userName`, `dbName` and `sslmode`";
    let bare = || Sample::new("postgresql").with("query", "SELECT 1").with("targetQueryValue", "5");
    let rows: Vec<(&str, Sample, &[&str])> = vec![
        ("parts", parts(), &[]),
        ("parts with a password", parts().auth("password", "hunter2"), &[]),
        ("a password of the environment", parts().with("passwordFromEnv", "PW").environment("PW", "hunter2"), &[]),
        ("parts of authentication", parts().without("host").auth("host", "db"), &[]),
        ("a connection", connection("host=db user=u password=hunter2"), &[]),
        ("a connection, and parts", connection("host=db user=u").with("sslmode", "on"), &[]),
        ("a URL", connection("postgres://u:hunter2@db/shop"), &[]),
        ("of the environment", bare().with("connectionFromEnv", "C").environment("C", "host=db user=u"), &[]),
        ("nothing", bare(), &[MISSING]),
        ("a variable without a value", bare().with("connectionFromEnv", "C"), &[MISSING]),
        (
            "half of the parts",
            parts().without("port").without("sslmode"),
            &["`port` is missing", "`sslmode` is missing"],
        ),
        ("no such mode", parts().with("sslmode", "on"), &["`sslmode` is not among the allowed values; use disable"]),
        ("no such port", parts().with("port", "x"), &["`port` is not a port; give a number"]),
        ("a socket", parts().with("host", "/var/run/postgresql"), &["`host` is the folder of a Unix socket"]),
        ("two hosts", parts().with("host", "a,b"), &[]),
        ("three ports", parts().with("host", "a,b").with("port", "1,2,3"), &["`port` has another number of entries"]),
        ("no query", parts().without("query"), &["`query` is missing"]),
        ("no target", parts().without("targetQueryValue"), &["`targetQueryValue` is absent or not above 0"]),
        ("no target, for a formula", parts().without("targetQueryValue").role(Role::FormulaInput), &[]),
        ("nothing each", parts().with("targetQueryValue", "0"), &["`targetQueryValue` is absent or not above 0"]),
        (
            "no number",
            parts().with("activationTargetQueryValue", "x"),
            &["`activationTargetQueryValue` \"x\" is not a number"],
        ),
        ("no keyword", connection("hunter2"), &["`connection` has a keyword without a value; write host=db.shop"]),
        ("no host", connection("user=u password=hunter2"), &["`connection` has a `host` that is missing"]),
        (
            "several problems",
            connection("host=/tmp password=hunter2 sslmode=on sslkey=/k"),
            &[
                "a `host` that is the folder",
                "a `user` that is missing",
                "a `sslmode` that is not",
                "a `sslkey` that names",
            ],
        ),
        (
            "a user with a zero",
            parts().without("userName").auth("userName", "a\0options"),
            &["`userName` has a zero byte"],
        ),
    ];
    for (name, sample, expected) in rows {
        let text = registry.build(&sample.trigger()).err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(text.is_empty(), expected.is_empty(), "{name}: {text}");
        for part in expected {
            assert!(text.contains(part), "{name}: {text}");
        }
        assert!(!text.contains("hunter2"), "{name}: {text}");
    }
    let unresolved =
        |sample: Sample| registry.check(&sample.resolution(Resolution::ManifestWithAuthentication).trigger());
    assert!(unresolved(bare()).is_empty(), "authentication may give all");
    assert!(unresolved(bare().with("host", "db")).is_empty());
    assert_eq!(unresolved(parts().with("sslmode", "on")).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_name_and_the_target_are_those_of_keda() {
    let registry = FakeServers::default().registry();
    for (target, expected) in [("5", "5"), ("2.5", "2.500"), ("1000", "1k")] {
        let scaler = registry.build(&parts().index(2).with("targetQueryValue", target).trigger()).unwrap();
        let specs = scaler.describe().await.unwrap();
        let external = specs[0].external.as_ref().unwrap();
        assert_eq!(external.metric.name, "s2-postgresql");
        assert_eq!(external.target.average_value.as_ref().unwrap().0, expected);
        assert_eq!(scaler.host().as_deref(), Some("db:5432"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_of_azure_is_sent_only_with_tls() {
    let environment: CloudEnvironment =
        [("AZURE_CLIENT_ID", "c"), ("AZURE_TENANT_ID", "t"), ("AZURE_FEDERATED_TOKEN_FILE", "/none")]
            .into_iter()
            .collect();
    let settings = Settings { cloud_environment: environment, ..Settings::default() };
    let fake = FakeServers::with(Method::Cleartext, "");
    let registry = fake.registry_with(settings);
    let azure = |mode: &str| parts().with("sslmode", mode).pod_identity(PodIdentityProvider::AzureWorkload);
    for mode in ["disable", "allow", "prefer"] {
        let error = registry.build(&azure(mode).trigger()).err().unwrap().to_string();
        assert!(error.contains("`sslmode` does not require TLS, and a token of azure-workload"), "{error}");
    }
    let without_parts = connection("host=db user=u").pod_identity(PodIdentityProvider::AzureWorkload);
    let error = registry.build(&without_parts.trigger()).err().unwrap().to_string();
    assert!(error.contains("`host` is missing"), "{error}");
    let error = read(&registry, &azure("verify-full")).await.unwrap_err();
    assert_eq!(error.reason(), "NoCredentials", "{error}");
    assert_eq!(fake.state().passwords, [] as [String; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_query_does_not_hold_up_all_others() {
    let fake = FakeServers::default();
    let registry = fake.registry();
    // An answer that does not come.
    fake.state().answers.insert("slow", Vec::new());
    let slow = registry.build(&parts().with("query", "slow").trigger()).unwrap();
    let others: Vec<_> = (0..8)
        .map(|number| registry.build(&parts().with("query", &format!("SELECT {number}")).trigger()).unwrap())
        .collect();
    let waiting = slow.read("", DateTime::UNIX_EPOCH);
    let reading = futures::future::join_all(others.iter().map(|scaler| scaler.read("", DateTime::UNIX_EPOCH)));
    let (slow, others) = futures::future::join(waiting, reading).await;
    assert_eq!(slow.unwrap_err().reason(), "SourceTimeout");
    let answered = others.iter().filter(|read| read.is_ok()).count();
    assert!((4..=8).contains(&answered), "{answered}");
}
