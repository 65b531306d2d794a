//! What a scaler pushes: how soon it is received, and what happens when it stops.

use futures::StreamExt;
use futures::stream::BoxStream;
use kedge_scalers::PushEvent;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::network::{Network, State};
use super::*;

/// Of paused time.
const SOON: Duration = Duration::from_secs(1);

/// Of real time, on a busy machine.
const IN_TIME: Duration = Duration::from_secs(30);

async fn next(events: &mut BoxStream<'static, PushEvent>, limit: Duration) -> PushEvent {
    timeout(limit, events.next()).await.expect("a message comes in time").expect("the stream does not end")
}

/// Polls the events until something holds.
async fn until(events: &mut BoxStream<'static, PushEvent>, holds: impl Fn() -> bool) {
    let waited = timeout(IN_TIME, async {
        while !holds() {
            let _ = timeout(Duration::from_millis(10), events.next()).await;
        }
    });
    waited.await.expect("it holds in time");
}

#[tokio::test]
async fn only_push_triggers_listen() {
    assert!(ExternalTrigger::at("scaler:9090").build(&registry()).push().is_none());
    assert!(ExternalTrigger::at("scaler:9090").push().build(&registry()).push().is_some());
}

#[tokio::test]
async fn an_activation_is_heard_at_once() {
    let fake = Fake::new(Answers::default());
    let mut events = ExternalTrigger::at(fake.listen().await).push().build(&registry()).push().unwrap();
    until(&mut events, || fake.listeners() == 1).await;
    for (active, expected) in [(true, Activity::Active), (false, Activity::Inactive), (true, Activity::Active)] {
        fake.push(active);
        assert_eq!(next(&mut events, IN_TIME).await, PushEvent::Activity(expected));
    }
    drop(events);
    timeout(IN_TIME, async {
        while fake.listeners() > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await
    .expect("who does not listen any more hangs up");
}

#[tokio::test]
async fn metrics_that_change_are_heard_and_remembered() {
    let sender = watch::Sender::new(vec![spec("jobs", 20, 0.0)]);
    let fake = Fake::new(Answers { streamed: Some(sender.subscribe()), ..Answers::default() });
    let scaler = ExternalTrigger::at(fake.listen().await).push().build(&registry());
    assert_eq!(short(&scaler.describe().await.unwrap()), [pair("s1-jobs", "10")]);
    let mut events = scaler.push().unwrap();
    let PushEvent::Specs(specs) = next(&mut events, IN_TIME).await else { panic!("metrics come first") };
    assert_eq!(short(&specs), [pair("s1-jobs", "20")]);
    sender.send_replace(vec![spec("jobs", 30, 0.0), spec("more", 1, 0.0)]);
    let PushEvent::Specs(specs) = next(&mut events, IN_TIME).await else { panic!("and again") };
    assert_eq!(short(&specs), [pair("s1-jobs", "30"), pair("s1-more", "1")]);
    assert_eq!(scaler.describe().await, Ok(specs.clone()), "what was pushed counts");
    assert_eq!(fake.count("GetMetricSpec"), 1, "and no query is sent");
    sender.send_replace(vec![]);
    let PushEvent::Failed(error) = next(&mut events, IN_TIME).await else { panic!("no metrics are none") };
    assert_eq!(error.reason(), "SourceMalformed");
    assert_eq!(scaler.describe().await, Ok(specs), "and the last ones stay");
}

#[tokio::test(start_paused = true)]
async fn of_pending_metric_specs_only_the_newest_is_delivered() {
    let sender = watch::Sender::new(vec![spec("jobs", 1, 0.0)]);
    let fake = Fake::new(Answers { streamed: Some(sender.subscribe()), ..Answers::default() });
    let network = Network::to(&fake, State::Up);
    let mut events = network.push_scaler().push().unwrap();
    next(&mut events, SOON).await;
    for target in 2..=5 {
        sender.send_replace(vec![spec("jobs", target, 0.0)]);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let PushEvent::Specs(specs) = next(&mut events, SOON).await else { panic!("metrics") };
    assert_eq!(short(&specs), [pair("s1-jobs", "5")]);
    assert!(timeout(SOON, events.next()).await.is_err(), "and nothing more");
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_metrics_that_the_scaler_lacks_is_requested_once() {
    let fake = Fake::new(Answers::default());
    let mut events = Network::to(&fake, State::Up).push_scaler().push().unwrap();
    assert!(timeout(Duration::from_secs(600), events.next()).await.is_err(), "no event comes");
    assert_eq!((fake.count("StreamMetricSpec"), fake.count("StreamIsActive")), (1, 1));
    fake.push(true);
    assert_eq!(next(&mut events, SOON).await, PushEvent::Activity(Activity::Active));
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_fails_is_opened_again_later_each_time_and_soon_after_it_was_of_use() {
    let fake = Fake::new(Answers::default());
    let network = Network::to(&fake, State::Down);
    let started = Instant::now();
    let mut events = network.push_scaler().push().unwrap();
    for _ in 0..14 {
        let PushEvent::Failed(error) = next(&mut events, Duration::from_secs(70)).await else {
            panic!("no server is there")
        };
        assert_eq!(error.reason(), "SourceUnreachable");
    }
    // Both streams dial, at the same moments.
    let mut dialled: Vec<u64> = network.dialled().iter().map(|at| at.duration_since(started).as_secs()).collect();
    dialled.dedup();
    assert_eq!(dialled, [0, 2, 6, 14, 30, 62, 122]);

    network.comes_up();
    assert!(timeout(Duration::from_secs(61), events.next()).await.is_err(), "it is back");
    fake.push(true);
    assert_eq!(next(&mut events, SOON).await, PushEvent::Activity(Activity::Active));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_falls_silent_is_left_for_a_new_connection() {
    let fake = Fake::new(Answers::default());
    let scaler = Network::to(&fake, State::Void).push_scaler();
    let mut events = scaler.push().unwrap();
    assert!(timeout(Duration::from_secs(20), events.next()).await.is_err(), "the failure is not detected yet");
    assert_eq!(scaler.read("s1-jobs", now()).await.unwrap_err().reason(), "SourceTimeout");
    let PushEvent::Failed(error) = next(&mut events, SOON).await else { panic!("the streams fail") };
    assert_eq!(error.to_string(), "scaler:9090 cannot be reached: nothing is heard on the connection any more");
    assert_eq!(scaler.read("s1-jobs", now()).await, Ok(known(35.0, Activity::Active)), "a new connection works");
    until(&mut events, || fake.listeners() == 1).await;
    fake.push(true);
    assert_eq!(next(&mut events, SOON).await, PushEvent::Activity(Activity::Active));
}

#[tokio::test(start_paused = true)]
async fn a_slow_answer_does_not_end_the_streams() {
    let fake = Fake::new(Answers::default());
    let network = Network::to(&fake, State::Up);
    let scaler = network.push_scaler();
    let mut events = scaler.push().unwrap();
    until(&mut events, || fake.listeners() == 1).await;
    // Something is heard while the call waits.
    fake.respond_with(Answers { delay: Duration::from_secs(60), ..Answers::default() });
    let (read, event) = tokio::join!(scaler.read("s1-jobs", now()), async {
        tokio::time::sleep(SOON).await;
        fake.push(true);
        next(&mut events, SOON).await
    });
    assert_eq!(read.unwrap_err().reason(), "SourceTimeout");
    assert_eq!(event, PushEvent::Activity(Activity::Active));
    assert!(timeout(SOON, events.next()).await.is_err(), "the streams go on");
    assert_eq!(network.dialled().len(), 1);
}

#[tokio::test]
async fn a_scaler_that_is_started_again_is_heard_again() {
    let fake = Fake::new(Answers::default());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // A runtime of its own: when it ends, so do all connections, as when a process dies.
    let serve = |listener: std::net::TcpListener, fake: Fake| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        listener.set_nonblocking(true).unwrap();
        runtime.spawn(async move { fake.serve_tcp(TcpListener::from_std(listener).unwrap(), None).await });
        runtime
    };
    let first = serve(listener, fake.clone());
    let mut events = ExternalTrigger::at(address).push().build(&registry()).push().unwrap();
    until(&mut events, || fake.listeners() == 1).await;
    first.shutdown_background();
    let PushEvent::Failed(error) = next(&mut events, IN_TIME).await else { panic!("it is gone") };
    assert_eq!(error.reason(), "SourceUnreachable", "{error}");
    let listener = timeout(IN_TIME, async {
        loop {
            match std::net::TcpListener::bind(address) {
                Ok(listener) => return listener,
                // The first has not let go of it yet.
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    });
    // Another process knows nothing of who listened to the first, which may still be letting go of its listeners.
    let restarted = Fake::new(Answers::default());
    let second = serve(listener.await.expect("the address is free again"), restarted.clone());
    until(&mut events, || restarted.listeners() == 1).await;
    restarted.push(true);
    assert_eq!(next(&mut events, IN_TIME).await, PushEvent::Activity(Activity::Active));
    drop(events);
    second.shutdown_background();
}
