//! Cases of `postgresql`. KEDA connects while it builds. A case `refused: …` is one that it refuses.

use super::sql::readings;
use crate::oracle::case::Case;
use crate::oracle::edges::{FLOATS, Place, common, places, sweep, sweep_in};

const PARTS: [(&str, &str); 5] = [
    ("host", "${postgresql.host}"),
    ("port", "${postgresql.port}"),
    ("userName", "scram_worker"),
    ("dbName", "shop"),
    ("sslmode", "disable"),
];

fn bare() -> Case {
    Case::new("postgresql").with_all(&[("query", "SELECT 7"), ("targetQueryValue", "5")])
}

pub(in crate::oracle) fn cases() -> Vec<Case> {
    let base = bare().with_all(&PARTS).auth("password", "w0rker");
    let mut cases = sweep(&base, "targetQueryValue", FLOATS);
    cases.extend(sweep(&base, "activationTargetQueryValue", FLOATS));
    cases.extend(sweep(&base, "query", &["", " ", "SELECT 1", "anything", "SELECT 'ü'"]));
    for (part, value) in PARTS {
        cases.extend(sweep(&base, part, &["", " "]));
        cases.extend(places(&base, part, value, value));
    }
    cases.extend(places(&base, "password", "w0rker", "w0rker"));
    cases.extend(sweep_in(&base, "sslmode", Place::Metadata, &["disable", "allow", "prefer", "require"]));
    let refused = base.clone().named("refused:").read(1);
    cases.extend(sweep_in(&refused, "sslmode", Place::Metadata, &["verify-ca", "verify-full"]));
    cases.extend(sweep_in(&refused, "sslmode", Place::Metadata, &["Disable", "none", "on"]));
    cases.extend(sweep_in(&refused, "port", Place::Metadata, &["1", "0", "x", "70000", "-1"]));
    cases.extend(sweep_in(&refused, "userName", Place::Metadata, &["other"]));
    cases.extend(sweep_in(&refused, "dbName", Place::Metadata, &["absent", "it's", r"back\slash", "two words"]));
    cases.extend(sweep_in(&refused, "password", Place::Authentication, &["wr0ng", "it's", r"back\slash", "two words"]));
    cases.extend(connections());
    cases.extend(common(&base, "targetQueryValue"));
    cases.extend(readings(&base, "activationTargetQueryValue"));
    cases
}

/// Connection strings, in both forms.
fn connections() -> Vec<Case> {
    let good = [
        "postgresql://scram_worker:w0rker@${postgresql}/shop?sslmode=disable",
        "postgres://scram_worker:w0rker@${postgresql}/shop?sslmode=disable",
        "postgresql://scram_worker:w0%72ker@${postgresql}/shop?sslmode=disable",
        "postgresql://${postgresql}/shop?sslmode=disable&user=scram_worker&password=w0rker",
        "postgresql://scram_worker:w0rker@127.0.0.1:1,${postgresql}/shop?sslmode=disable",
        "postgresql://scram_worker:w0rker@${postgresql}/shop?sslmode=disable&application_name=x&connect_timeout=3",
        "postgresql://scram_worker:w0rker@${postgresql}/shop",
        "postgresql://scram_worker:w0rker@${postgresql}/shop?sslmode=require",
        "postgresql://tls_worker:w0rker@${postgresql}/shop?sslmode=require",
        "postgresql://tls_worker:w0rker@${postgresql}/shop",
        "postgresql://md5_worker:w0rker@${postgresql}/shop?sslmode=disable",
        "postgresql://cleartext_worker:w0rker@${postgresql}/shop?sslmode=disable",
        "host=${postgresql.host} port=${postgresql.port} user=scram_worker password=w0rker dbname=shop sslmode=disable",
        "host='${postgresql.host}' port = ${postgresql.port} user=scram_worker password='w0rker' dbname=shop sslmode=disable",
        "  host=${postgresql.host}   port=${postgresql.port} user=scram_worker password=w0rker dbname=shop  sslmode=disable ",
    ];
    let bad = [
        "postgresql://tls_worker:w0rker@${postgresql}/shop?sslmode=disable",
        "postgresql://scram_worker:w0rker@${postgresql}/shop?sslmode=verify-full",
        "postgresql://scram_worker:wr0ng@${postgresql}/shop?sslmode=disable",
        "postgresql://scram_worker:w0rker@${postgresql}/absent?sslmode=disable",
        "postgresql://scram_worker:w0rker@${postgresql}/shop?sslmode=maybe",
        "postgresql://scram_worker:w0rker@127.0.0.1:1/shop?sslmode=disable",
        "postgresql://scram_worker:w0%zz@${postgresql}/shop",
        "postgresql://scram_worker:w0rker@host:port/shop",
        "mysql://scram_worker:w0rker@${postgresql}/shop",
        "host",
        "host='open",
        "host=a port",
        "=x",
        "anything at all",
    ];
    let of = |name: &str, text: &str| bare().auth("connection", text).named(format!("{name} {text:?}"));
    let mut cases: Vec<Case> = good.iter().map(|text| of("connection", text).read(1)).collect();
    cases.extend(bad.iter().map(|text| of("refused: connection", text).read(1)));
    cases.extend(places(&bare(), "connection", good[0], good[0]));
    let both = bare().with_all(&PARTS).auth("connection", good[0]).auth("password", "wr0ng");
    cases.push(both.named("connection and parts").read(1));
    cases
}
