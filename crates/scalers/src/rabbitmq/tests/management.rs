use std::io;
use std::sync::Mutex;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::damaged::Damage;
use crate::http::connector::BoxStream;
use crate::recorded_server::{Recording, http_answer};
use crate::scaler::Activity;

/// As RabbitMQ 3.10.8 answers, with fewer fields.
const QUEUE: &str = r#"{"consumers":0,"durable":true,"message_stats":{"publish":3,"publish_details":{"rate":0.4}},"messages":471,"messages_details":{"rate":0.0},"messages_ready":382,"messages_unacknowledged":89,"name":"orders","node":"rabbit@vm","state":"running","type":"classic","vhost":"/"}"#;

/// The same for a queue that has just been declared.
const NEW_QUEUE: &str = r#"{"consumer_details":[],"arguments":{},"auto_delete":false,"deliveries":[],"durable":true,"exclusive":false,"incoming":[],"name":"orders","node":"rabbit@vm","type":"classic","vhost":"/"}"#;

#[tokio::test(start_paused = true)]
async fn no_outage_is_a_number() {
    let queue = Recording::http([QUEUE]).value_bytes(b"471");
    queue.assert_no_outage_is_a_number(&over_http(), 471.0).await;
    let ready = Recording::http([QUEUE]).value_bytes(b"382");
    ready.assert_no_outage_is_a_number(&over_http().with("excludeUnacknowledged", "true"), 382.0).await;
    let page = format!(r#"{{"filtered_count":1,"item_count":1,"items":[{QUEUE}],"page":1,"page_count":1}}"#);
    let matching = over_http().with("useRegex", "true").with("operation", "max");
    Recording::http([page]).value_bytes(b"471").assert_no_outage_is_a_number(&matching, 471.0).await;
    // What has not happened for some time has no rate: so these names are part of the value.
    let rate = r#""message_stats":{"publish":3,"publish_details":{"rate":0.4}}"#;
    let by_rate = over_http().with("mode", "MessageRate").with("value", "1");
    Recording::http([QUEUE]).value_bytes(rate.as_bytes()).assert_no_outage_is_a_number(&by_rate, 0.4).await;
}

#[tokio::test(start_paused = true)]
async fn a_queue_without_statistics_has_no_value_in_any_mode() {
    let page = format!(r#"{{"items":[{QUEUE},{NEW_QUEUE}],"page_count":1}}"#);
    let matching = over_http().with("useRegex", "true");
    let by_rate = over_http().with("mode", "DeliverGetRate").with("value", "1");
    for (body, sample) in [(NEW_QUEUE, over_http()), (NEW_QUEUE, by_rate), (page.as_str(), matching)] {
        let error = Recording::http([body]).read(&sample, Damage::None).await.unwrap_err();
        assert_eq!(error.reason(), "SourceWithoutValue");
        assert!(error.to_string().contains("no statistics of the queue \"orders\""), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn messages_activate_where_rates_do_not() {
    let by_rate = over_http().with("mode", "MessageRate").with("value", "1").with("activationValue", "400");
    let known = Recording::http([QUEUE]).read(&by_rate, Damage::None).await.unwrap();
    assert_eq!((known.values, known.activity), (vec![0.4], Activity::Active));
}

#[tokio::test(start_paused = true)]
async fn a_refusal_names_what_to_check_and_no_secret() {
    let matching = over_http().with("useRegex", "true");
    let rows = [
        (
            "401 Unauthorized",
            over_http(),
            "SourceRefused",
            "denied access: status 401; check the user and the password",
        ),
        (
            "404 Not Found",
            over_http(),
            "SourceWithoutValue",
            "no queue \"orders\" in this vhost, or no such vhost; check",
        ),
        ("404 Not Found", matching.clone(), "SourceWithoutValue", "no such vhost; check `vhostName`"),
        ("400 Bad Request", matching, "SourceRefused", "check that `queueName` is a regular expression"),
        ("500 Internal Server Error", over_http(), "SourceRefused", "answered with status 500"),
        ("204 No Content", over_http(), "SourceRefused", "answered with status 204"),
        ("200 OK", over_http(), "SourceMalformed", "it is not what the management API answers; check that `host`"),
    ];
    for (status, sample, reason, expected) in rows {
        let refused = Recording::new([http_answer(status, r#"{"error":"hunter2 of the body""#)]);
        let error = refused.read(&sample, Damage::None).await.unwrap_err();
        let text = error.to_string();
        assert_eq!(error.reason(), reason, "{status}: {text}");
        assert!(text.contains(expected) && !text.contains("hunter2"), "{status}: {text}");
    }
}

/// Servers in memory, which keep the heads of requests.
#[derive(Clone, Debug, Default)]
struct Heads(Arc<Mutex<Vec<String>>>);

impl Heads {
    fn connector(&self) -> Connector {
        let heads = self.clone();
        Connector::new(move |_: http::Uri| -> BoxFuture<'static, io::Result<BoxStream>> {
            let (heads, (ours, mut theirs)) = (heads.clone(), tokio::io::duplex(1 << 16));
            tokio::spawn(async move {
                let mut buffer = vec![0; 1 << 16];
                while let Ok(read @ 1..) = theirs.read(&mut buffer).await {
                    let head = String::from_utf8_lossy(&buffer[..read]).into_owned();
                    let body =
                        if head.starts_with("POST") { r#"{"access_token":"t0ken","expires_in":600}"# } else { QUEUE };
                    heads.0.lock().unwrap().push(head);
                    let _ = theirs.write_all(&http_answer("200 OK", body)).await;
                }
            });
            Box::pin(async { Ok(Box::new(ours) as BoxStream) })
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

#[tokio::test(start_paused = true)]
async fn requests_sign_in_with_what_is_given() {
    let of_url = "authorization: Basic dXNlcjpodW50ZXIy"; // user:hunter2
    let own = over_http().auth("username", "me").auth("password", "p:w");
    let oauth = over_http()
        .auth("oauthTokenURI", "http://login/token")
        .auth("clientID", "c")
        .auth("clientSecret", "s")
        .auth("scopes", "a,b");
    let rows = [
        (over_http(), "GET /api/queues/shop/orders HTTP/1.1", of_url),
        (own, "GET /api/queues/shop/orders HTTP/1.1", "authorization: Basic bWU6cDp3"),
        (over_http().with("vhostName", "/"), "GET /api/queues/%2F/orders HTTP/1.1", of_url),
        (oauth, "GET /api/queues/shop/orders HTTP/1.1", "authorization: Bearer t0ken"),
    ];
    for (sample, line, header) in rows {
        let heads = Heads::default();
        let scaler = registry(heads.connector()).build(&sample.trigger()).unwrap();
        assert!(heads.take().is_empty(), "nothing is asked while building");
        assert_eq!(read(&scaler).await.unwrap().values, [471.0]);
        let head = heads.take().pop().unwrap();
        assert!(head.starts_with(line) && head.contains(header), "{head}");
    }
}
