use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kedge_wire::amqp::{
    Closing, Frame, LongText, Method, ShortText, Table, Tuning, decode_frame, encode_heartbeat, encode_method,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::Instant;

use super::*;
use crate::damaged::Damage;
use crate::http::connector::BoxStream;
use crate::recorded_server::Recording;
use crate::scaler::Activity;

/// What RabbitMQ 3.10.8 sends while a client signs in.
const START: &[u8] = b"\x01\x00\x00\x00\x00\x01\xef\x00\n\x00\n\x00\t\x00\x00\x01\xca\x0ccapabilitiesF\x00\x00\x00\xc7\x12publisher_confirmst\x01\x1aexchange_exchange_bindingst\x01\nbasic.nackt\x01\x16consumer_cancel_notifyt\x01\x12connection.blockedt\x01\x13consumer_prioritiest\x01\x1cauthentication_failure_closet\x01\x10per_consumer_qost\x01\x0fdirect_reply_tot\x01\x0ccluster_nameS\x00\x00\x00\x08kedge@vm\tcopyrightS\x00\x00\x007Copyright (c) 2007-2022 VMware, Inc. or its affiliates.\x0binformationS\x00\x00\x009Licensed under the MPL 2.0. Website: https://rabbitmq.com\x08platformS\x00\x00\x00\x11Erlang/OTP 25.2.3\x07productS\x00\x00\x00\x08RabbitMQ\x07versionS\x00\x00\x00\x063.10.8\x00\x00\x00\x0ePLAIN AMQPLAIN\x00\x00\x00\x05en_US\xce";
const TUNE: &[u8] = b"\x01\x00\x00\x00\x00\x00\x0c\x00\n\x00\x1e\x07\xff\x00\x02\x00\x00\x00<\xce";
const OPEN_OK: &[u8] = b"\x01\x00\x00\x00\x00\x00\x05\x00\n\x00)\x00\xce";
const CHANNEL_OPEN_OK: &[u8] = b"\x01\x00\x01\x00\x00\x00\x08\x00\x14\x00\x0b\x00\x00\x00\x00\xce";

/// 16,909,060 messages are ready.
const DECLARE_OK: &[u8] = b"\x01\x00\x01\x00\x00\x00\x13\x002\x00\x0b\x06orders\x01\x02\x03\x04\x00\x00\x00\x01\xce";

/// The first bytes that the broker answers. What it does not answer goes together with what follows.
fn request_length(bytes: &[u8]) -> Option<usize> {
    if bytes.starts_with(b"AMQP") {
        return (bytes.len() >= 8).then_some(8);
    }
    let (frame, length) = decode_frame(bytes).ok()??;
    match frame {
        Frame::Method { method: Method::TuneOk(_) | Method::ChannelCloseOk, .. } => {
            Some(length + request_length(&bytes[length..])?)
        }
        _ => Some(length),
    }
}

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    let recording = Recording::new([DECLARE_OK])
        .sign_in([START, TUNE, OPEN_OK, CHANNEL_OPEN_OK])
        .requests(request_length)
        .value_bytes(b"\x01\x02\x03\x04");
    recording.assert_no_outage_is_a_number(&over_amqp(), 16_909_060.0).await;
    let (registry, opened) = recording.registry(Damage::None);
    let scaler = registry.build(&over_amqp().trigger()).unwrap();
    for _ in 0..3 {
        assert_eq!(read(&scaler).await.unwrap().activity, Activity::Active);
    }
    assert_eq!(opened.load(Ordering::Relaxed), 1, "the connection and its channel are kept");
}

/// A broker in memory.
#[derive(Clone, Debug)]
struct FakeBroker(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    mechanisms: &'static str,
    password: &'static str,
    queues: BTreeMap<&'static str, u32>,
    /// What the broker sends once, in place of an answer to the next declaration.
    forced: Option<Closing>,
    /// The vhosts that were opened.
    opened: Vec<String>,
    channels_opened: usize,
}

fn short(text: &str) -> ShortText {
    ShortText::new(text).unwrap()
}

fn closing(code: u16, text: &str) -> Closing {
    Closing { code, text: short(text), class: 0, method: 0 }
}

impl FakeBroker {
    fn start() -> Self {
        let queues = [("orders", 7)].into();
        let state = State {
            mechanisms: "PLAIN AMQPLAIN",
            password: "hunter2",
            queues,
            forced: None,
            opened: Vec::new(),
            channels_opened: 0,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap());
    }

    fn opened(&self) -> Vec<String> {
        self.0.lock().unwrap().opened.clone()
    }

    fn registry(&self) -> Registry {
        let broker = self.clone();
        registry(Connector::new(move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            tokio::spawn(serve(theirs, broker.clone()));
            Box::pin(async { Ok(Box::new(ours) as BoxStream) })
        }))
    }
}

async fn serve(mut stream: DuplexStream, broker: FakeBroker) {
    let mut header = [0; 8];
    if stream.read_exact(&mut header).await.is_err() || header != *b"AMQP\0\0\x09\x01" {
        return;
    }
    let mechanisms = LongText::new(broker.0.lock().unwrap().mechanisms);
    let start =
        Method::Start { version: [0, 9], properties: Table::default(), mechanisms, locales: LongText::new("en_US") };
    let _ = stream.write_all(&encode_method(0, &start)).await;
    let (mut received, mut buffer) = (Vec::new(), vec![0; 1 << 12]);
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        received.extend_from_slice(&buffer[..read]);
        while let Ok(Some((Frame::Method { channel, method }, length))) = decode_frame(&received) {
            received.drain(..length);
            let Some((channel, answer)) = broker.0.lock().unwrap().answer(channel, method) else { continue };
            let is_last = matches!(answer, Method::Close(_));
            let bytes = [encode_heartbeat(), encode_method(channel, &answer)].concat();
            let _ = stream.write_all(&bytes).await;
            if is_last {
                return;
            }
        }
    }
}

impl State {
    /// The answer, with its channel.
    fn answer(&mut self, channel: u16, method: Method) -> Option<(u16, Method)> {
        let answer = match method {
            Method::StartOk { mechanism, response, .. } => {
                let plain = [&b"\0user\0"[..], self.password.as_bytes()].concat();
                if mechanism == short("EXTERNAL") && response.0.is_empty() || response.0 == plain {
                    Method::Tune(Tuning { channel_max: 2047, frame_bytes_max: 131_072, heartbeat_seconds: 60 })
                } else {
                    Method::Close(closing(403, "ACCESS_REFUSED - Login was refused using PLAIN."))
                }
            }
            Method::Open { vhost } => match vhost.to_string() {
                name if name == "none" => Method::Close(closing(530, "NOT_ALLOWED - vhost none not found")),
                name if name == "bank" => {
                    Method::Close(closing(530, "NOT_ALLOWED - access to vhost 'bank' refused for user 'user'"))
                }
                name => {
                    self.opened.push(name);
                    Method::OpenOk
                }
            },
            Method::ChannelOpen => {
                self.channels_opened += 1;
                Method::ChannelOpenOk
            }
            Method::QueueDeclarePassive { queue } => match (self.forced.take(), queue.to_string()) {
                (Some(forced), _) => return Some((0, Method::Close(forced))),
                (None, name) => match self.queues.get(name.as_str()) {
                    Some(messages) => Method::QueueDeclareOk { queue, messages: *messages, consumers: 1 },
                    None if name == "theirs" => {
                        Method::ChannelClose(closing(405, "RESOURCE_LOCKED - cannot obtain access to queue 'theirs'"))
                    }
                    None if name == "secret" => {
                        Method::ChannelClose(closing(403, "ACCESS_REFUSED - access to queue 'secret' refused"))
                    }
                    None => Method::ChannelClose(closing(404, "NOT_FOUND - no queue 'jobs' in vhost 'shop'")),
                },
            },
            _ => return None,
        };
        Some((channel, answer))
    }
}

#[tokio::test(start_paused = true)]
async fn connections_are_shared_by_all_that_sign_in_the_same_way() {
    let broker = FakeBroker::start();
    broker.change(|state| state.queues.extend([("jobs", 3)]));
    let registry = broker.registry();
    let build = |sample: Sample| registry.build(&sample.trigger()).unwrap();
    let (orders, jobs) = (build(over_amqp()), build(over_amqp().with("queueName", "jobs")));
    assert!(broker.opened().is_empty(), "nothing is connected while building");
    let explicit =
        build(over_amqp().with("host", "amqp://rabbit/shop").auth("username", "user").auth("password", "hunter2"));
    for (scaler, value) in [(&orders, 7.0), (&jobs, 3.0), (&explicit, 7.0), (&orders, 7.0)] {
        assert_eq!(read(scaler).await.unwrap().values, [value]);
    }
    assert_eq!(broker.opened(), ["shop"]);
    let elsewhere = build(over_amqp().with("vhostName", "/"));
    read(&elsewhere).await.unwrap();
    assert_eq!(broker.opened(), ["shop", "/"], "another vhost");
    assert_eq!(orders.host().as_deref(), Some("rabbit:5672"));
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_is_missing_closes_the_channel_alone() {
    let broker = FakeBroker::start();
    let scaler = broker.registry().build(&over_amqp().with("queueName", "jobs").trigger()).unwrap();
    for _ in 0..2 {
        let error = read(&scaler).await.unwrap_err();
        assert_eq!(error.reason(), "SourceWithoutValue");
        let expected = "rabbit:5672 has no value: NOT_FOUND - no queue 'jobs' in vhost 'shop'; check `queueName`, and `vhostName` or the path of `host`";
        assert_eq!(error.to_string(), expected);
    }
    broker.change(|state| state.queues.extend([("jobs", 0)]));
    let known = read(&scaler).await.unwrap();
    assert_eq!((known.values, known.activity), (vec![0.0], Activity::Inactive));
    assert_eq!((broker.opened().len(), broker.0.lock().unwrap().channels_opened), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_rotated_password_is_another_connection() {
    let broker = FakeBroker::start();
    let registry = broker.registry();
    let build = |password: &str| {
        let sample = over_amqp().with("host", "amqp://rabbit").auth("username", "user").auth("password", password);
        registry.build(&sample.trigger()).unwrap()
    };
    let old = build("hunter2");
    read(&old).await.unwrap();
    broker.change(|state| state.password = "hunter3");
    let new = build("hunter3");
    read(&new).await.unwrap();
    read(&old).await.unwrap();
    assert_eq!(broker.opened().len(), 2, "who is signed in stays so");
    // The broker forgets the connection; its password is of no use any more.
    broker.change(|state| state.forced = Some(closing(320, "CONNECTION_FORCED - user's password was changed")));
    let error = read(&old).await.unwrap_err();
    assert!(error.is_denied() && !error.to_string().contains("hunter2"), "{error}");
    assert_eq!(read(&new).await.unwrap().values, [7.0]);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_the_broker_ends_is_replaced_without_a_failed_reading() {
    let broker = FakeBroker::start();
    let scaler = broker.registry().build(&over_amqp().trigger()).unwrap();
    read(&scaler).await.unwrap();
    broker.change(|state| {
        state.forced =
            Some(closing(320, "CONNECTION_FORCED - broker forced connection closure with reason 'shutdown'"));
    });
    assert_eq!(read(&scaler).await.unwrap().values, [7.0]);
    assert_eq!(broker.opened().len(), 2);
    broker.change(|state| state.forced = Some(closing(541, "INTERNAL_ERROR")));
    assert_eq!(read(&scaler).await.unwrap_err().to_string(), "rabbit:5672 answered: INTERNAL_ERROR");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_what_to_check_and_no_secret() {
    let host = |host: &str| over_amqp().with("host", host);
    let external = "amqp://rabbit/shop?auth_mechanism=external";
    let rows = [
        (
            "a wrong password",
            host("amqp://user:hunter3@rabbit/shop"),
            "rabbit:5672 denied access: ACCESS_REFUSED - Login was refused using PLAIN; check the user and the password in `host`, or `username` and `password`",
        ),
        (
            "no such vhost",
            over_amqp().with("vhostName", "none"),
            "rabbit:5672 answered: NOT_ALLOWED - vhost none not found; check the vhost: `vhostName`, or the path of `host`",
        ),
        (
            "the vhost of others",
            host("amqp://user:hunter2@rabbit/bank"),
            "denied access: NOT_ALLOWED - access to vhost 'bank'",
        ),
        ("the queue of others", over_amqp().with("queueName", "theirs"), "answered: RESOURCE_LOCKED"),
        ("no permission", over_amqp().with("queueName", "secret"), "check the permissions of the user in the vhost"),
        ("no certificates", host(external), "the mechanism EXTERNAL is not offered; enable it in the broker, or give"),
    ];
    for (name, sample, expected) in rows {
        let scaler = FakeBroker::start().registry().build(&sample.trigger()).unwrap();
        let error = read(&scaler).await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains("hunter"), "{name}: {error}");
    }
    let broker = FakeBroker::start();
    broker.change(|state| state.mechanisms = "PLAIN EXTERNAL");
    let scaler = broker.registry().build(&host(external).trigger()).unwrap();
    assert_eq!(read(&scaler).await.unwrap().values, [7.0]);
}

#[tokio::test(start_paused = true)]
async fn another_protocol_is_an_error() {
    for (answer, expected) in [
        (&b"AMQP\0\x01\0\0"[..], "the server speaks AMQP 1-0-0, and not 0-9-1"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it is not AMQP: a frame begins with byte 0x48"),
        (b"\x01\0\0\xff\xff\xff\xff", "a frame in it is too large"),
        (OPEN_OK, "it is not what was asked for"),
    ] {
        let error = Recording::new([answer]).read(&over_amqp(), Damage::None).await.unwrap_err();
        assert_eq!(error.to_string(), format!("the answer of rabbit:5672 cannot be used: {expected}"));
    }
}

#[tokio::test(start_paused = true)]
async fn readings_of_a_broker_that_hangs_end_together() {
    let (registry, _) = Recording::new([START]).registry(Damage::Hang(0));
    let scaler = registry.build(&over_amqp().trigger()).unwrap();
    let started = Instant::now();
    let all = futures::future::join_all((0..50).map(|_| read(&scaler))).await;
    assert!(all.iter().all(|reading| reading.as_ref().is_err_and(|error| error.reason() == "SourceTimeout")));
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}
