//! Encryption for the RSA key of a server: OAEP with SHA-1 (RFC 8017), as MySQL wants passwords on connections without TLS. Whoever can
//! change what is sent can put another key in its place; only TLS prevents that.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY as SHA1, SHA1_OUTPUT_LEN, digest};

/// How many random bytes an encryption takes.
pub const SEED_LENGTH: usize = SHA1_OUTPUT_LEN;

/// Servers make keys of 2048 bits. Larger ones than this would keep the processor busy.
const MODULUS_BYTES_MAX: usize = 512;

/// A public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    modulus: Natural,
    exponent: Vec<u8>,
    /// The length of the modulus, and of what is encrypted.
    length: usize,
}

impl PublicKey {
    /// A key of its big-endian numbers.
    pub fn new(modulus: &[u8], exponent: &[u8]) -> Option<Self> {
        let strip = |bytes: &[u8]| bytes.iter().copied().skip_while(|byte| *byte == 0).collect::<Vec<u8>>();
        let (modulus, exponent) = (strip(modulus), strip(exponent));
        let is_usable = modulus.last()? & 1 == 1
            && modulus.len() <= MODULUS_BYTES_MAX
            && !exponent.is_empty()
            && exponent.len() <= modulus.len();
        is_usable.then(|| Self { length: modulus.len(), modulus: Natural::new(&modulus), exponent })
    }

    /// Reads the PEM of a `SubjectPublicKeyInfo`.
    pub fn parse_pem(pem: &[u8]) -> Option<Self> {
        /// No server has a larger one.
        const EXPONENT_BYTES_MAX: usize = 4;
        const OID_RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
        let text = std::str::from_utf8(pem).ok()?;
        let (_, text) = text.split_once("-----BEGIN PUBLIC KEY-----")?;
        let (text, _) = text.split_once("-----END PUBLIC KEY-----")?;
        let der = BASE64.decode(text.split_ascii_whitespace().collect::<String>()).ok()?;
        let mut info = Der(&der).element(SEQUENCE)?;
        let is_rsa = info.element(SEQUENCE)?.element(OBJECT)?.0 == OID_RSA;
        let (unused_bits, key) = info.element(BITS)?.0.split_first()?;
        let mut key = Der(key).element(SEQUENCE)?;
        let (modulus, exponent) = (key.element(INTEGER)?.0, key.element(INTEGER)?.0);
        let is_usable = is_rsa && *unused_bits == 0 && exponent.len() <= EXPONENT_BYTES_MAX;
        is_usable.then(|| Self::new(modulus, exponent)).flatten()
    }

    /// Encrypts a message with a seed that is random and never used again. `None` where the key is too short for it.
    pub fn encrypt(&self, message: &[u8], seed: [u8; SEED_LENGTH]) -> Option<Vec<u8>> {
        let zeros = self.length.checked_sub(message.len() + 2 * SHA1_OUTPUT_LEN + 2)?;
        let mut block = digest(&SHA1, b"").as_ref().to_vec();
        block.resize(block.len() + zeros, 0);
        block.push(1);
        block.extend_from_slice(message);
        mask(&mut block, &seed);
        let mut masked_seed = seed;
        mask(&mut masked_seed, &block);
        Some(self.raise(&[&[0], &masked_seed[..], &block[..]].concat()))
    }

    /// The number to the power of the exponent.
    pub fn raise(&self, number: &[u8]) -> Vec<u8> {
        let base = Natural::new(number).modulo(&self.modulus);
        let bits = self.exponent.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1));
        let one = Natural::new(&[1]).modulo(&self.modulus);
        let power = bits.fold(one, |power, is_set| {
            let square = power.multiply(&power, &self.modulus);
            if is_set { square.multiply(&base, &self.modulus) } else { square }
        });
        power.to_bytes(self.length)
    }
}

/// Combines a block with what SHA-1 makes of a seed (MGF1).
pub fn mask(block: &mut [u8], seed: &[u8]) {
    for (counter, part) in (0_u32..).zip(block.chunks_mut(SHA1_OUTPUT_LEN)) {
        let hash = digest(&SHA1, &[seed, &counter.to_be_bytes()].concat());
        part.iter_mut().zip(hash.as_ref()).for_each(|(byte, mask)| *byte ^= mask);
    }
}

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BITS: u8 = 0x03;
const OBJECT: u8 = 0x06;

/// What is left to read of DER.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    fn element(&mut self, tag: u8) -> Option<Self> {
        let (head, rest) = self.0.split_first_chunk::<2>().filter(|([found, _], _)| *found == tag)?;
        let (length, rest) = match head[1] {
            short @ 0..=0x7f => (usize::from(short), rest),
            0x81 => rest.split_first().map(|(length, rest)| (usize::from(*length), rest))?,
            0x82 => rest.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_be_bytes(*length)), rest))?,
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Self(content))
    }
}

/// A natural number: 64 bits each, the lowest first. How long an operation takes depends on the numbers; those that are encrypted are
/// masked with random bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Natural(Vec<u64>);

impl Natural {
    fn new(bytes: &[u8]) -> Self {
        let limb = |part: &[u8]| part.iter().fold(0, |limb, byte| limb << 8 | u64::from(*byte));
        Self(bytes.rchunks(8).map(limb).collect())
    }

    fn to_bytes(&self, length: usize) -> Vec<u8> {
        let bytes: Vec<u8> =
            self.0.iter().flat_map(|limb| limb.to_le_bytes()).chain(std::iter::repeat(0)).take(length).collect();
        bytes.into_iter().rev().collect()
    }

    fn bits(&self) -> impl Iterator<Item = bool> + '_ {
        self.0.iter().rev().flat_map(|limb| (0..64).rev().map(move |bit| limb >> bit & 1 == 1))
    }

    fn modulo(&self, modulus: &Self) -> Self {
        let zero = Self(vec![0; modulus.0.len()]);
        self.bits().fold(zero, |rest, is_set| {
            let doubled = rest.add(&rest, modulus);
            if is_set { doubled.add(&Self(vec![1]), modulus) } else { doubled }
        })
    }

    /// The product of two numbers below the modulus: doubles and adds, bit by bit.
    fn multiply(&self, other: &Self, modulus: &Self) -> Self {
        let zero = Self(vec![0; modulus.0.len()]);
        self.bits().fold(zero, |sum, is_set| {
            let doubled = sum.add(&sum, modulus);
            if is_set { doubled.add(other, modulus) } else { doubled }
        })
    }

    /// The sum of two numbers below the modulus.
    fn add(&self, other: &Self, modulus: &Self) -> Self {
        let mut carry = false;
        let others = other.0.iter().copied().chain(std::iter::repeat(0));
        let mut sum = Self(Vec::with_capacity(self.0.len()));
        for (one, other) in self.0.iter().zip(others) {
            let (limb, first) = one.overflowing_add(other);
            let (limb, second) = limb.overflowing_add(carry.into());
            carry = first || second;
            sum.0.push(limb);
        }
        if carry || sum.0.iter().rev().ge(modulus.0.iter().rev()) {
            sum.subtract(modulus);
        }
        sum
    }

    fn subtract(&mut self, other: &Self) {
        let mut borrow = false;
        for (one, other) in self.0.iter_mut().zip(&other.0) {
            let (limb, first) = one.overflowing_sub(*other);
            let (limb, second) = limb.overflowing_sub(borrow.into());
            borrow = first || second;
            *one = limb;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Made by `openssl genrsa 512`.
    const PEM: &str = "-----BEGIN PUBLIC KEY-----
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK4c14tWppk+Ceu4kOUlP+weCVJn5e9w
920brMLazz1wm1FU8dZ4bs/7af4nNHRpHXKdBh/Qb0cW/Puje2bvNwUCAwEAAQ==
-----END PUBLIC KEY-----
";
    const PRIVATE_EXPONENT: &str = "4fa1273f35c909eae2b4a8fbb3a11ea40974aff88ea3bca19c87fcb23d4a6cc9532fd83d5629b0004e89539e76a316f6b44aa6dd62f4be4faf7caa6003e7b141";

    /// `hunter2` and a zero, encrypted by `openssl pkeyutl -encrypt -pkeyopt rsa_padding_mode:oaep`.
    const OF_OPENSSL: &str = "26a0c247aab0da60cb7bfd48b8bb446a236fa202859f6c4766e6815a2139f585c30e019190c1a991a54cf06769beb983b1a689a6e9b5504f9b506ffff3f315d1";

    fn bytes(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    fn unpad(padded: &[u8]) -> Vec<u8> {
        assert_eq!(padded[0], 0);
        let (seed, block) = padded[1..].split_at(SEED_LENGTH);
        let (mut seed, mut block) = (seed.to_vec(), block.to_vec());
        mask(&mut seed, &block);
        mask(&mut block, &seed);
        assert_eq!(block[..SHA1_OUTPUT_LEN], *digest(&SHA1, b"").as_ref());
        let message: Vec<u8> = block[SHA1_OUTPUT_LEN..].iter().copied().skip_while(|byte| *byte == 0).collect();
        assert_eq!(message[0], 1);
        message[1..].to_vec()
    }

    #[test]
    fn what_openssl_encrypts_is_read() {
        let public = PublicKey::parse_pem(PEM.as_bytes()).unwrap();
        let private = PublicKey { exponent: bytes(PRIVATE_EXPONENT), ..public };
        assert_eq!(unpad(&private.raise(&bytes(OF_OPENSSL))), b"hunter2\0");
    }

    #[test]
    fn keys_that_are_none_are_refused() {
        let rows = [
            ("nothing", String::new()),
            ("no base64", PEM.replace("MFww", "M!ww")),
            ("no sequence", PEM.replace("MFww", "AFww")),
            ("another algorithm", PEM.replace("NAQEB", "NAQEC")),
            ("cut", PEM.replace("920brMLazz1wm1FU8dZ4bs/7af4nNHRpHXKdBh/Qb0cW/Puje2bvNwUCAwEAAQ==\n", "")),
            ("a certificate", PEM.replace("PUBLIC KEY", "CERTIFICATE")),
        ];
        for (name, pem) in rows {
            assert_eq!(PublicKey::parse_pem(pem.as_bytes()), None, "{name}");
        }
        assert_eq!(PublicKey::new(&[0xff; MODULUS_BYTES_MAX + 1], &[3]), None, "too large");
        assert_eq!(PublicKey::new(&[0xfe; 64], &[3]), None, "even");
        assert_eq!(PublicKey::new(&[0xff; 64], &[0]), None, "no exponent");
    }

    #[test]
    fn a_message_must_fit_the_key() {
        let key = PublicKey::parse_pem(PEM.as_bytes()).unwrap();
        let room = 64 - 2 * SHA1_OUTPUT_LEN - 2;
        assert!(key.encrypt(&vec![7; room], [0; SEED_LENGTH]).is_some());
        assert_eq!(key.encrypt(&vec![7; room + 1], [0; SEED_LENGTH]), None);
    }

    #[test]
    fn powers_of_small_numbers_are_right() {
        let key = PublicKey::new(&[0x01, 0x00, 0x01], &[0x01, 0x05]).unwrap();
        let expected = (0..0x105).fold(1_u64, |power, _| power * 1234 % 0x1_0001);
        assert_eq!(key.raise(&1234_u16.to_be_bytes()), expected.to_be_bytes()[5..]);
    }

    proptest! {
        /// With the exponent 1, which changes nothing.
        #[test]
        fn what_is_padded_can_be_found_again(message in proptest::collection::vec(any::<u8>(), 0..22), seed: [u8; SEED_LENGTH]) {
            let key = PublicKey::new(&[0xff; 64], &[1]).unwrap();
            prop_assert_eq!(unpad(&key.encrypt(&message, seed).unwrap()), message);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let pem = format!("-----BEGIN PUBLIC KEY-----{}-----END PUBLIC KEY-----", BASE64.encode(&bytes));
            let _ = PublicKey::parse_pem(pem.as_bytes());
            let _ = PublicKey::parse_pem(&bytes);
        }
    }
}
