//! SCRAM (RFC 5802, RFC 7677), the client's side: proves that it knows the password without sending it, and checks that the server
//! knows it too.

use std::fmt;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};

/// RFC 7677 asks for so many at least: fewer would help a server that collects passwords.
const ITERATIONS_MIN: u32 = 4096;

/// Kafka's brokers have 16,384 at most, and PostgreSQL has 4,096 unless it is configured otherwise. More would keep the processor busy:
/// these take about 20 ms, in which nothing else runs on the thread.
const ITERATIONS_MAX: u32 = 16_384;

/// The hash function of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScramHash {
    Sha256,
    Sha512,
}

/// Why an exchange failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScramError {
    #[error("the server's message for SCRAM cannot be read")]
    Malformed,
    #[error("the server asks for {0} iterations of SCRAM; {ITERATIONS_MIN} to {ITERATIONS_MAX} are accepted")]
    Iterations(u32),
    #[error("the server refused: {0}")]
    Refused(String),
    #[error("the server has not proved that it knows the password")]
    Unproved,
}

/// An exchange that has begun. It holds the password.
#[derive(Clone)]
pub struct ScramClient {
    hash: ScramHash,
    password: String,
    nonce: String,
    first_bare: String,
}

/// What the server must send at last.
#[derive(Clone)]
pub struct ServerProof(Vec<u8>);

impl fmt::Debug for ScramClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScramClient").field(&self.hash).finish()
    }
}

impl fmt::Debug for ServerProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerProof")
    }
}

impl ScramHash {
    /// The name of the mechanism.
    pub fn mechanism(self) -> &'static str {
        match self {
            Self::Sha256 => "SCRAM-SHA-256",
            Self::Sha512 => "SCRAM-SHA-512",
        }
    }

    fn digest(self, bytes: &[u8]) -> digest::Digest {
        match self {
            Self::Sha256 => digest::digest(&digest::SHA256, bytes),
            Self::Sha512 => digest::digest(&digest::SHA512, bytes),
        }
    }

    fn mac(self, key: &[u8], text: &[u8]) -> hmac::Tag {
        let algorithm = match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha512 => hmac::HMAC_SHA512,
        };
        hmac::sign(&hmac::Key::new(algorithm, key), text)
    }

    fn salted_password(self, password: &str, salt: &[u8], iterations: NonZeroU32) -> Vec<u8> {
        let (algorithm, length) = match self {
            Self::Sha256 => (pbkdf2::PBKDF2_HMAC_SHA256, digest::SHA256_OUTPUT_LEN),
            Self::Sha512 => (pbkdf2::PBKDF2_HMAC_SHA512, digest::SHA512_OUTPUT_LEN),
        };
        let mut salted = vec![0; length];
        pbkdf2::derive(algorithm, iterations, salt, password.as_bytes(), &mut salted);
        salted
    }
}

impl ScramClient {
    /// Begins with a nonce that was never used, of printable characters other than a comma.
    pub fn new(hash: ScramHash, username: &str, password: &str, nonce: &str) -> Self {
        let escaped = username.replace('=', "=3D").replace(',', "=2C");
        let first_bare = format!("n={escaped},r={nonce}");
        Self { hash, password: password.to_owned(), nonce: nonce.to_owned(), first_bare }
    }

    /// The first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.first_bare)
    }

    /// The answer to the server's first message, and what proves the server.
    pub fn last(&self, server_first: &[u8]) -> Result<(String, ServerProof), ScramError> {
        let server_first = std::str::from_utf8(server_first).map_err(|_| ScramError::Malformed)?;
        let (nonce, salt, iterations) = parse_server_first(server_first)?;
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(ScramError::Malformed);
        }
        let without_proof = format!("c=biws,r={nonce}");
        let signed = format!("{},{server_first},{without_proof}", self.first_bare);
        let salted = self.hash.salted_password(&self.password, &salt, iterations);
        let client_key = self.hash.mac(&salted, b"Client Key");
        let signature = self.hash.mac(self.hash.digest(client_key.as_ref()).as_ref(), signed.as_bytes());
        let proof: Vec<u8> = client_key.as_ref().iter().zip(signature.as_ref()).map(|(key, mask)| key ^ mask).collect();
        let server_key = self.hash.mac(&salted, b"Server Key");
        let expected = self.hash.mac(server_key.as_ref(), signed.as_bytes());
        let last = format!("{without_proof},p={}", BASE64.encode(proof));
        Ok((last, ServerProof(expected.as_ref().to_vec())))
    }
}

fn parse_server_first(text: &str) -> Result<(&str, Vec<u8>, NonZeroU32), ScramError> {
    let mut parts = text.split(',');
    let mut part = |name: &str| parts.next().and_then(|part| part.strip_prefix(name)).ok_or(ScramError::Malformed);
    let (nonce, salt, iterations) = (part("r=")?, part("s=")?, part("i=")?);
    let salt = BASE64.decode(salt).map_err(|_| ScramError::Malformed)?;
    let iterations: u32 = iterations.parse().map_err(|_| ScramError::Malformed)?;
    let usable = NonZeroU32::new(iterations).filter(|_| (ITERATIONS_MIN..=ITERATIONS_MAX).contains(&iterations));
    Ok((nonce, salt, usable.ok_or(ScramError::Iterations(iterations))?))
}

impl ServerProof {
    /// Checks the server's last message.
    pub fn check(&self, server_last: &[u8]) -> Result<(), ScramError> {
        let text = std::str::from_utf8(server_last).map_err(|_| ScramError::Malformed)?;
        let first = text.split(',').next().unwrap_or_default();
        if let Some(refusal) = first.strip_prefix("e=") {
            return Err(ScramError::Refused(refusal.to_owned()));
        }
        let given = first.strip_prefix("v=").ok_or(ScramError::Malformed)?;
        match BASE64.decode(given) {
            Ok(given) if given == self.0 => Ok(()),
            Ok(_) => Err(ScramError::Unproved),
            Err(_) => Err(ScramError::Malformed),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SERVER_FIRST: &[u8] =
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    fn client() -> ScramClient {
        ScramClient::new(ScramHash::Sha256, "user", "pencil", "rOprNGfwEbeRWgbNEkqO")
    }

    #[test]
    fn the_exchange_is_that_of_rfc_7677() {
        assert_eq!(client().first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let (last, proof) = client().last(SERVER_FIRST).unwrap();
        assert_eq!(
            last,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(proof.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
        let rows: [(&[u8], ScramError); 4] = [
            (b"v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=", ScramError::Unproved),
            (b"e=invalid-proof", ScramError::Refused("invalid-proof".to_owned())),
            (b"v=!", ScramError::Malformed),
            (b"", ScramError::Malformed),
        ];
        for (last, expected) in rows {
            assert_eq!(proof.check(last), Err(expected), "{last:?}");
        }
    }

    #[test]
    fn a_server_that_takes_liberties_is_refused() {
        let rows: [(&str, &[u8], ScramError); 6] = [
            ("another nonce", b"r=xyz,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", ScramError::Malformed),
            ("nothing of its own", b"r=rOprNGfwEbeRWgbNEkqO,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", ScramError::Malformed),
            ("too few", b"r=rOprNGfwEbeRWgbNEkqOx,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=1", ScramError::Iterations(1)),
            ("too many", b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=4294967295", ScramError::Iterations(u32::MAX)),
            ("one too many", b"r=rOprNGfwEbeRWgbNEkqOx,s=W22Z,i=16385", ScramError::Iterations(16_385)),
            ("no salt", b"r=rOprNGfwEbeRWgbNEkqOx,s=!,i=4096", ScramError::Malformed),
        ];
        for (name, first, expected) in rows {
            assert_eq!(client().last(first).map(drop), Err(expected), "{name}");
        }
    }

    #[test]
    fn names_are_escaped() {
        let client = ScramClient::new(ScramHash::Sha512, "a=b,c", "p", "n");
        assert_eq!(client.first(), "n,,n=a=3Db=2Cc,r=n");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "r=rOprNGfwEbeRWgbNEkqO[a-z]{0,3},s=[a-zA-Z=]{0,9},i=[0-9]{0,4}") {
            let _ = (client().last(&bytes).map(drop), client().last(text.as_bytes()).map(drop));
            let _ = ServerProof(vec![1]).check(&bytes);
        }
    }
}
