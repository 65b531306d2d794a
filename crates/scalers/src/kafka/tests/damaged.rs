//! No outage is a number: several brokers, of which one is damaged, also while users sign in.

use std::ops::Range;

use kedge_wire::scram::ScramHash;

use super::*;
use crate::damaged::{MASKS, Outages};
use crate::scram_server::ScramServer;

/// Where a broker sends the mechanism and the two messages of SCRAM, after the versions.
const SCRAM_BYTES: Range<usize> = 56..219;

/// All that is sent.
const ALL_BYTES: Range<usize> = 0..usize::MAX;

/// A lag of 42 and one of 142, at two brokers.
fn cluster() -> FakeCluster {
    let fake = FakeCluster::new();
    fake.state().topics.insert("orders".to_owned(), vec![partition(1, 45), partition(2, 145)]);
    fake
}

async fn assert_no_outage_is_a_number(
    cluster: impl Fn() -> FakeCluster,
    sample: Sample,
    damaged: Range<usize>,
    masks: &[u8],
) {
    let value_bytes: &[&[u8]] = &[b"\0\0\0\0\0\0\0\x2d", b"\0\0\0\0\0\0\0\x91", b"\0\0\0\0\0\0\0\x03"];
    let sample = sample.with("lagThreshold", "1000");
    let network = || cluster().connector();
    let outages = Outages { network: &network, sample: &sample, value: 184.0, value_bytes, damaged, masks };
    outages.assert_none_is_a_number().await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_of_one_broker_is_a_number() {
    assert_no_outage_is_a_number(cluster, orders(), ALL_BYTES, &MASKS).await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_while_a_token_is_fetched_or_sent_is_a_number() {
    let signing = || {
        let fake = cluster();
        (fake.state().mechanisms, fake.state().token) = (vec!["OAUTHBEARER"], Some("t0ken"));
        fake
    };
    let sample = orders().with("sasl", "oauthbearer").auth("username", "worker").auth("password", "hunter2");
    assert_no_outage_is_a_number(
        signing,
        sample.auth("oauthTokenEndpointUri", "http://login/token"),
        ALL_BYTES,
        &[0x01, 0x20],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn no_outage_during_scram_is_a_number() {
    let server = ScramServer::new(ScramHash::Sha256, "hunter2");
    let signing = || {
        let fake = cluster();
        {
            let mut state = fake.state();
            (state.mechanisms, state.scram) = (vec!["SCRAM-SHA-256"], Some(server.clone()));
            // Each sign-in takes the processor a while.
            state.nodes = [(1, "bootstrap:9092".to_owned())].into();
            state.topics.insert("orders".to_owned(), vec![partition(1, 45), partition(1, 145)]);
            state.coordinator = 1;
        }
        fake
    };
    let sample = orders().with("sasl", "scram_sha256").auth("username", "worker").auth("password", "hunter2");
    assert_no_outage_is_a_number(signing, sample, SCRAM_BYTES, &[0x01, 0x20]).await;
}

#[tokio::test(start_paused = true)]
async fn a_user_signs_in_by_scram_and_another_password_is_refused() {
    for (hash, mechanism, sasl) in
        [(ScramHash::Sha256, "SCRAM-SHA-256", "scram_sha256"), (ScramHash::Sha512, "SCRAM-SHA-512", "scram_sha512")]
    {
        let fake = cluster();
        (fake.state().mechanisms, fake.state().scram) = (vec![mechanism], Some(ScramServer::new(hash, "hunter2")));
        let user = orders().with("lagThreshold", "1000").with("sasl", sasl).auth("username", "worker");
        assert_eq!(value(&fake, &user.clone().auth("password", "hunter2")).await, Ok(184.0), "{sasl}");
        let error = value(&fake, &user.auth("password", "guess")).await.unwrap_err();
        assert!(error.starts_with("bootstrap:9092 denied access: SASL_AUTHENTICATION_FAILED"), "{error}");
        assert!(error.ends_with("; check `username` and `password`") && !error.contains("guess"), "{error}");
    }
}
