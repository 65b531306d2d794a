use super::*;
use crate::mysql::Capabilities;

const SEED: [u8; SEED_LENGTH] = [7; SEED_LENGTH];
const OPEN: Permissions = Permissions { is_encrypted: false, clear_password: true, native_password: true };
const TLS: Permissions = Permissions { is_encrypted: true, ..OPEN };
const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQCiYSRuldBeMn709Hl13qON4r1p
MGR5G1yJhU+BXGQoQ87eLQV/gZTh12EVynNs6dDBazjU+w+0Mn1534WbRlPV5MQ8
AfExsa1+MdA7BX9qU8Mdp3dSjWnhTpZ2hcYSALMpx47dM/yeyORHBi+xtIcqYgeS
J+QiwgDX3yCn1KZCGwIDAQAB
-----END PUBLIC KEY-----
";

fn begin<'a>(plugin: &str, password: &'a str, permissions: Permissions) -> (Authentication<'a>, Vec<u8>) {
    try_begin(plugin, password, permissions).unwrap()
}

fn try_begin<'a>(
    plugin: &str,
    password: &'a str,
    permissions: Permissions,
) -> Result<(Authentication<'a>, Vec<u8>), AuthError> {
    let greeting = Greeting {
        version: "8".to_owned(),
        capabilities: Capabilities(u32::MAX),
        challenge: b"abcdefghijklmnopqrst".to_vec(),
        plugin: plugin.to_owned(),
    };
    Authentication::begin(&greeting, password, permissions, SEED)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn switch(plugin: &str) -> Vec<u8> {
    [b"\xfe", plugin.as_bytes(), b"\0ABCDEFGHIJKLMNOPQRST\0"].concat()
}

/// By `python3 -c` with hashlib, from the formulas of MySQL's documentation.
#[test]
fn passwords_are_scrambled_as_mysql_wants() {
    assert_eq!(hex(&begin(NATIVE, "hunter2", OPEN).1), "fb30830c3ec1c2161c75ef8c45977d684a38d8d4");
    assert_eq!(
        hex(&begin(CACHING_SHA2, "hunter2", OPEN).1),
        "38c32b38723affcda57b368b565bac628d5a852428b402c25c4ae036a4fd904f"
    );
    for plugin in [NATIVE, CACHING_SHA2] {
        assert!(begin(plugin, "", OPEN).1.is_empty(), "{plugin}: no password");
    }
}

#[test]
fn the_fast_path_needs_no_password() {
    for permissions in [OPEN, TLS] {
        let (mut one, _) = begin(CACHING_SHA2, "hunter2", permissions);
        assert_eq!(one.step(&[1, 3]), Ok(Step::Wait));
        assert_eq!(one.step(OK), Ok(Step::Done));
    }
}

#[test]
fn the_full_path_sends_the_password_only_encrypted() {
    let (mut over_tls, _) = begin(CACHING_SHA2, "hunter2", TLS);
    assert_eq!(over_tls.step(&[1, 4]), Ok(Step::Send(b"hunter2\0".to_vec())));
    assert_eq!(over_tls.step(OK), Ok(Step::Done));
    for (plugin, first, asks) in [(CACHING_SHA2, Some([1, 4]), [2]), (SHA256_PASSWORD, None, [1])] {
        let (mut plain, answer) = begin(plugin, "hunter2", OPEN);
        match first {
            Some(first) => assert_eq!(plain.step(&first), Ok(Step::Send(asks.to_vec()))),
            None => assert_eq!(answer, asks),
        }
        let key = [&[1], KEY.as_bytes()].concat();
        let Ok(Step::Send(encrypted)) = plain.step(&key) else { panic!("{plugin}") };
        let masked: Vec<u8> = b"hunter2\0".iter().zip(b"abcdefgh").map(|(a, b)| a ^ b).collect();
        assert_eq!(Some(encrypted), PublicKey::parse_pem(KEY.as_bytes()).unwrap().encrypt(&masked, SEED));
        assert_eq!(plain.step(OK), Ok(Step::Done));
    }
    let (mut no_key, _) = begin(CACHING_SHA2, "hunter2", OPEN);
    no_key.step(&[1, 4]).unwrap();
    assert_eq!(no_key.step(b"\x01no key"), Err(AuthError::Key));
}

#[test]
fn a_server_may_switch_once() {
    let (mut one, _) = begin(CACHING_SHA2, "hunter2", OPEN);
    let Ok(Step::Send(answer)) = one.step(&switch(NATIVE)) else { panic!("it switches") };
    assert_eq!((answer.len(), one.plugin()), (20, NATIVE));
    assert_ne!(answer, begin(NATIVE, "hunter2", OPEN).1, "the challenge is another one");
    assert!(matches!(one.step(&switch(CACHING_SHA2)), Err(AuthError::Malformed(_))));
    let (mut two, _) = begin(NATIVE, "hunter2", OPEN);
    assert!(matches!(two.step(&switch(CACHING_SHA2)), Ok(Step::Send(answer)) if answer.len() == 32));
    assert_eq!(two.step(&[1, 3]), Ok(Step::Wait));
    assert_eq!(two.step(OK), Ok(Step::Done));
}

#[test]
fn what_would_show_the_password_is_refused() {
    let clear = switch(CLEAR);
    let not_allowed = Permissions { clear_password: false, ..TLS };
    type Row<'a> = (&'a str, Permissions, &'a [u8], Result<Step, AuthError>);
    let rows: [Row<'_>; 5] = [
        ("in clear", OPEN, &clear, Err(AuthError::ClearWithoutEncryption)),
        ("not allowed", not_allowed, &clear, Err(AuthError::ClearNotAllowed)),
        ("over TLS", TLS, &clear, Ok(Step::Send(b"hunter2\0".to_vec()))),
        ("of MySQL 4.0", TLS, b"\xfe", Err(AuthError::Plugin("mysql_old_password".to_owned()))),
        ("of MariaDB", TLS, b"\xfeclient_ed25519\0abc", Err(AuthError::Plugin("client_ed25519".to_owned()))),
    ];
    for (name, permissions, payload, expected) in rows {
        let (mut one, _) = begin(NATIVE, "hunter2", permissions);
        assert_eq!(one.step(payload), expected, "{name}");
        let text = format!("{one:?} {}", expected.err().map(|error| error.to_string()).unwrap_or_default());
        assert!(!text.contains("hunter2"), "{text}");
    }
    let without_native = Permissions { native_password: false, ..OPEN };
    assert_eq!(try_begin(NATIVE, "x", without_native).map(drop), Err(AuthError::NativeNotAllowed));
}

#[test]
fn a_greeting_with_an_unusable_plugin_is_answered_as_native() {
    for plugin in ["", "client_ed25519", CLEAR] {
        let (one, answer) = begin(plugin, "hunter2", OPEN);
        assert_eq!((one.plugin(), answer.len()), (NATIVE, 20), "{plugin}");
    }
}

#[test]
fn what_is_out_of_turn_is_an_error() {
    let rows: [(&str, &str, &[&[u8]]); 6] = [
        ("data that was not asked for", NATIVE, &[&[1, 3]]),
        ("nothing", NATIVE, &[&[]]),
        ("half an OK", NATIVE, &[&[0, 0]]),
        ("no such state", CACHING_SHA2, &[&[1, 5]]),
        ("twice", CACHING_SHA2, &[&[1, 3], &[1, 3]]),
        ("an OK in place of a key", CACHING_SHA2, &[&[1, 4], OK]),
    ];
    for (name, plugin, payloads) in rows {
        let (mut one, _) = begin(plugin, "hunter2", OPEN);
        let (last, before) = payloads.split_last().unwrap();
        before.iter().for_each(|payload| assert!(one.step(payload).is_ok(), "{name}"));
        assert!(matches!(one.step(last), Err(AuthError::Malformed(_))), "{name}");
    }
    let (mut one, _) = begin(NATIVE, "hunter2", OPEN);
    let error = one.step(b"\xff\x15\x04#28000Access denied").unwrap_err();
    assert_eq!(error.to_string(), "1045 (28000): Access denied");
}
