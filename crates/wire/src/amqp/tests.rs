use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn short(text: &str) -> ShortText {
    ShortText::new(text).unwrap()
}

fn decoded(bytes: &[u8]) -> Method {
    match decode_frame(bytes) {
        Ok(Some((Frame::Method { method, .. }, length))) if length == bytes.len() => method,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_rabbitmq_sends_is_read() {
    let queue = b"\x01\x00\x01\x00\x00\x00\x13\x00\x32\x00\x0b\x06orders\x00\x00\x00\x03\x00\x00\x00\x01\xce";
    assert_eq!(decoded(queue), Method::QueueDeclareOk { queue: short("orders"), messages: 3, consumers: 1 });
    let tune = b"\x01\x00\x00\x00\x00\x00\x0c\x00\x0a\x00\x1e\x07\xff\x00\x02\x00\x00\x00\x3c\xce";
    let tuning = Tuning { channel_max: 2047, frame_bytes_max: 131_072, heartbeat_seconds: 60 };
    assert_eq!(decoded(tune), Method::Tune(tuning));
    let gone = b"\x01\0\x01\0\0\0\x33\0\x14\0\x28\x01\x94\x28NOT_FOUND - no queue 'nope' in vhost '/'\0\x32\0\x0a\xce";
    let closing = Closing { code: 404, text: short("NOT_FOUND - no queue 'nope' in vhost '/'"), class: 50, method: 10 };
    assert_eq!(decoded(gone), Method::ChannelClose(closing));
    let start = encode_method(0, &decoded_start());
    assert_eq!(decoded(&start), decoded_start());
}

fn decoded_start() -> Method {
    let capabilities = Table(vec![(short("authentication_failure_close"), Value::Bool(true))]);
    let properties = vec![
        (short("capabilities"), Value::Table(capabilities)),
        (short("product"), Value::Text(LongText::new("RabbitMQ"))),
    ];
    let (mechanisms, locales) = (LongText::new("PLAIN AMQPLAIN"), LongText::new("en_US"));
    Method::Start { version: [0, 9], properties: Table(properties), mechanisms, locales }
}

#[test]
fn what_is_sent_is_what_rabbitmq_reads() {
    let declare = encode_method(1, &Method::QueueDeclarePassive { queue: short("orders") });
    assert_eq!(declare, b"\x01\0\x01\0\0\0\x12\0\x32\0\x0a\0\0\x06orders\x01\0\0\0\0\xce");
    let response = SaslResponse::plain("guest", "hunter2");
    assert_eq!((response.0.as_slice(), format!("{response:?}")), (&b"\0guest\0hunter2"[..], "***".to_owned()));
    assert_eq!(encode_heartbeat(), [8, 0, 0, 0, 0, 0, 0, 0xce]);
}

#[test]
fn what_is_not_amqp_is_an_error_and_not_waited_for() {
    let rows: [(&[u8], AmqpError); 8] = [
        (b"HTTP/1.1 400", AmqpError::FrameType(b'H')),
        (b"AMQP\0\x01\0\0", AmqpError::Version { major: 1, minor: 0, revision: 0 }),
        (b"AMQX", AmqpError::FrameType(b'A')),
        (b"\x15\x03\x03\0\x02", AmqpError::FrameType(0x15)),
        (b"\x01\0\0\xff\xff\xff\xff", AmqpError::TooLarge),
        (b"\x01\0\0\0\0\0\x04\0\x3c\0\x3c\xce", AmqpError::Method { class: 60, method: 60 }),
        (b"\x01\0\0\0\0\0\x04\0\x0a\0\x33\0", AmqpError::FrameEnd),
        (b"\x08\0\x01\0\0\0\0\xce", AmqpError::Heartbeat),
    ];
    for (bytes, expected) in rows {
        assert_eq!(decode_frame(bytes), Err(expected), "{bytes:?}");
    }
    for part in 0..8 {
        assert_eq!(decode_frame(&b"AMQP\0\x01\0\0"[..part]), Ok(None));
    }
}

#[test]
fn nested_tables_have_a_bound() {
    let nested = |depth: usize| {
        let inner = (0..depth).fold(Value::Void, |inner, _| Value::List(vec![inner]));
        encode_method(
            0,
            &Method::StartOk {
                properties: Table(vec![(short("x"), inner)]),
                mechanism: short("PLAIN"),
                response: SaslResponse(Vec::new()),
                locale: short("en_US"),
            },
        )
    };
    assert!(decode_frame(&nested(10)).is_ok());
    assert_eq!(decode_frame(&nested(1000)), Err(AmqpError::TooDeep));
}

fn any_short() -> impl Strategy<Value = ShortText> {
    ".{0,20}".prop_map(|text| short(&text))
}

fn any_table() -> impl Strategy<Value = Table> {
    let value = prop_oneof![
        Just(Value::Void),
        any::<bool>().prop_map(Value::Bool),
        any::<i8>().prop_map(Value::I8),
        any::<u8>().prop_map(Value::U8),
        any::<i16>().prop_map(Value::I16),
        any::<u16>().prop_map(Value::U16),
        any::<i32>().prop_map(Value::I32),
        any::<u32>().prop_map(Value::U32),
        any::<i64>().prop_map(Value::I64),
        (-1e6_f32..1e6).prop_map(Value::F32),
        (-1e6_f64..1e6).prop_map(Value::F64),
        (any::<u8>(), any::<i32>()).prop_map(|(scale, value)| Value::Decimal { scale, value }),
        any::<u64>().prop_map(Value::Time),
        ".{0,40}".prop_map(|text| Value::Text(LongText::new(&text))),
        vec(any::<u8>(), 0..40).prop_map(|bytes| Value::Bytes(LongText(bytes))),
    ];
    let value = value.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            vec((any_short(), inner), 0..4).prop_map(|fields| Value::Table(Table(fields))),
        ]
    });
    vec((any_short(), value), 0..4).prop_map(Table)
}

fn any_method() -> impl Strategy<Value = Method> {
    let tuning = || {
        any::<(u16, u32, u16)>().prop_map(|(channel_max, frame_bytes_max, heartbeat_seconds)| Tuning {
            channel_max,
            frame_bytes_max,
            heartbeat_seconds,
        })
    };
    let closing = || {
        (any::<(u16, u16, u16)>(), any_short()).prop_map(|((code, class, method), text)| Closing {
            code,
            text,
            class,
            method,
        })
    };
    let texts = || (".{0,40}", ".{0,40}").prop_map(|(one, other)| (LongText::new(&one), LongText::new(&other)));
    prop_oneof![
        (any::<[u8; 2]>(), any_table(), texts()).prop_map(|(version, properties, (mechanisms, locales))| {
            Method::Start { version, properties, mechanisms, locales }
        }),
        (any_table(), any_short(), vec(any::<u8>(), 0..40), any_short()).prop_map(
            |(properties, mechanism, response, locale)| {
                Method::StartOk { properties, mechanism, response: SaslResponse(response), locale }
            }
        ),
        tuning().prop_map(Method::Tune),
        tuning().prop_map(Method::TuneOk),
        any_short().prop_map(|vhost| Method::Open { vhost }),
        closing().prop_map(Method::Close),
        closing().prop_map(Method::ChannelClose),
        any_short().prop_map(|queue| Method::QueueDeclarePassive { queue }),
        (any_short(), any::<u32>(), any::<u32>()).prop_map(|(queue, messages, consumers)| Method::QueueDeclareOk {
            queue,
            messages,
            consumers
        }),
        prop_oneof![
            Just(Method::Secure),
            Just(Method::OpenOk),
            Just(Method::CloseOk),
            Just(Method::ChannelOpen),
            Just(Method::ChannelOpenOk),
            Just(Method::ChannelCloseOk),
        ],
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(channel: u16, method in any_method()) {
        let bytes = encode_method(channel, &method);
        let whole = Ok(Some((Frame::Method { channel, method }, bytes.len())));
        prop_assert_eq!(decode_frame(&bytes), whole.clone());
        for end in 0..bytes.len() {
            prop_assert_eq!(decode_frame(&bytes[..end]), Ok(None), "a part of it");
        }
        prop_assert_eq!(decode_frame(&[&bytes[..], &encode_heartbeat()].concat()), whole, "more follows");
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>(), method in any_method(), at in any::<prop::sample::Index>(), mask in 1_u8..) {
        let _ = decode_frame(&bytes);
        let mut damaged = encode_method(1, &method);
        let at = at.index(damaged.len());
        damaged[at] ^= mask;
        if let Ok(Some((_, length))) = decode_frame(&damaged) {
            prop_assert!(length <= damaged.len());
        }
    }
}
