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
    queried: AtomicUsize,
}

const SLOW: Duration = Duration::from_secs(2);

impl Scaler for Slow {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async {
            self.queried.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(SLOW).await;
            let endpoint = Endpoint::from_uri(&"http://source/".parse().unwrap());
            if self.works { Ok(Known::above(0.0, 7.0)) } else { Err(ReadError::Timeout { endpoint, limit: SLOW }) }
        })
    }
}

/// A source that never answers.
#[derive(Debug)]
struct Hung;

impl Scaler for Hung {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(std::future::pending())
    }
}

/// A source that answers while its switch is on.
#[derive(Debug)]
struct Switched(AtomicBool);

impl Scaler for Switched {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        let endpoint = Endpoint::from_uri(&"http://source/".parse().unwrap());
        let answers = self.0.load(Ordering::Relaxed);
        Box::pin(async move {
            if answers { Ok(Known::above(0.0, 7.0)) } else { Err(ReadError::Timeout { endpoint, limit: SLOW }) }
        })
    }
}

/// A scaler with a defect.
#[derive(Debug)]
struct Defective;

impl Scaler for Defective {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        Box::pin(async { panic!("a defect") })
    }
}

fn slow(works: bool) -> Arc<Slow> {
    Arc::new(Slow { works, queried: AtomicUsize::new(0) })
}

fn scalers(scaler: Result<Arc<dyn Scaler>, NotBuilt>) -> Arc<ObjectScalers> {
    let spec = External::one_each("s0-slow".to_owned(), TargetType::AverageValue).spec();
    let metric = ExternalMetric::from_spec(&spec, |_| kedge_core::fallback::Failures(0)).unwrap();
    let trigger = CachedTrigger {
        index: 0,
        trigger_type: "slow".to_owned(),
        name: None,
        scaler,
        specs: Compact::new(&vec![spec]),
        metrics: vec![Arc::new(metric)],
        service: Service::Live,
        query_limit: None,
        push: None,
        credentials: Resolved::default(),
    };
    Arc::new(ObjectScalers {
        key: ObjectKey::scaled_object("n", "o"),
        uid: "u".to_owned(),
        generation: 1,
        fallback: Some(Fallback { failure_threshold: 3, replicas: 1, behavior: None }),
        triggers: vec![Arc::new(trigger)],
        polling_interval: Duration::from_secs(30),
        is_left_to_hpa: false,
        query_limit: Duration::from_secs(30),
        first_answer_limit: Duration::from_secs(3),
        composite: None,
        telemetry: Arc::new(Telemetry::new("test")),
        queue: Arc::default(),
        credentials: 0,
        term: 0,
        refresh_at: None,
        credentials_denied: AtomicBool::new(false),
        retired: AtomicBool::new(false),
    })
}

async fn read(scalers: &Arc<ObjectScalers>) -> Reading {
    read_for(scalers, Requester::ScaleLoop).await
}

async fn read_for(scalers: &Arc<ObjectScalers>, requester: Requester) -> Reading {
    let (trigger, metric) = scalers.metrics().next().unwrap();
    scalers.read(trigger, metric, FRESH, requester, &Clock::starting_at(DateTime::UNIX_EPOCH)).await
}

fn failures(scalers: &ObjectScalers) -> i32 {
    scalers.metrics().next().unwrap().1.failures().0
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_comes_during_a_query_gets_its_result() {
    let source = slow(true);
    let scalers = scalers(Ok(source.clone()));
    let (first, second) = tokio::join!(read(&scalers), async {
        tokio::time::sleep(SLOW / 2).await;
        read(&scalers).await
    });
    assert_eq!(first.answer.unwrap().values, [7.0]);
    assert_eq!((second.answer.unwrap().values, source.queried.load(Ordering::Relaxed)), (vec![7.0], 1));
    tokio::time::sleep(FRESH).await;
    read(&scalers).await;
    assert_eq!(source.queried.load(Ordering::Relaxed), 1, "a reading of a second ago is served instead of a new query");
    tokio::time::sleep(Duration::from_millis(1)).await;
    read(&scalers).await;
    assert_eq!(source.queried.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_query_counts_one_failure_however_many_readers_wait() {
    let source = slow(false);
    let scalers = scalers(Ok(source.clone()));
    let (first, second) = tokio::join!(read(&scalers), read(&scalers));
    assert!(first.answer.is_err() && second.answer.is_err());
    assert_eq!((failures(&scalers), source.queried.load(Ordering::Relaxed)), (1, 2));
}

/// A source that refuses a number of queries, and then answers.
#[derive(Debug)]
struct Refusing {
    left: AtomicUsize,
    queried: AtomicUsize,
}

impl Scaler for Refusing {
    fn describe(&self) -> BoxFuture<'_, Result<Vec<MetricSpec>, ReadError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn read<'a>(&'a self, _metric: &'a str, _now: DateTime<Utc>) -> BoxFuture<'a, Result<Known, ReadError>> {
        self.queried.fetch_add(1, Ordering::Relaxed);
        let endpoint = Endpoint::from_uri(&"http://source/".parse().unwrap());
        let refuses = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        let answer = if refuses { Err(ReadError::Status { endpoint, code: 503 }) } else { Ok(Known::above(0.0, 7.0)) };
        Box::pin(async { answer })
    }
}

#[tokio::test(start_paused = true)]
async fn a_failed_query_is_repeated_once_before_it_counts() {
    let source = Arc::new(Refusing { left: AtomicUsize::new(1), queried: AtomicUsize::new(0) });
    let scalers = scalers(Ok(source.clone()));
    let telemetry = || String::from_utf8(scalers.telemetry.render()).unwrap();
    assert!(read(&scalers).await.answer.is_ok());
    assert_eq!((failures(&scalers), source.queried.load(Ordering::Relaxed)), (0, 2), "one refusal does not count");
    let errors =
        telemetry().lines().filter(|line| line.contains("detail_errors_total{") && !line.ends_with(" 0")).count();
    assert_eq!(errors, 0);
    source.left.store(3, Ordering::Relaxed);
    tokio::time::sleep(2 * FRESH).await;
    assert!(read(&scalers).await.answer.is_err());
    assert_eq!((failures(&scalers), source.queried.load(Ordering::Relaxed)), (1, 4), "two do, once");
    tokio::time::sleep(2 * FRESH).await;
    assert!(read(&scalers).await.answer.is_ok());
    assert_eq!((failures(&scalers), source.queried.load(Ordering::Relaxed)), (0, 6), "also after a failure");
}

#[tokio::test(start_paused = true)]
async fn a_source_that_hangs_is_not_waited_for_twice_in_a_row() {
    let source = slow(false);
    let scalers = scalers(Ok(source.clone()));
    for (poll, queries) in [(1, 2), (2, 3), (3, 4)] {
        assert!(read(&scalers).await.answer.is_err());
        assert_eq!((failures(&scalers), source.queried.load(Ordering::Relaxed)), (poll, queries));
        tokio::time::sleep(2 * FRESH).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_second_query_that_does_not_end_in_time_leaves_the_error_of_the_first() {
    let mut scalers = scalers(Ok(slow(false)));
    Arc::get_mut(&mut scalers).unwrap().query_limit = SLOW * 3 / 2;
    let started = Instant::now();
    let error = read(&scalers).await.answer.unwrap_err().to_string();
    assert_eq!((error.as_str(), started.elapsed()), ("http://source/ gave no answer within 2s", SLOW * 3 / 2));
}

#[tokio::test(start_paused = true)]
async fn a_poll_takes_readings_of_some_age_only_from_the_metrics_api() {
    let (source, clock) = (slow(true), Clock::starting_at(DateTime::UNIX_EPOCH));
    let scalers = scalers(Ok(source.clone()));
    let (trigger, metric) = scalers.metrics().next().unwrap();
    // name, requester, how long after the last, queries in all
    let rows = [
        ("the first reading", Requester::MetricsApi, 0, 1),
        ("a poll takes it", Requester::ScaleLoop, 30, 1),
        ("until it is too old", Requester::ScaleLoop, 31, 2),
        ("a poll queries where the last query was a poll", Requester::ScaleLoop, 30, 3),
        ("the metrics API takes the reading of a poll", Requester::MetricsApi, 0, 3),
        ("which a poll then takes from the metrics API", Requester::ScaleLoop, 30, 3),
    ];
    for (name, requester, later, queries) in rows {
        tokio::time::sleep(Duration::from_secs(later)).await;
        let age_max = if requester == Requester::ScaleLoop { ASKED_BY_HPA } else { FRESH };
        scalers.read(trigger, metric, age_max, requester, &clock).await;
        assert_eq!(source.queried.load(Ordering::Relaxed), queries, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_query_that_the_metrics_api_waits_for_too_counts_as_its_own() {
    let (source, clock) = (slow(true), Clock::starting_at(DateTime::UNIX_EPOCH));
    let scalers = scalers(Ok(source.clone()));
    let (trigger, metric) = scalers.metrics().next().unwrap();
    let read = |requester| scalers.read(trigger, metric, ASKED_BY_HPA, requester, &clock);
    tokio::join!(read(Requester::ScaleLoop), read(Requester::MetricsApi));
    tokio::time::sleep(Duration::from_secs(30)).await;
    read(Requester::ScaleLoop).await;
    assert_eq!(source.queried.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_counts_though_no_reader_waits_for_it_any_more() {
    let scalers = scalers(Ok(slow(false)));
    assert!(tokio::time::timeout(SLOW / 2, read(&scalers)).await.is_err());
    assert_eq!(failures(&scalers), 0);
    tokio::time::sleep(2 * SLOW).await;
    assert_eq!(failures(&scalers), 1);
}

#[tokio::test(start_paused = true)]
async fn a_query_ends_after_the_polling_interval_whatever_the_source_does() {
    let (scalers, started) = (scalers(Ok(Arc::new(Hung))), Instant::now());
    let answer = read(&scalers).await.answer;
    let limit = Duration::from_secs(30);
    assert_eq!((answer, started.elapsed(), failures(&scalers)), (Err(Failure::Late { limit }), limit, 1));
}

#[tokio::test(start_paused = true)]
async fn the_metrics_api_does_not_wait_again_for_a_source_that_was_slow_to_fail() {
    let (failing, hung) = (scalers(Ok(slow(false))), scalers(Ok(Arc::new(Hung))));
    let serve = async || {
        tokio::time::sleep(3 * FRESH).await;
        let started = Instant::now();
        assert!(read_for(&failing, Requester::MetricsApi).await.answer.is_err());
        started.elapsed()
    };
    assert_eq!(serve().await, Duration::from_secs(3), "the first answer is waited for");
    assert_eq!(serve().await, Duration::from_millis(100));
    tokio::time::sleep(SLOW).await;
    assert_eq!(failures(&failing), 2, "it counts, though it came later");
    let answer = read_for(&hung, Requester::MetricsApi).await.answer;
    assert_eq!(answer.unwrap_err().to_string(), "the source has given no answer for 3s");
}

#[tokio::test(start_paused = true)]
async fn a_scaler_that_panics_fails_each_query_and_nothing_else() {
    let scalers = scalers(Ok(Arc::new(Defective)));
    for count in 1..=2 {
        let answer = read(&scalers).await.answer;
        assert_eq!((answer.unwrap_err(), failures(&scalers)), (Failure::Panicked, count));
        tokio::time::sleep(2 * FRESH).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_trigger_that_is_not_built_fails_at_polls_and_not_at_reads() {
    let scalers = scalers(Err(NotBuilt::Invalid("no such thing".to_owned())));
    assert_eq!(read(&scalers).await.answer.unwrap_err().to_string(), "no such thing");
    assert_eq!(failures(&scalers), 0);
    for polls in 1..=6 {
        scalers.fail_unbuilt(&Clock::starting_at(DateTime::UNIX_EPOCH));
        assert_eq!(failures(&scalers), polls.min(4), "one above the threshold nothing more is counted");
    }
    assert!(read(&scalers).await.answer.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_result_of_a_query_that_ends_after_its_entry_was_replaced_is_not_reported() {
    let all = ScalersCache::default();
    let old = scalers(Ok(slow(true)));
    all.put(old.clone());
    let (_, ()) = tokio::join!(read(&old), async { drop(all.remove(&old.key)) });
    assert!(!String::from_utf8(old.telemetry.render()).unwrap().contains("s0-slow"));
}

/// Whether the object was enqueued.
async fn is_enqueued(scalers: &ObjectScalers) -> bool {
    tokio::time::timeout(Duration::ZERO, scalers.queue.next()).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn a_reading_of_the_metrics_api_that_changes_the_fallback_enqueues_a_reconcile() {
    let source = Arc::new(Switched(AtomicBool::new(false)));
    let scalers = scalers(Ok(source.clone()));
    let clock = Clock::starting_at(DateTime::UNIX_EPOCH);
    let (trigger, metric) = scalers.metrics().next().unwrap();
    // name, whether the source answers, requester, whether the object is enqueued
    let rows = [
        ("the first reading ends the unknown state", false, Requester::MetricsApi, true),
        ("a failure below the threshold", false, Requester::MetricsApi, false),
        ("the failure at the threshold", false, Requester::MetricsApi, false),
        ("the fallback begins", false, Requester::MetricsApi, true),
        ("the fallback continues", false, Requester::MetricsApi, false),
        ("the fallback ends", true, Requester::MetricsApi, true),
        ("the source stays healthy", true, Requester::MetricsApi, false),
        ("a first failure", false, Requester::MetricsApi, false),
        ("a poll writes the status itself", true, Requester::ScaleLoop, false),
    ];
    for (name, answers, requester, expected) in rows {
        source.0.store(answers, Ordering::Relaxed);
        tokio::time::sleep(2 * FRESH).await;
        scalers.read(trigger, metric, FRESH, requester, &clock).await;
        assert_eq!(is_enqueued(&scalers).await, expected, "{name}");
    }
}
