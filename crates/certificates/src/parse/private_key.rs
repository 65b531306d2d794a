//! Private keys of CAs. KEDA stores RSA keys as PKCS#1, which the signing library does not accept: they are wrapped in PKCS#8.

use rcgen::KeyPair;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;

use crate::reason::Reason;

/// PKCS#8: version 0, and the algorithm rsaEncryption without parameters.
const RSA_HEAD: [u8; 18] =
    [0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00];
const SEQUENCE: u8 = 0x30;
const OCTET_STRING: u8 = 0x04;

pub(super) fn parse(pem: &[u8]) -> Result<KeyPair, Reason> {
    if pem.is_empty() {
        return Err(Reason::Missing);
    }
    let key = match PrivateKeyDer::from_pem_slice(pem).map_err(|_| Reason::Unreadable)? {
        PrivateKeyDer::Pkcs1(key) => PrivateKeyDer::Pkcs8(wrap_in_pkcs8(key.secret_pkcs1_der()).into()),
        key => key,
    };
    KeyPair::try_from(&key).map_err(|_| Reason::Unreadable)
}

fn wrap_in_pkcs8(pkcs1: &[u8]) -> Vec<u8> {
    let key = element(OCTET_STRING, pkcs1);
    element(SEQUENCE, &[&RSA_HEAD[..], &key].concat())
}

/// An element of DER: tag, length, content.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let digits: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let head = match (digits.as_slice(), u8::try_from(digits.len())) {
        ([], _) => vec![tag, 0],
        ([short], _) if *short < 0x80 => vec![tag, *short],
        (_, count) => [&[tag, 0x80 | count.expect("a length has 8 bytes at most")], digits.as_slice()].concat(),
    };
    [head.as_slice(), content].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_encoded_as_der() {
        let rows: [(usize, &[u8]); 5] =
            [(0, &[4, 0]), (5, &[4, 5]), (127, &[4, 127]), (128, &[4, 0x81, 128]), (1200, &[4, 0x82, 0x04, 0xb0])];
        for (length, head) in rows {
            let written = element(OCTET_STRING, &vec![7; length]);
            assert_eq!((&written[..head.len()], written.len()), (head, head.len() + length));
        }
    }
}
