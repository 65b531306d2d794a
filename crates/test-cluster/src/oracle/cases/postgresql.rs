//! Cases of `postgresql`. KEDA connects while it builds. A server without TLS is needed to record them, with user `worker`, password
//! `w0rker` and the database `shop`. A case `refused: …` is one that it refuses.

use super::sql::readings;
use crate::oracle::case::Case;
use crate::oracle::edges::{FLOATS, Place, common, places, sweep, sweep_in};
use crate::oracle::sources::Placeholder;

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] =
    &[("postgresql", "127.0.0.1:5432"), ("postgresql.host", "127.0.0.1"), ("postgresql.port", "5432")];

const PARTS: [(&str, &str); 5] = [
    ("host", "${postgresql.host}"),
    ("port", "${postgresql.port}"),
    ("userName", "worker"),
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
    cases.extend(sweep_in(&base, "sslmode", Place::Metadata, &["disable", "allow", "prefer"]));
    let refused = base.clone().named("refused:").read(1);
    cases.extend(sweep_in(&refused, "sslmode", Place::Metadata, &["require", "verify-ca", "verify-full"]));
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
        "postgresql://worker:w0rker@${postgresql}/shop?sslmode=disable",
        "postgres://worker:w0rker@${postgresql}/shop?sslmode=disable",
        "postgresql://worker:w0%72ker@${postgresql}/shop?sslmode=disable",
        "postgresql://${postgresql}/shop?sslmode=disable&user=worker&password=w0rker",
        "postgresql://worker:w0rker@127.0.0.1:1,${postgresql}/shop?sslmode=disable",
        "postgresql://worker:w0rker@${postgresql}/shop?sslmode=disable&application_name=x&connect_timeout=3",
        "postgresql://worker:w0rker@${postgresql}/shop",
        "host=${postgresql.host} port=${postgresql.port} user=worker password=w0rker dbname=shop sslmode=disable",
        "host='${postgresql.host}' port = ${postgresql.port} user=worker password='w0rker' dbname=shop sslmode=disable",
        "  host=${postgresql.host}   port=${postgresql.port} user=worker password=w0rker dbname=shop  sslmode=disable ",
    ];
    let bad = [
        "postgresql://worker:wr0ng@${postgresql}/shop?sslmode=disable",
        "postgresql://worker:w0rker@${postgresql}/absent?sslmode=disable",
        "postgresql://worker:w0rker@${postgresql}/shop?sslmode=maybe",
        "postgresql://worker:w0rker@${postgresql}/shop?sslmode=require",
        "postgresql://worker:w0rker@127.0.0.1:1/shop?sslmode=disable",
        "postgresql://worker:w0%zz@${postgresql}/shop",
        "postgresql://worker:w0rker@host:port/shop",
        "mysql://worker:w0rker@${postgresql}/shop",
        "host",
        "host=",
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
