//! The plan as a table, and its property: carried out, it leads to a state in which nothing is left to do.

use std::time::Duration;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::issue::apply;
use crate::spec::{Lifetimes, service_names};

const SERVICES: [&str; 3] = ["keda-operator", "keda-metrics-apiserver", "keda-admission-webhooks"];

fn spec() -> CertificateSpec {
    CertificateSpec { names: service_names(&SERVICES, "keda", "cluster.local"), lifetimes: Lifetimes::default() }
}

fn start() -> DateTime<Utc> {
    "2026-12-01T10:00:00Z".parse().unwrap()
}

fn days(days: i64) -> DateTime<Utc> {
    start() + TimeDelta::days(days)
}

/// The contents after a fresh installation.
fn fresh() -> SecretContents {
    made(&SecretContents::default(), &spec(), start())
}

fn made(found: &SecretContents, spec: &CertificateSpec, now: DateTime<Utc>) -> SecretContents {
    apply(plan(found, spec, now), found, None, spec, now).unwrap()
}

/// A Secret as KEDA creates it: RSA, keys in PKCS#1.
fn kedas() -> SecretContents {
    SecretContents {
        ca_bundle: include_bytes!("../../tests/keda/ca.crt").to_vec(),
        ca_key: include_bytes!("../../tests/keda/ca.key").to_vec(),
        chain: include_bytes!("../../tests/keda/tls.crt").to_vec(),
        key: include_bytes!("../../tests/keda/tls.key").to_vec(),
    }
}

#[test]
fn the_contents_of_the_secret_determine_the_next_step() {
    let (good, other) = (fresh(), fresh());
    let garbage = b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n".to_vec();
    let leaf = |because| Plan::RenewLeaf { because };
    let ca = |because| Plan::RenewCa { because };
    let replaced = made(&good, &spec(), days(2500));
    let follow = Plan::ReplaceLeaf { by: days(365) };
    let short = CertificateSpec { names: vec!["elsewhere".to_owned()], ..spec() };
    use Reason::*;
    #[rustfmt::skip]
    let rows = [
        ("nothing", SecretContents::default(), days(0), ca(Missing)),
        ("no ca", SecretContents { ca_bundle: Vec::new(), ..good.clone() }, days(0), ca(Missing)),
        ("no key of the ca", SecretContents { ca_key: Vec::new(), ..good.clone() }, days(0), ca(Missing)),
        ("an ca that is none", SecretContents { ca_bundle: garbage.clone(), ..good.clone() }, days(0), ca(Unreadable)),
        ("text for an ca", SecretContents { ca_bundle: b"hello".to_vec(), ..good.clone() }, days(0), ca(Unreadable)),
        ("text for its key", SecretContents { ca_key: b"hello".to_vec(), ..good.clone() }, days(0), ca(Unreadable)),
        ("another's key of the ca", SecretContents { ca_key: other.ca_key.clone(), ..good.clone() }, days(0), ca(KeyMismatch)),
        ("a leaf for an ca", SecretContents { ca_bundle: good.chain.clone(), ..good.clone() }, days(0), ca(NotACa)),
        ("no leaf", SecretContents { chain: Vec::new(), ..good.clone() }, days(0), leaf(Missing)),
        ("no key", SecretContents { key: Vec::new(), ..good.clone() }, days(0), leaf(Missing)),
        ("a leaf that is none", SecretContents { chain: garbage, ..good.clone() }, days(0), leaf(Unreadable)),
        ("text for a key", SecretContents { key: b"hello".to_vec(), ..good.clone() }, days(0), leaf(Unreadable)),
        ("another's key", SecretContents { key: other.key.clone(), ..good.clone() }, days(0), leaf(KeyMismatch)),
        ("another ca's leaf", SecretContents { chain: other.chain.clone(), key: other.key.clone(), ..good.clone() }, days(0), leaf(OtherIssuer)),
        ("fresh", good.clone(), days(0), Plan::Keep { until: good_until() }),
        ("before two thirds of the leaf", good.clone(), days(243), Plan::Keep { until: good_until() }),
        ("after two thirds of the leaf", good.clone(), days(244), leaf(RenewalDue)),
        ("the leaf is over", good.clone(), days(366), leaf(Expired)),
        ("after two thirds of the ca", good.clone(), days(2434), ca(RenewalDue)),
        ("the ca is over", good.clone(), days(3651), ca(Expired)),
        ("before its time", good.clone(), days(-1), ca(Expired)),
        ("KEDA's", kedas(), days(0), Plan::Keep { until: "2027-07-16T20:24:50Z".parse().unwrap() }),
        ("KEDA's, aged", kedas(), days(240), leaf(RenewalDue)),
        ("an old leaf of no use is not followed", replaced.clone(), days(2500), Plan::Keep { until: days(2743) + TimeDelta::hours(7) + TimeDelta::minutes(40) }),
    ];
    for (name, found, now, expected) in rows {
        assert_eq!(plan(&found, &spec(), now), expected, "{name}");
    }
    assert_eq!(plan(&good, &short, days(0)), leaf(MissingName), "another name is spec");
    let lost = SecretContents { ca_key: Vec::new(), ..good.clone() };
    assert_eq!(plan(&made(&lost, &spec(), days(0)), &spec(), days(0)), follow, "the old leaf goes on");
}

/// Two thirds of a year and an hour, of which the hour is past.
fn good_until() -> DateTime<Utc> {
    days(243) + TimeDelta::hours(8) - TimeDelta::minutes(20)
}

#[test]
fn a_ca_is_rotated_without_a_gap_and_the_old_one_is_dropped() {
    let spec = CertificateSpec { lifetimes: short(), ..spec() };
    let seconds = |seconds| start() + TimeDelta::seconds(seconds);
    let first = made(&SecretContents::default(), &spec, start());
    let young = made(&first, &spec, seconds(100));
    assert_ne!(young.chain, first.chain, "the leaf was renewed on the way");
    assert_eq!(plan(&young, &spec, seconds(106)), Plan::RenewCa { because: Reason::RenewalDue });
    let both = made(&young, &spec, seconds(106));
    assert_eq!((&both.chain, parse::ca_certificates(&both).len()), (&young.chain, 2));
    assert_ne!(both.ca_key, young.ca_key);
    assert_eq!(plan(&both, &spec, seconds(106)), Plan::ReplaceLeaf { by: seconds(160) });
    let followed = made(&both, &spec, seconds(112));
    assert_ne!(followed.chain, both.chain);
    assert_eq!(followed.ca_bundle, both.ca_bundle, "those who still show the old leaf are trusted");
    assert_eq!(plan(&followed, &spec, seconds(112)), Plan::Keep { until: seconds(132) });
    assert_eq!(plan(&followed, &spec, seconds(132)), Plan::DropOldCas);
    let alone = made(&followed, &spec, seconds(132));
    assert_eq!((alone.chain.clone(), parse::ca_certificates(&alone).len()), (followed.chain, 1));
    assert_eq!(plan(&alone, &spec, seconds(132)), Plan::Keep { until: seconds(147) });
}

fn short() -> Lifetimes {
    Lifetimes { ca: Duration::from_secs(180), leaf: Duration::from_secs(60) }
}

#[test]
fn a_lost_secret_is_recreated_with_the_served_leaf() {
    let (shown, spec) = (fresh(), spec());
    let lost = SecretContents::default();
    let healed = apply(plan(&lost, &spec, days(1)), &lost, Some(&shown), &spec, days(1)).unwrap();
    assert_eq!((&healed.chain, &healed.key), (&shown.chain, &shown.key));
    assert_eq!(plan(&healed, &spec, days(1)), Plan::ReplaceLeaf { by: days(365) });
    let late = apply(plan(&lost, &spec, days(400)), &lost, Some(&shown), &spec, days(400)).unwrap();
    assert_ne!(late.chain, shown.chain, "a leaf that is over is not kept");
    assert!(matches!(plan(&late, &spec, days(400)), Plan::Keep { .. }));
}

#[test]
fn kedas_ca_issues_leaves_of_kedge() {
    let renewed = made(&kedas(), &spec(), days(240));
    assert_eq!(renewed.ca_bundle, kedas().ca_bundle);
    assert_ne!(renewed.chain, kedas().chain);
    assert!(renewed.key.starts_with(b"-----BEGIN PRIVATE KEY-----"), "PKCS#8");
    assert!(matches!(plan(&renewed, &spec(), days(240)), Plan::Keep { .. }));
}

#[test]
fn debug_output_hides_secrets() {
    assert_eq!(format!("{:?}", fresh()), "SecretContents(***)");
}

/// One entry corrupted, or none.
fn corrupted(good: &SecretContents, other: &SecretContents, part: usize, how: usize) -> SecretContents {
    let mut corrupted = good.clone();
    let (part, foreign) = match part {
        0 => (&mut corrupted.ca_bundle, &other.ca_bundle),
        1 => (&mut corrupted.ca_key, &other.ca_key),
        2 => (&mut corrupted.chain, &other.chain),
        _ => (&mut corrupted.key, &other.key),
    };
    match how {
        0 => part.clear(),
        1 => part.truncate(part.len() / 2),
        2 => *part = foreign.clone(),
        3 => part.extend_from_slice(b"-----BEGIN CERTIFICATE-----\n"),
        4 => part.reverse(),
        _ => {}
    }
    corrupted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_plan_carried_out_leaves_nothing_to_do(part in 0_usize..4, how in 0_usize..6, age in -10_i64..4000, remembers in any::<bool>(), hours in 1_u64..20_000) {
        let lifetimes = Lifetimes { ca: Duration::from_secs(hours * 3600 * 5), leaf: Duration::from_secs(hours * 3600) };
        let spec = CertificateSpec { lifetimes, ..spec() };
        let good = made(&SecretContents::default(), &spec, start());
        let mut found = corrupted(&good, &fresh(), part, how);
        let now = days(age);
        let remembered = remembers.then_some(&good);
        let mut steps = 0;
        while !matches!(plan(&found, &spec, now), Plan::Keep { .. }) {
            found = apply(plan(&found, &spec, now), &found, remembered, &spec, now).unwrap();
            steps += 1;
            prop_assert!(steps <= 3, "still {:?}", plan(&found, &spec, now));
        }
        let Plan::Keep { until } = plan(&found, &spec, now) else { unreachable!() };
        prop_assert!(until > now);
    }
}
