//! For tests: the server's side of SCRAM (RFC 5802).

use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use kedge_wire::scram::ScramHash;
use ring::{digest, hmac, pbkdf2};

/// A server that knows one password.
#[derive(Clone, Debug)]
pub(crate) struct ScramServer {
    hash: ScramHash,
    salted_password: Vec<u8>,
}

/// A sign-in that has begun.
#[derive(Clone, Debug)]
pub(crate) struct BegunSignIn {
    client_first_bare: String,
    pub(crate) server_first: String,
}

impl ScramServer {
    pub(crate) fn new(hash: ScramHash, password: &str) -> Self {
        let (algorithm, length) = match hash {
            ScramHash::Sha256 => (pbkdf2::PBKDF2_HMAC_SHA256, digest::SHA256_OUTPUT_LEN),
            ScramHash::Sha512 => (pbkdf2::PBKDF2_HMAC_SHA512, digest::SHA512_OUTPUT_LEN),
        };
        let mut salted_password = vec![0; length];
        let iterations = NonZeroU32::new(4096).unwrap();
        pbkdf2::derive(algorithm, iterations, b"salt", password.as_bytes(), &mut salted_password);
        Self { hash, salted_password }
    }

    /// The server's last message to a client that has proved that it knows the password.
    pub(crate) fn end(&self, begun: &BegunSignIn, client_last: &str) -> Option<String> {
        let (without_proof, proof) = client_last.rsplit_once(",p=")?;
        let signed = format!("{},{},{without_proof}", begun.client_first_bare, begun.server_first);
        let client_key = self.mac(&self.salted_password, b"Client Key");
        let signature = self.mac(self.digest(&client_key).as_ref(), signed.as_bytes());
        let expected: Vec<u8> = client_key.iter().zip(signature).map(|(key, mask)| key ^ mask).collect();
        let server_key = self.mac(&self.salted_password, b"Server Key");
        let last = format!("v={}", BASE64.encode(self.mac(&server_key, signed.as_bytes())));
        (BASE64.decode(proof).ok()? == expected).then_some(last)
    }

    fn digest(&self, bytes: &[u8]) -> digest::Digest {
        match self.hash {
            ScramHash::Sha256 => digest::digest(&digest::SHA256, bytes),
            ScramHash::Sha512 => digest::digest(&digest::SHA512, bytes),
        }
    }

    fn mac(&self, key: &[u8], text: &[u8]) -> Vec<u8> {
        let algorithm = match self.hash {
            ScramHash::Sha256 => hmac::HMAC_SHA256,
            ScramHash::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), text).as_ref().to_vec()
    }
}

impl BegunSignIn {
    /// The answer to the client's first message.
    pub(crate) fn new(client_first: &str) -> Self {
        let client_first_bare = client_first.split_once("n,,").unwrap().1.to_owned();
        let nonce = client_first_bare.split_once(",r=").unwrap().1;
        let server_first = format!("r={nonce}more,s={},i=4096", BASE64.encode("salt"));
        Self { client_first_bare, server_first }
    }

    /// Whether a client's last message belongs to this sign-in.
    pub(crate) fn is_continued_by(&self, client_last: &str) -> bool {
        let nonce = self.server_first.split(',').next().unwrap_or_default();
        client_last.split(',').any(|part| part == nonce)
    }
}
