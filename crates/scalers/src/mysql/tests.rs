use kedge_wire::mysql::authentication::{CACHING_SHA2, CLEAR, NATIVE, SHA256_PASSWORD};
use kedge_wire::mysql::encode_packet;
use proptest::prelude::*;

use super::fake::{FakeServer, result};
use super::*;
use crate::damaged::Damage;
use crate::recorded_server::Recording;
use crate::registry::Registry;
use crate::sample::Sample;
use crate::scaler::{Activity, Known, Scaler};
use crate::trigger::{Resolution, Role};

fn plain() -> Sample {
    Sample::new("mysql").with("query", "SELECT 42").with("queryValue", "5")
}

fn with_parts() -> Sample {
    let server = plain().with("host", "db").with("port", "3306").with("dbName", "shop");
    server.with("username", "kedge").auth("password", "hunter2")
}

fn with_string(options: &str) -> Sample {
    plain().auth("connectionString", &format!("kedge:hunter2@tcp(db:3306)/shop{options}"))
}

fn build(registry: &Registry, sample: &Sample) -> Arc<dyn Scaler> {
    registry.build(&sample.trigger()).unwrap_or_else(|error| panic!("{error}"))
}

async fn read(scaler: &Arc<dyn Scaler>) -> Result<Known, ReadError> {
    scaler.read("", DateTime::UNIX_EPOCH).await
}

async fn number(scaler: &Arc<dyn Scaler>) -> f64 {
    read(scaler).await.unwrap_or_else(|error| panic!("{error}")).values[0]
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_kept_and_shared_by_what_sets_it_apart() {
    let fake = FakeServer::new(CACHING_SHA2);
    let registry = fake.registry();
    let (one, other) = (build(&registry, &with_parts()), build(&registry, &with_string("")));
    for scaler in [&one, &other, &one] {
        let known = read(scaler).await.unwrap();
        assert_eq!((known.values, known.activity), (vec![42.0], Activity::Active));
    }
    assert_eq!(fake.state().connected, 1);
    assert_eq!(one.host().as_deref(), Some("db:3306"));
    number(&build(&registry, &with_string("?multiStatements=true"))).await;
    assert_eq!(fake.state().connected, 2, "other options");
}

#[tokio::test(start_paused = true)]
async fn passwords_are_shown_only_as_the_connection_allows() {
    type Row<'a> = (&'a str, &'a str, &'a str, bool, &'a str, &'a [&'a str]);
    let rows: [Row<'_>; 9] = [
        ("cached", CACHING_SHA2, CACHING_SHA2, true, "", &[]),
        ("full, without TLS", CACHING_SHA2, CACHING_SHA2, false, "", &["by RSA"]),
        ("full, over TLS", CACHING_SHA2, CACHING_SHA2, false, "?tls=skip-verify", &["over TLS"]),
        ("switched", NATIVE, CACHING_SHA2, false, "", &["by RSA"]),
        ("native", NATIVE, NATIVE, false, "", &[]),
        ("switched to native", CACHING_SHA2, NATIVE, false, "?tls=preferred", &[]),
        ("sha256, without TLS", SHA256_PASSWORD, SHA256_PASSWORD, false, "", &["by RSA"]),
        ("sha256, over TLS", NATIVE, SHA256_PASSWORD, false, "?tls=skip-verify", &["over TLS"]),
        ("in clear", NATIVE, CLEAR, false, "?tls=skip-verify&allowCleartextPasswords=true", &["in clear"]),
    ];
    for (name, suggested, plugin, is_cached, options, shown) in rows {
        let fake = FakeServer::new(plugin);
        {
            let mut state = fake.state();
            (state.suggested, state.is_cached, state.has_tls) = (suggested, is_cached, true);
        }
        let registry = fake.registry();
        assert_eq!(number(&build(&registry, &with_string(options))).await, 42.0, "{name}");
        assert_eq!(fake.state().shown, shown, "{name}");
        let wrong = build(&registry, &plain().auth("connectionString", &format!("kedge:pw0rd@tcp(db)/{options}")));
        let error = read(&wrong).await.unwrap_err();
        let text = error.to_string();
        assert!(error.is_denied() && text.starts_with("db:3306 denied access: 1045 (28000): Access denied"), "{text}");
        assert!(!text.contains("hunter2") && !text.contains("pw0rd"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_would_show_the_password_and_what_is_not_supported_is_refused_with_a_remedy() {
    let rows = [
        ("", false, CLEAR, "SourceRefused", "add tls=true&allowCleartextPasswords=true"),
        ("?allowCleartextPasswords=true", false, CLEAR, "SourceRefused", "add tls=true to `connectionString`"),
        ("?tls=skip-verify", true, CLEAR, "SourceRefused", "add tls=true&allowCleartextPasswords=true"),
        ("?allowNativePasswords=false", true, NATIVE, "SourceRefused", "leave allowNativePasswords=false out"),
        (
            "",
            true,
            "client_ed25519",
            "SourceRefused",
            "\"client_ed25519\", which is not supported; create the user with",
        ),
        ("?tls=true", false, NATIVE, "SourceRefused", "it has no TLS, which `connectionString` asks for"),
        ("?tls=true", true, NATIVE, "SourceUntrusted", "no trusted connection to db:3306"),
    ];
    for (options, has_tls, plugin, reason, expected) in rows {
        let fake = FakeServer::new(plugin);
        {
            let mut state = fake.state();
            (state.suggested, state.has_tls) = (NATIVE, has_tls);
        }
        let error = read(&build(&fake.registry(), &with_string(options))).await.unwrap_err();
        assert_eq!(error.reason(), reason, "{options}: {error}");
        assert!(error.to_string().contains(expected), "{options}: {error}");
        assert_eq!(fake.state().shown, [] as [&str; 0], "{options}");
    }
    for options in ["?tls=preferred", "?tls=true&allowFallbackToPlaintext=true"] {
        let without_tls = FakeServer::new(NATIVE);
        assert_eq!(number(&build(&without_tls.registry(), &with_string(options))).await, 42.0, "{options}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rotated_password_fails_no_reading() {
    let fake = FakeServer::new(CACHING_SHA2);
    let registry = fake.registry();
    let old = build(&registry, &with_parts());
    assert_eq!(number(&old).await, 42.0);
    fake.state().password = "correct horse".to_owned();
    fake.state().is_cached = false;
    assert_eq!(number(&old).await, 42.0, "the connection is signed in");
    let new = build(&registry, &with_parts().auth("password", "correct horse"));
    assert_eq!(number(&new).await, 42.0);
    fake.state().farewell = Some(4031);
    assert!(read(&old).await.unwrap_err().is_denied(), "a new connection needs the new password");
}

#[tokio::test(start_paused = true)]
async fn a_kept_connection_that_is_of_no_use_is_replaced_without_a_failed_reading() {
    let fake = FakeServer::new(NATIVE);
    let scaler = build(&fake.registry(), &with_string("?charset=utf8mb4&sql_mode=%27ANSI%27"));
    assert_eq!(number(&scaler).await, 42.0);
    for code in [4031, 1053, 1927] {
        let before = fake.state().connected;
        fake.state().farewell = Some(code);
        assert_eq!(number(&scaler).await, 42.0, "{code}");
        assert_eq!(fake.state().connected, before + 1, "{code}");
    }
    // A transaction would go on seeing old data.
    fake.state().status = 3;
    assert_eq!(number(&scaler).await, 42.0);
    let before = fake.state().connected;
    fake.state().number = "43";
    assert_eq!(number(&scaler).await, 43.0);
    assert_eq!(fake.state().connected, before + 1);
    let first: Vec<_> = fake.state().queries.iter().take(3).cloned().collect();
    assert_eq!(first, ["SET NAMES utf8mb4", "SET sql_mode = 'ANSI'", "SELECT 42"]);
}

#[tokio::test(start_paused = true)]
async fn errors_of_the_server_are_denials_or_refusals() {
    let rows = [
        (1045, true, "; check the user and the password in `connectionString`, or `username` and `password`"),
        (1142, true, "; grant the user what the query needs"),
        (1698, true, "; check the user and the password in `connectionString`, or `username` and `password`"),
        (1044, true, "; grant the user the database, or check its name in `connectionString`, or `dbName`"),
        (1049, false, "; check the name of the database in `connectionString`, or `dbName`"),
        (1064, false, "; correct `query`"),
        (1146, false, "; correct `query`"),
        (1040, false, "; raise the number of connections that the server allows"),
        (1105, false, ""),
    ];
    for (code, is_denied, remedy) in rows {
        let fake = FakeServer::new(NATIVE);
        fake.state().errors.push((code, "no, hunter2, no"));
        let scaler = build(&fake.registry(), &with_parts());
        let error = read(&scaler).await.unwrap_err();
        assert_eq!((error.is_denied(), error.reason()), (is_denied, "SourceRefused"), "{code}: {error}");
        assert!(error.to_string().ends_with(&format!("{code} (28000): no, ***, no{remedy}")), "{error}");
        assert_eq!(number(&scaler).await, 42.0, "the next one works");
    }
    let full = Recording::new([[0_u8; 0]]).greeting(&encode_packet(0, b"\xff\x10\x04Too many connections"));
    let error = full.read(&with_parts(), Damage::None).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "db:3306 answered: 1040: Too many connections; raise the number of connections that the server allows"
    );
}

#[tokio::test(start_paused = true)]
async fn a_result_without_one_number_has_no_value() {
    let fake = FakeServer::new(NATIVE);
    let scaler = build(&fake.registry(), &with_parts());
    fake.state().number = "many";
    let error = read(&scaler).await.unwrap_err();
    assert_eq!(error.reason(), "SourceWithoutValue", "{error}");
    fake.state().number = "-0.5";
    let known = read(&scaler).await.unwrap();
    assert_eq!((known.values, known.activity), (vec![-0.5], Activity::Inactive));
    assert_eq!(fake.state().connected, 1);
}

fn request_length(bytes: &[u8]) -> Option<usize> {
    let length = 4 + usize::from(*bytes.first()?) + (usize::from(*bytes.get(1)?) << 8);
    Some(length).filter(|length| bytes.len() >= *length)
}

/// What MariaDB 10.11 sent as its greeting and at the end of signing in; then this answer to a query.
fn recording(answer: &[u8]) -> Recording {
    let greeting = b"d\0\0\0\x0a5.5.5-10.11.19-MariaDB-0+deb12u1\0\x04\0\0\0<~)M'yO_\0\xfe\xff\x08\x02\0\xff\x81\x15\
        \0\0\0\0\0\0\x1d\0\0\0n-0LkWSy(Yfu\0mysql_native_password\0";
    let ok = b"\x07\0\0\x02\0\0\0\x02\0\0\0";
    Recording::new([answer]).requests(request_length).greeting(greeting).sign_in([ok])
}

/// What it sent to `SELECT COUNT(*) FROM orders`.
const COUNT: &[u8] = b"\x01\0\0\x01\x01\x1e\0\0\x02\x03def\0\0\0\x08COUNT(*)\0\x0c?\0\x15\0\0\0\x08\x81\0\0\0\0\
    \x05\0\0\x03\xfe\0\0\x22\0\x03\0\0\x04\x0242\x05\0\0\x05\xfe\0\0\x22\0";

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    recording(COUNT).value_bytes(b"42").assert_no_outage_is_a_number(&with_parts(), 42.0).await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_while_signing_in_by_sha2_is_a_number() {
    let greeting = encode_packet(
        0,
        b"\x0a8.4.6\0\x07\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0caching_sha2_password\0",
    );
    let fast = [encode_packet(2, &[1, 3]), encode_packet(3, &[0, 0, 0, 2, 0, 0, 0])].concat();
    let answer: Vec<u8> =
        (1..).zip(result("42", 2)).flat_map(|(number, payload)| encode_packet(number, &payload)).collect();
    let recording = Recording::new([answer]).requests(request_length).greeting(&greeting).sign_in([fast]);
    recording.value_bytes(b"42").assert_no_outage_is_a_number(&with_parts(), 42.0).await;
}

#[test]
fn parameters_are_checked_together() {
    let registry = FakeServer::new(NATIVE).registry();
    let (parts, string) = (with_parts, || with_string(""));
    let rows: Vec<(&str, Sample, &[&str])> = vec![
        ("parts", parts(), &[]),
        ("parts of authentication", plain().auth("host", "db").auth("port", "3306"), &[]),
        ("without a database and a user", parts().without("dbName").without("username"), &[]),
        ("an IPv6 address", parts().with("host", "::1"), &[]),
        ("an IPv6 address in brackets", parts().with("host", "[::1]"), &[]),
        ("a connection string", string(), &[]),
        ("a connection string, which wins", string().with("host", "?").with("port", "x"), &[]),
        (
            "a connection string of the environment",
            plain().with("connectionStringFromEnv", "DSN").environment("DSN", "u:p@tcp(db)/shop"),
            &[],
        ),
        ("an ignored name", parts().with("metricName", "?"), &[]),
        ("nothing", plain(), &["`connectionString` is missing, and so are `host` and `port`"]),
        ("no host", plain().with("port", "1"), &["`host` is missing; give `host` and `port`"]),
        ("no port", plain().with("host", "db"), &["`port` is missing; give `host` and `port`"]),
        ("no such port", parts().with("port", "x"), &["`host` and `port` together has no usable port"]),
        ("no such host", parts().with("host", "d b"), &["`host` and `port` together has no usable host"]),
        (
            "no string in metadata",
            plain().with("connectionString", "u:p@tcp(db)/shop"),
            &["`connectionString` is missing"],
        ),
        ("no connection string", plain().auth("connectionString", "hunter2"), &["`connectionString` has no `/`"]),
        (
            "a socket",
            plain().auth("connectionString", "u:hunter2@unix(/s)/"),
            &["`connectionString` names a Unix socket"],
        ),
        ("no query", parts().without("query"), &["`query` is missing"]),
        ("no target", parts().without("queryValue"), &["`queryValue` is missing"]),
        ("nothing each", parts().with("queryValue", "0"), &["`queryValue` is absent or not above 0"]),
        ("nothing each, for a formula", parts().with("queryValue", "0").role(Role::FormulaInput), &[]),
        (
            "no target, for a formula",
            parts().without("queryValue").role(Role::FormulaInput),
            &["`queryValue` is missing"],
        ),
        (
            "no numbers",
            parts().with("queryValue", "x").with("activationQueryValue", "AA"),
            &["`queryValue` \"x\" is not a number", "`activationQueryValue` \"AA\" is not a number"],
        ),
        (
            "all at once",
            plain().without("query").with("queryValue", "x").auth("connectionString", "hunter2"),
            &["`query` is missing", "`queryValue`", "`connectionString`"],
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
}

#[test]
fn a_manifest_alone_is_not_blamed_for_what_authentication_gives() {
    use Resolution::{ManifestWithAuthentication, ManifestWithoutAuthentication};
    let registry = FakeServer::new(NATIVE).registry();
    let rows: [(&str, Sample, Resolution, &[&str]); 5] = [
        ("with an authentication", plain(), ManifestWithAuthentication, &[]),
        ("without one", plain(), ManifestWithoutAuthentication, &["connectionString"]),
        ("a variable", plain().with("connectionStringFromEnv", "DSN"), ManifestWithoutAuthentication, &[]),
        ("half of it", plain().with("host", "db"), ManifestWithoutAuthentication, &["port"]),
        ("all of it", with_parts(), ManifestWithAuthentication, &[]),
    ];
    for (name, sample, resolution, expected) in rows {
        let errors = registry.check(&sample.resolution(resolution).trigger());
        let fields: Vec<_> = errors.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, expected, "{name}: {errors:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn names_and_targets_are_those_of_keda() {
    let registry = FakeServer::new(NATIVE).registry();
    let string = |text: &str| plain().auth("connectionString", text);
    let rows = [
        (with_parts(), "s0-mysql-shop", "5"),
        (with_parts().without("dbName").with("queryValue", "0.5"), "s0-mysql-", "500m"),
        (with_parts().with("dbName", "a/b.c"), "s0-mysql-a-b-c", "5"),
        (with_string(""), "s0-mysql-shop", "5"),
        (with_string("?tls=true&timeout=5s").with("dbName", "x"), "s0-mysql-shop?tls=true&timeout=5s", "5"),
        (string("u:p/w@tcp(db)/s%2Fb?time_zone=%27x%27"), "s0-mysql-s-2Fb?time_zone=-27x-27", "5"),
    ];
    for (sample, name, target) in rows {
        let specs = build(&registry, &sample).describe().await.unwrap();
        let external = specs[0].external.as_ref().unwrap();
        assert_eq!(external.metric.name, name);
        assert_eq!(external.target.average_value.as_ref().unwrap().0, target, "{sample:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reading_has_the_longest_of_the_limits() {
    let rows = [("", 3), ("?timeout=1s", 3), ("?timeout=5s", 5), ("?timeout=5s&readTimeout=20s", 20)];
    for (options, seconds) in rows {
        let (registry, _) = Recording::new([[0_u8; 0]]).registry(Damage::None);
        let started = tokio::time::Instant::now();
        let error = read(&build(&registry, &with_string(options))).await.unwrap_err();
        assert_eq!((error.reason(), started.elapsed()), ("SourceTimeout", Duration::from_secs(seconds)), "{options}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a server sends in answer to a query: what is no result is no reading.
    #[test]
    fn only_a_result_is_a_reading(payloads in proptest::collection::vec(any::<Vec<u8>>(), 0..4)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let answer: Vec<u8> = (1..).zip(&payloads).flat_map(|(number, payload)| encode_packet(number, payload)).collect();
            let reading = recording(&answer).read(&with_parts(), Damage::None).await;
            prop_assert!(reading.is_err(), "{:?}: {:?}", payloads, reading);
            Ok(())
        })?;
    }
}
