//! In virtual time, with a source that takes two seconds.

use std::sync::atomic::AtomicUsize;

use chrono::{DateTime, Utc};
use kedge_scalers::target::{External, TargetType};
use kedge_scalers::{BoxFuture, Endpoint, Known, ReadError};

use super::*;

/// A source that is slow, and answers or fails.
#[derive(Debug)]
struct Slow {
    works: bool,
    asked: AtomicUsize,
}

const SLOW: Duration = Duration::from_secs(2);

impl Scaler for Slow {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(SLOW).await;
            let endpoint = Endpoint::from_uri(&"http://source/".parse().unwrap());
            if self.works { Ok(Known::above(0.0, 7.0)) } else { Err(ReadError::Timeout { endpoint, limit: SLOW }) }
        })
    }
}

fn slow(works: bool) -> Arc<Slow> {
    Arc::new(Slow { works, asked: AtomicUsize::new(0) })
}

fn board(scaler: Result<Arc<dyn Scaler>, NotBuilt>) -> Arc<ObjectBoard> {
    let spec = External::one_each("s0-slow".to_owned(), TargetType::AverageValue).spec();
    let metric = ExternalMetric::of(&spec, |_| kedge_core::fallback::Failures(0)).unwrap();
    let trigger = BoardTrigger {
        index: 0,
        kind: "slow".to_owned(),
        name: None,
        scaler,
        specs: vec![spec],
        metrics: vec![Arc::new(metric)],
        service: Service::Live,
        push: None,
        credentials: Resolved::default(),
    };
    Arc::new(ObjectBoard {
        key: ObjectKey::new("n", "o"),
        uid: "u".to_owned(),
        generation: 1,
        fallback: Some(Fallback { failure_threshold: 3, replicas: 1, behavior: None }),
        triggers: vec![Arc::new(trigger)],
        composite: None,
        telemetry: Arc::new(Telemetry::new("test")),
        credentials: 0,
        refresh_at: None,
        retired: AtomicBool::new(false),
    })
}

async fn read(board: &Arc<ObjectBoard>) -> Reading {
    let (trigger, metric) = board.metrics().next().unwrap();
    board.read(trigger, metric, FRESH, &Clock::starting_at(DateTime::UNIX_EPOCH)).await
}

fn failures(board: &ObjectBoard) -> i32 {
    board.metrics().next().unwrap().1.failures().0
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_while_the_source_is_asked_gets_that_answer() {
    let source = slow(true);
    let board = board(Ok(source.clone()));
    let (first, second) = tokio::join!(read(&board), async {
        tokio::time::sleep(SLOW / 2).await;
        read(&board).await
    });
    assert_eq!(first.answer.unwrap().values, [7.0]);
    assert_eq!((second.answer.unwrap().values, source.asked.load(Ordering::Relaxed)), (vec![7.0], 1));
    tokio::time::sleep(FRESH).await;
    read(&board).await;
    assert_eq!(source.asked.load(Ordering::Relaxed), 1, "a reading of a second ago is as good as a new one");
    tokio::time::sleep(Duration::from_millis(1)).await;
    read(&board).await;
    assert_eq!(source.asked.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_query_counts_one_failure_whoever_asked() {
    let source = slow(false);
    let board = board(Ok(source.clone()));
    let (first, second) = tokio::join!(read(&board), read(&board));
    assert!(first.answer.is_err() && second.answer.is_err());
    assert_eq!((failures(&board), source.asked.load(Ordering::Relaxed)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_query_that_nobody_waits_for_any_more_counts_too() {
    let board = board(Ok(slow(false)));
    assert!(tokio::time::timeout(SLOW / 2, read(&board)).await.is_err());
    assert_eq!(failures(&board), 0);
    tokio::time::sleep(SLOW).await;
    assert_eq!(failures(&board), 1);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_that_is_not_built_fails_at_polls_and_not_at_reads() {
    let board = board(Err(NotBuilt::Mistake("no such thing".to_owned())));
    assert_eq!(read(&board).await.answer.unwrap_err().to_string(), "no such thing");
    assert_eq!(failures(&board), 0);
    for polls in 1..=6 {
        board.fail_unbuilt(&Clock::starting_at(DateTime::UNIX_EPOCH));
        assert_eq!(failures(&board), polls.min(4), "one above the threshold nothing more is counted");
    }
    assert!(read(&board).await.answer.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_query_that_ends_after_its_board_was_replaced_is_no_news() {
    let all = Board::default();
    let old = board(Ok(slow(true)));
    all.put(old.key.clone(), old.clone());
    let (_, ()) = tokio::join!(read(&old), async { drop(all.remove(&old.key)) });
    assert!(!String::from_utf8(old.telemetry.render()).unwrap().contains("s0-slow"));
}
