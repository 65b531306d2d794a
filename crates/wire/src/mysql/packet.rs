//! Packets: three bytes of length, a sequence number, and a payload. Numbers in a payload are little-endian.

use super::MysqlError;

/// The length of a payload that another packet continues.
const CONTINUED: usize = 0xff_ffff;

/// The longest payload that is accepted: far more than a number needs.
pub const PAYLOAD_MAX: usize = 1 << 20;

const HEADER: usize = 4;

/// A packet of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    pub sequence: u8,
    pub payload: &'a [u8],
}

/// The first packet in some bytes, once it is whole, and its length.
pub fn decode_packet(bytes: &[u8]) -> Result<Option<(Packet<'_>, usize)>, MysqlError> {
    let Some(([low, middle, high, sequence], rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let length = usize::from(*low) | usize::from(*middle) << 8 | usize::from(*high) << 16;
    if length > PAYLOAD_MAX {
        return Err(MysqlError::TooLong);
    }
    Ok(rest.get(..length).map(|payload| (Packet { sequence: *sequence, payload }, HEADER + length)))
}

/// The packets of a payload, of which the first has this number.
pub fn encode_packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest, mut sequence) = (Vec::with_capacity(HEADER + payload.len()), payload, sequence);
    loop {
        let (part, after) = rest.split_at(rest.len().min(CONTINUED));
        let length = u32::try_from(part.len()).expect("a part has at most 24 bits of length");
        bytes.extend_from_slice(&length.to_le_bytes()[..3]);
        bytes.push(sequence);
        bytes.extend_from_slice(part);
        // A whole last part is followed by an empty one.
        if part.len() < CONTINUED {
            return bytes;
        }
        (rest, sequence) = (after, sequence.wrapping_add(1));
    }
}

/// What is left to read of a payload.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub fn new(payload: &'a [u8]) -> Self {
        Self(payload)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that is left.
    pub fn rest(self) -> &'a [u8] {
        self.0
    }

    pub fn take(&mut self, length: usize) -> Result<&'a [u8], MysqlError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(MysqlError::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], MysqlError> {
        let (bytes, rest) = self.0.split_first_chunk().ok_or(MysqlError::TooShort)?;
        self.0 = rest;
        Ok(*bytes)
    }

    pub fn byte(&mut self) -> Result<u8, MysqlError> {
        self.array().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, MysqlError> {
        self.array().map(u16::from_le_bytes)
    }

    /// Bytes up to a zero, which is skipped, or to the end.
    pub fn until_zero(&mut self) -> &'a [u8] {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        self.0 = &self.0[end.map_or(self.0.len(), |end| end + 1)..];
        text
    }

    /// An integer with its length; `None` stands for NULL.
    pub fn integer(&mut self) -> Result<Option<u64>, MysqlError> {
        let wide = |bytes: &[u8]| bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte));
        match self.byte()? {
            small @ 0..=0xfa => Ok(Some(small.into())),
            0xfb => Ok(None),
            0xfc => self.take(2).map(|bytes| Some(wide(bytes))),
            0xfd => self.take(3).map(|bytes| Some(wide(bytes))),
            0xfe => self.take(8).map(|bytes| Some(wide(bytes))),
            0xff => Err(MysqlError::Unexpected("an integer")),
        }
    }

    /// A text with its length; `None` is NULL.
    pub fn text(&mut self) -> Result<Option<&'a [u8]>, MysqlError> {
        let Some(length) = self.integer()? else { return Ok(None) };
        self.take(usize::try_from(length).map_err(|_| MysqlError::TooShort)?).map(Some)
    }
}

/// Writes an integer with its length.
pub fn write_integer(number: u64, to: &mut Vec<u8>) {
    let bytes = number.to_le_bytes();
    match number {
        0..=0xfa => to.push(bytes[0]),
        0xfb..=0xffff => to.extend_from_slice(&[&[0xfc], &bytes[..2]].concat()),
        0x1_0000..=0xff_ffff => to.extend_from_slice(&[&[0xfd], &bytes[..3]].concat()),
        _ => to.extend_from_slice(&[&[0xfe], &bytes[..]].concat()),
    }
}

/// Writes a text with its length.
pub fn write_text(text: &[u8], to: &mut Vec<u8>) {
    write_integer(text.len() as u64, to);
    to.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_have_their_length() {
        let rows: [(u64, &[u8]); 6] = [
            (0, &[0]),
            (250, &[250]),
            (251, &[0xfc, 251, 0]),
            (0xffff, &[0xfc, 0xff, 0xff]),
            (0x1_0000, &[0xfd, 0, 0, 1]),
            (0x100_0000, &[0xfe, 0, 0, 0, 1, 0, 0, 0, 0]),
        ];
        for (number, expected) in rows {
            let mut bytes = Vec::new();
            write_integer(number, &mut bytes);
            assert_eq!(bytes, expected, "{number}");
        }
    }

    #[test]
    fn lengths_that_cannot_be_are_refused_before_anything_is_kept() {
        assert_eq!(decode_packet(&[0xff, 0xff, 0xff, 0]), Err(MysqlError::TooLong));
        let huge = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        assert_eq!(Body::new(&huge).text(), Err(MysqlError::TooShort));
        assert_eq!(Body::new(&[0xff]).integer(), Err(MysqlError::Unexpected("an integer")));
        assert_eq!(Body::new(&[0xfb]).text(), Ok(None));
    }

    #[test]
    fn a_long_payload_has_several_packets() {
        let bytes = encode_packet(0, &vec![7; CONTINUED + 1]);
        assert_eq!(bytes[..4], [0xff, 0xff, 0xff, 0]);
        assert_eq!(bytes[HEADER + CONTINUED..], [1, 0, 0, 1, 7]);
        assert_eq!(encode_packet(255, &vec![7; CONTINUED])[HEADER + CONTINUED..], [0, 0, 0, 0]);
    }

    proptest! {
        #[test]
        fn a_packet_is_whole_or_not_there(sequence: u8, payload: Vec<u8>, more: Vec<u8>) {
            let bytes = encode_packet(sequence, &payload);
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode_packet(&bytes[..cut]), Ok(None), "cut at {}", cut);
            }
            let length = bytes.len();
            let all = [bytes, more].concat();
            prop_assert_eq!(decode_packet(&all), Ok(Some((Packet { sequence, payload: &payload }, length))));
        }

        #[test]
        fn values_are_read_as_they_were_written(number: u64, text: Vec<u8>) {
            let mut bytes = Vec::new();
            write_integer(number, &mut bytes);
            write_text(&text, &mut bytes);
            let mut body = Body::new(&bytes);
            prop_assert_eq!(body.integer(), Ok(Some(number)));
            prop_assert_eq!(body.text(), Ok(Some(text.as_slice())));
            prop_assert!(body.is_empty());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            let _ = decode_packet(&bytes);
            let mut body = Body::new(&bytes);
            while !body.is_empty() && body.text().is_ok() {}
            body.until_zero();
        }
    }
}
