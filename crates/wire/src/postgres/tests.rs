use proptest::prelude::*;

use super::request::md5_password;
use super::*;

/// A message of a server.
fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + LENGTH_BYTES).unwrap();
    [&[kind][..], &length.to_be_bytes(), body].concat()
}

fn decode(kind: u8, body: &[u8]) -> Result<Response, PostgresError> {
    let bytes = framed(kind, body);
    let message = message(&bytes)?.unwrap();
    assert_eq!(message.length(), bytes.len());
    Response::decode(message)
}

#[test]
fn requests_are_as_the_protocol_has_them() {
    let startup = [("user", "u"), ("database", "d")];
    let rows: [(Request<'_>, &[u8]); 7] = [
        (Request::Ssl, b"\0\0\0\x08\x04\xd2\x16\x2f"),
        (Request::Startup(&startup), b"\0\0\0\x1b\0\x03\0\0user\0u\0database\0d\0\0"),
        (Request::Password("pw"), b"p\0\0\0\x07pw\0"),
        (
            Request::SaslInitial { mechanism: "SCRAM-SHA-256", message: b"n,,n=" },
            b"p\0\0\0\x1bSCRAM-SHA-256\0\0\0\0\x05n,,n=",
        ),
        (Request::SaslResponse(b"c="), b"p\0\0\0\x06c="),
        (Request::Query("SELECT 1"), b"Q\0\0\0\x0dSELECT 1\0"),
        (Request::Terminate, b"X\0\0\0\x04"),
    ];
    for (request, expected) in rows {
        assert_eq!(request.encode(), expected, "{request:?}");
    }
}

#[test]
fn a_password_for_md5_depends_on_user_and_salt() {
    // Computed with Python's hashlib.
    assert_eq!(md5_password("u", "pw", *b"salt"), "md5aa2ff04e276dc58a056c53798f35e83b");
    assert_ne!(md5_password("v", "pw", *b"salt"), md5_password("u", "pw", *b"salt"));
    assert_ne!(md5_password("u", "pw", *b"tlas"), md5_password("u", "pw", *b"salt"));
}

#[test]
fn responses_are_read_whole() {
    use Response::*;
    let error = |severity: &str, code: &str, message: &str| ServerError {
        severity: severity.to_owned(),
        code: SqlState(code.to_owned()),
        message: message.to_owned(),
    };
    let mechanisms = || ["SCRAM-SHA-256-PLUS", "SCRAM-SHA-256"].map(str::to_owned).to_vec();
    let rows: Vec<(u8, &[u8], Response)> = vec![
        (b'R', b"\0\0\0\0", Authentication(super::Authentication::Ok)),
        (b'R', b"\0\0\0\x03", Authentication(super::Authentication::CleartextPassword)),
        (b'R', b"\0\0\0\x05salt", Authentication(super::Authentication::Md5Password { salt: *b"salt" })),
        (b'R', b"\0\0\0\x07", Authentication(super::Authentication::Unsupported("GSSAPI"))),
        (
            b'R',
            b"\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0",
            Authentication(super::Authentication::Sasl { mechanisms: mechanisms() }),
        ),
        (b'R', b"\0\0\0\x0bab", Authentication(super::Authentication::SaslContinue(b"ab".to_vec()))),
        (b'R', b"\0\0\0\x0cab", Authentication(super::Authentication::SaslFinal(b"ab".to_vec()))),
        (b'E', b"SFATAL\0VFATAL\0C28P01\0Mno\0Fauth.c\0L1\0\0", Error(error("FATAL", "28P01", "no"))),
        (b'E', b"SFEHLER\0C42P01\0Mno\xff\0\0", Error(error("FEHLER", "42P01", "no\u{fffd}"))),
        (b'N', b"SNOTICE\0C00000\0Mhello\0\0", Notice(error("NOTICE", "00000", "hello"))),
        (b'S', b"TimeZone\0UTC\0", ParameterStatus { name: "TimeZone".to_owned(), value: "UTC".to_owned() }),
        (b'K', b"\0\0\0\x01abcd", BackendKeyData),
        (b'v', b"\0\x03\0\0\0\0\0\x01_pq_.x\0", NegotiateProtocolVersion),
        (b'Z', b"I", ReadyForQuery(TransactionStatus::Idle)),
        (b'Z', b"E", ReadyForQuery(TransactionStatus::Failed)),
        (b'T', b"\0\x01n\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\0", RowDescription { columns: 1 }),
        (b'T', b"\0\0", RowDescription { columns: 0 }),
        (b'D', b"\0\x02\0\0\0\x0242\xff\xff\xff\xff", DataRow(vec![Some("42".to_owned()), None])),
        (b'C', b"SELECT 1\0", CommandComplete),
        (b'I', b"", EmptyQuery),
        (b'A', b"\0\0\0\x01channel\0x\0", Notification),
        (b'H', b"\0\0\0", Copy),
    ];
    for (kind, body, expected) in rows {
        assert_eq!(decode(kind, body), Ok(expected.clone()), "{expected:?}");
        // What is not used is not read.
        let is_skipped =
            matches!(expected, Copy | BackendKeyData | Authentication(super::Authentication::Unsupported(_)));
        let longer = decode(kind, &[body, b"\0"].concat());
        assert_eq!(longer == Ok(expected), is_skipped, "a byte more");
    }
}

#[test]
fn hostile_messages_cost_nothing() {
    use PostgresError::*;
    let rows: [(u8, &[u8], PostgresError); 10] = [
        (b'R', b"\0\0\0", TooShort),
        (b'R', b"\0\0\0\x0aSCRAM-SHA-256\0", TooShort),
        (b'E', b"Mno", TooShort),
        (b'K', b"\0\0\0\x01", Length),
        (b'Z', b"X", Unknown(b'X')),
        (b'T', b"\x7f\xff", TooShort),
        (b'T', b"\0\x01n\0\0\0\0\0\0\0\0\0\0\x14\0\x08\xff\xff\xff\xff\0\x01", Format),
        (b'D', b"\0\x01\x7f\xff\xff\xffab", TooShort),
        (b'D', b"\0\x01\xff\xff\xff\xfe", Length),
        (b'?', b"", Unknown(b'?')),
    ];
    for (kind, body, expected) in rows {
        assert_eq!(decode(kind, body), Err(expected), "{kind} {body:?}");
    }
    type Length<'a> = (&'a [u8], Result<Option<Message<'a>>, PostgresError>);
    let lengths: [Length<'_>; 6] = [
        (b"", Ok(None)),
        (b"Z\0\0\0\x05", Ok(None)),
        (b"Z\0\0\0\x05I", Ok(Some(Message { kind: b'Z', body: b"I" }))),
        (b"Z\0\0\0\x03", Err(Length)),
        (b"Z\xff\xff\xff\xff", Err(Length)),
        (b"HTTP/1.1 400", Err(Length)),
    ];
    for (received, expected) in lengths {
        assert_eq!(message(received), expected, "{received:?}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), kind in proptest::sample::select(b"RENSKvZTDCIAGHW".to_vec())) {
        let _ = message(&bytes).map(|message| message.map(Response::decode));
        let _ = Response::decode(Message { kind, body: &bytes });
    }

    #[test]
    fn what_a_row_holds_is_read(values in proptest::collection::vec(proptest::option::of("[0-9a-zä ]{0,9}"), 0..6)) {
        let mut body = u16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
        for value in &values {
            let length = value.as_ref().map_or(-1, |value| i32::try_from(value.len()).unwrap());
            body.extend(length.to_be_bytes());
            body.extend(value.iter().flat_map(|value| value.bytes()));
        }
        prop_assert_eq!(decode(b'D', &body), Ok(Response::DataRow(values)));
    }

    #[test]
    fn what_is_sent_is_one_message(text in "[^\0]{0,20}", message in any::<Vec<u8>>()) {
        let rows = [
            Request::Password(&text), Request::Query(&text), Request::SaslResponse(&message), Request::Terminate,
            Request::SaslInitial { mechanism: &text, message: &message },
        ];
        for request in rows {
            let bytes = request.encode();
            prop_assert_eq!(super::message(&bytes).unwrap().unwrap().length(), bytes.len());
        }
        prop_assert!(Request::Query(&text).encode().ends_with(&[text.as_bytes(), b"\0"].concat()));
    }
}
