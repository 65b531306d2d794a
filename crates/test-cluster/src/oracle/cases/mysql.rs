//! Cases of `mysql`. KEDA connects while it builds. A case `refused: …` is one that it refuses.

use super::sql::readings;
use crate::oracle::case::Case;
use crate::oracle::edges::{FLOATS, Place, common, places, sweep, sweep_in};

pub(in crate::oracle) const USER: &str = "worker";
pub(in crate::oracle) const PASSWORD: &str = "w0rker";
pub(in crate::oracle) const DATABASE: &str = "shop";

const PARTS: [(&str, &str); 4] =
    [("host", "${mysql.host}"), ("port", "${mysql.port}"), ("username", USER), ("dbName", DATABASE)];

fn bare() -> Case {
    Case::new("mysql").with_all(&[("query", "SELECT 7"), ("queryValue", "5")])
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let base = bare().with_all(&PARTS).auth("password", PASSWORD);
    let mut cases = sweep(&base, "queryValue", FLOATS);
    cases.extend(sweep(&base, "activationQueryValue", FLOATS));
    cases.extend(sweep(&base, "query", &["", " ", "SELECT 1", "anything", "SELECT 'ü'"]));
    cases.extend(sweep(&base, "metricName", &["", "x", "a/b"]));
    for (part, value) in PARTS {
        cases.extend(places(&base, part, value, value));
    }
    cases.extend(places(&base, "password", PASSWORD, PASSWORD));
    cases.extend(sweep_in(&base, "dbName", Place::Metadata, &["", " "]));
    let refused = base.clone().named("refused:").read(1);
    cases.extend(sweep_in(&refused, "dbName", Place::Metadata, &["absent", "a/b", "a.b", "ü", "a?b"]));
    cases.extend(sweep_in(&refused, "port", Place::Metadata, &["1", "0", "x", "70000", "-1"]));
    cases.extend(sweep_in(&refused.clone().with("port", "1"), "host", Place::Metadata, &["[::1]", "a b"]));
    cases.extend(sweep_in(&refused, "username", Place::Metadata, &["other", ""]));
    cases.extend(sweep_in(&refused, "password", Place::Authentication, &["wr0ng", "a@b/c:d", "ü"]));
    cases.extend(connections());
    cases.extend(common(&base, "queryValue"));
    cases.extend(readings(&base, "activationQueryValue"));
    cases
}

/// Connection strings of Go's driver. The name of the metric is what follows the last slash.
fn connections() -> Vec<Case> {
    let good = [
        "worker:w0rker@tcp(${mysql})/shop",
        "worker:w0rker@tcp(${mysql})/",
        "worker:w0rker@tcp(${mysql})/shop?tls=false",
        "worker:w0rker@tcp(${mysql})/shop?tls=preferred",
        "worker:w0rker@tcp(${mysql})/shop?tls=skip-verify",
        "worker:w0rker@tcp(${mysql})/shop?timeout=3s&readTimeout=3s",
        "worker:w0rker@tcp(${mysql})/shop?writeTimeout=3s&maxAllowedPacket=4194304&rejectReadOnly=0",
        "worker:w0rker@tcp(${mysql})/shop?charset=utf8mb4&parseTime=true&loc=UTC",
        "worker:w0rker@tcp(${mysql})/shop?collation=utf8mb4_general_ci",
        "worker:w0rker@tcp(${mysql})/shop?allowNativePasswords=true&interpolateParams=true",
        "worker:w0rker@tcp(${mysql})/shop?time_zone=%27%2B00%3A00%27",
        "worker:w0rker@tcp(${mysql})/shop?loc=Europe%2FBerlin",
        "worker:w0rker@tcp(${mysql})/shop?loc=Europe/Berlin",
    ];
    let bad = [
        "worker:wr0ng@tcp(${mysql})/shop",
        "worker:w0rker@tcp(${mysql})/absent",
        "worker:w0rker@tcp(${mysql})/shop?tls=true",
        "worker:w0rker@tcp(${mysql})/shop?tls=maybe",
        "worker:w0rker@tcp(${mysql})/shop?timeout=x",
        "worker:w0rker@tcp(${mysql})/shop?parseTime=x",
        "worker:w0rker@tcp(${mysql})/shop?compress=x",
        "worker:w0rker@tcp(${mysql})/shop?writeTimeout=x",
        "worker:w0rker@tcp(${mysql})/shop?maxAllowedPacket=x",
        "worker:w0rker@tcp(${mysql})/shop?%zz",
        "worker:w0rker@tcp(127.0.0.1:1)/shop",
        "worker:w0rker@tcp(${mysql}/shop",
        "worker:w0rker@${mysql}/shop",
        "worker:w0rker@unix(/absent.sock)/shop",
        "mysql://worker:w0rker@${mysql}/shop",
        "worker:w0rker@tcp(${mysql})",
        "@/",
        "/",
        "anything",
    ];
    let of = |name: &str, text: &str| bare().auth("connectionString", text).named(format!("{name} {text:?}"));
    let mut cases: Vec<Case> = good.iter().map(|text| of("connection", text).read(1)).collect();
    cases.extend(bad.iter().map(|text| of("refused: connection", text).read(1)));
    cases.extend(places(&bare(), "connectionString", good[0], good[0]));
    let both = bare().with_all(&PARTS).with("dbName", "other").auth("connectionString", good[0]);
    cases.push(both.named("connection and parts").read(1));
    cases
}
