//! The plan as a table, and its law: carried out, it leads to rest.

use std::time::Duration;

use chrono::TimeDelta;
use proptest::prelude::*;

use super::*;
use crate::make::apply;
use crate::wanted::{Lifetimes, service_names};

const SERVICES: [&str; 3] = ["keda-operator", "keda-metrics-apiserver", "keda-admission-webhooks"];

fn wanted() -> Wanted {
    Wanted { names: service_names(&SERVICES, "keda", "cluster.local"), lifetimes: Lifetimes::default() }
}

fn start() -> DateTime<Utc> {
    "2026-12-01T10:00:00Z".parse().unwrap()
}

fn days(days: i64) -> DateTime<Utc> {
    start() + TimeDelta::days(days)
}

/// As a fresh install makes it.
fn fresh() -> Contents {
    made(&Contents::default(), &wanted(), start())
}

fn made(found: &Contents, wanted: &Wanted, now: DateTime<Utc>) -> Contents {
    apply(plan(found, wanted, now), found, None, wanted, now).unwrap()
}

/// A Secret of the form that KEDA makes: RSA, keys in PKCS#1.
fn kedas() -> Contents {
    Contents {
        authorities: include_bytes!("../../tests/keda/ca.crt").to_vec(),
        authority_key: include_bytes!("../../tests/keda/ca.key").to_vec(),
        chain: include_bytes!("../../tests/keda/tls.crt").to_vec(),
        key: include_bytes!("../../tests/keda/tls.key").to_vec(),
    }
}

#[test]
fn what_is_found_decides_what_is_done() {
    let (good, other) = (fresh(), fresh());
    let garbage = b"-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----\n".to_vec();
    let leaf = |because| Plan::RenewLeaf { because };
    let authority = |because| Plan::RenewAuthority { because };
    let replaced = made(&good, &wanted(), days(2500));
    let follow = Plan::Follow { by: days(365) };
    let short = Wanted { names: vec!["elsewhere".to_owned()], ..wanted() };
    use Reason::*;
    #[rustfmt::skip]
    let rows = [
        ("nothing", Contents::default(), days(0), authority(Missing)),
        ("no authority", Contents { authorities: Vec::new(), ..good.clone() }, days(0), authority(Missing)),
        ("no key of the authority", Contents { authority_key: Vec::new(), ..good.clone() }, days(0), authority(Missing)),
        ("an authority that is none", Contents { authorities: garbage.clone(), ..good.clone() }, days(0), authority(Unreadable)),
        ("text for an authority", Contents { authorities: b"hello".to_vec(), ..good.clone() }, days(0), authority(Unreadable)),
        ("text for its key", Contents { authority_key: b"hello".to_vec(), ..good.clone() }, days(0), authority(Unreadable)),
        ("another's key of the authority", Contents { authority_key: other.authority_key.clone(), ..good.clone() }, days(0), authority(KeyDoesNotFit)),
        ("a leaf for an authority", Contents { authorities: good.chain.clone(), ..good.clone() }, days(0), authority(NotAnAuthority)),
        ("no leaf", Contents { chain: Vec::new(), ..good.clone() }, days(0), leaf(Missing)),
        ("no key", Contents { key: Vec::new(), ..good.clone() }, days(0), leaf(Missing)),
        ("a leaf that is none", Contents { chain: garbage, ..good.clone() }, days(0), leaf(Unreadable)),
        ("text for a key", Contents { key: b"hello".to_vec(), ..good.clone() }, days(0), leaf(Unreadable)),
        ("another's key", Contents { key: other.key.clone(), ..good.clone() }, days(0), leaf(KeyDoesNotFit)),
        ("another authority's leaf", Contents { chain: other.chain.clone(), key: other.key.clone(), ..good.clone() }, days(0), leaf(OfAnotherAuthority)),
        ("fresh", good.clone(), days(0), Plan::Keep { until: good_until() }),
        ("before two thirds of the leaf", good.clone(), days(243), Plan::Keep { until: good_until() }),
        ("after two thirds of the leaf", good.clone(), days(244), leaf(Aged)),
        ("the leaf is over", good.clone(), days(366), leaf(OutOfTime)),
        ("after two thirds of the authority", good.clone(), days(2434), authority(Aged)),
        ("the authority is over", good.clone(), days(3651), authority(OutOfTime)),
        ("before its time", good.clone(), days(-1), authority(OutOfTime)),
        ("KEDA's", kedas(), days(0), Plan::Keep { until: "2027-07-16T20:24:50Z".parse().unwrap() }),
        ("KEDA's, aged", kedas(), days(240), leaf(Aged)),
        ("an old leaf of no use is not followed", replaced.clone(), days(2500), Plan::Keep { until: days(2743) + TimeDelta::hours(7) + TimeDelta::minutes(40) }),
    ];
    for (name, found, now, expected) in rows {
        assert_eq!(plan(&found, &wanted(), now), expected, "{name}");
    }
    assert_eq!(plan(&good, &short, days(0)), leaf(NameMissing), "another name is wanted");
    let lost = Contents { authority_key: Vec::new(), ..good.clone() };
    assert_eq!(plan(&made(&lost, &wanted(), days(0)), &wanted(), days(0)), follow, "the old leaf goes on");
}

/// Two thirds of a year and an hour, of which the hour is past.
fn good_until() -> DateTime<Utc> {
    days(243) + TimeDelta::hours(8) - TimeDelta::minutes(20)
}

#[test]
fn an_authority_is_replaced_without_a_gap_and_the_old_one_leaves() {
    let wanted = Wanted { lifetimes: short(), ..wanted() };
    let seconds = |seconds| start() + TimeDelta::seconds(seconds);
    let first = made(&Contents::default(), &wanted, start());
    let young = made(&first, &wanted, seconds(100));
    assert_ne!(young.chain, first.chain, "the leaf was renewed on the way");
    assert_eq!(plan(&young, &wanted, seconds(106)), Plan::RenewAuthority { because: Reason::Aged });
    let both = made(&young, &wanted, seconds(106));
    assert_eq!((&both.chain, reading::authorities(&both).len()), (&young.chain, 2));
    assert_ne!(both.authority_key, young.authority_key);
    assert_eq!(plan(&both, &wanted, seconds(106)), Plan::Follow { by: seconds(160) });
    let followed = made(&both, &wanted, seconds(112));
    assert_ne!(followed.chain, both.chain);
    assert_eq!(followed.authorities, both.authorities, "those who still show the old leaf are trusted");
    assert_eq!(plan(&followed, &wanted, seconds(112)), Plan::Keep { until: seconds(132) });
    assert_eq!(plan(&followed, &wanted, seconds(132)), Plan::DropOldAuthorities);
    let alone = made(&followed, &wanted, seconds(132));
    assert_eq!((alone.chain.clone(), reading::authorities(&alone).len()), (followed.chain, 1));
    assert_eq!(plan(&alone, &wanted, seconds(132)), Plan::Keep { until: seconds(147) });
}

fn short() -> Lifetimes {
    Lifetimes { authority: Duration::from_secs(180), leaf: Duration::from_secs(60) }
}

#[test]
fn a_lost_secret_is_made_anew_around_the_leaf_that_is_shown() {
    let (shown, wanted) = (fresh(), wanted());
    let lost = Contents::default();
    let healed = apply(plan(&lost, &wanted, days(1)), &lost, Some(&shown), &wanted, days(1)).unwrap();
    assert_eq!((&healed.chain, &healed.key), (&shown.chain, &shown.key));
    assert_eq!(plan(&healed, &wanted, days(1)), Plan::Follow { by: days(365) });
    let late = apply(plan(&lost, &wanted, days(400)), &lost, Some(&shown), &wanted, days(400)).unwrap();
    assert_ne!(late.chain, shown.chain, "a leaf that is over is not kept");
    assert!(matches!(plan(&late, &wanted, days(400)), Plan::Keep { .. }));
}

#[test]
fn kedas_authority_goes_on_with_leaves_of_ours() {
    let renewed = made(&kedas(), &wanted(), days(240));
    assert_eq!(renewed.authorities, kedas().authorities);
    assert_ne!(renewed.chain, kedas().chain);
    assert!(renewed.key.starts_with(b"-----BEGIN PRIVATE KEY-----"), "PKCS#8");
    assert!(matches!(plan(&renewed, &wanted(), days(240)), Plan::Keep { .. }));
}

#[test]
fn nothing_secret_is_shown() {
    assert_eq!(format!("{:?}", fresh()), "Contents(***)");
}

/// One part spoilt, or none.
fn spoilt(good: &Contents, other: &Contents, part: usize, how: usize) -> Contents {
    let mut spoilt = good.clone();
    let (part, foreign) = match part {
        0 => (&mut spoilt.authorities, &other.authorities),
        1 => (&mut spoilt.authority_key, &other.authority_key),
        2 => (&mut spoilt.chain, &other.chain),
        _ => (&mut spoilt.key, &other.key),
    };
    match how {
        0 => part.clear(),
        1 => part.truncate(part.len() / 2),
        2 => *part = foreign.clone(),
        3 => part.extend_from_slice(b"-----BEGIN CERTIFICATE-----\n"),
        4 => part.reverse(),
        _ => {}
    }
    spoilt
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_plan_carried_out_leads_to_rest(part in 0_usize..4, how in 0_usize..6, age in -10_i64..4000, remembers in any::<bool>(), hours in 1_u64..20_000) {
        let lifetimes = Lifetimes { authority: Duration::from_secs(hours * 3600 * 5), leaf: Duration::from_secs(hours * 3600) };
        let wanted = Wanted { lifetimes, ..wanted() };
        let good = made(&Contents::default(), &wanted, start());
        let mut found = spoilt(&good, &fresh(), part, how);
        let now = days(age);
        let remembered = remembers.then_some(&good);
        let mut steps = 0;
        while !matches!(plan(&found, &wanted, now), Plan::Keep { .. }) {
            found = apply(plan(&found, &wanted, now), &found, remembered, &wanted, now).unwrap();
            steps += 1;
            prop_assert!(steps <= 3, "still {:?}", plan(&found, &wanted, now));
        }
        let Plan::Keep { until } = plan(&found, &wanted, now) else { unreachable!() };
        prop_assert!(until > now);
    }
}
