//! RESP2, the protocol of Redis: commands as lists of bulk strings, and replies.

/// What a reply may have in all, nested ones included.
const ITEMS_MAX: usize = 50_000;

/// How deep lists may be nested.
const DEPTH_MAX: usize = 16;

/// The longest bulk string.
const BULK_BYTES_MAX: usize = 1 << 20;

/// The longest line: that of an error.
const LINE_BYTES_MAX: usize = 64 << 10;

/// A reply of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Simple(String),
    /// The server's own words: a code in capitals first, as a rule.
    Error(String),
    Integer(i64),
    Bulk(Vec<u8>),
    Nil,
    List(Vec<Self>),
}

/// Why bytes are no reply.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RespError {
    #[error("it is not the protocol of Redis: a reply begins with byte {0:#04x}")]
    Type(u8),
    #[error("a number in it cannot be read")]
    Number,
    #[error("a line in it is not terminated")]
    Line,
    #[error("it is too large")]
    TooLarge,
    #[error("it is nested too deeply")]
    TooDeep,
}

impl Reply {
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// The text of a simple or bulk string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Simple(text) => Some(text),
            Self::Bulk(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    pub fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(items) => Some(items),
            _ => None,
        }
    }

    /// The value of a key in a list of keys and values.
    pub fn field(&self, name: &str) -> Option<&Self> {
        self.as_list()?.chunks_exact(2).find(|pair| pair[0].as_text() == Some(name)).map(|pair| &pair[1])
    }
}

/// Writes a command.
pub fn encode_command<'a>(parts: impl IntoIterator<Item = &'a [u8], IntoIter: ExactSizeIterator>) -> Vec<u8> {
    let parts = parts.into_iter();
    let mut bytes = format!("*{}\r\n", parts.len()).into_bytes();
    for part in parts {
        bytes.extend_from_slice(format!("${}\r\n", part.len()).as_bytes());
        bytes.extend_from_slice(part);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// Reads one reply from the beginning of what was received. Returns it with its length, or none while more must be received.
pub fn decode_reply(received: &[u8]) -> Result<Option<(Reply, usize)>, RespError> {
    let mut decoder = Decoder { bytes: received, at: 0, items: 0 };
    match decoder.reply(0) {
        Ok(reply) => Ok(Some((reply, decoder.at))),
        Err(Stop::Incomplete) => Ok(None),
        Err(Stop::Invalid(error)) => Err(error),
    }
}

enum Stop {
    Incomplete,
    Invalid(RespError),
}

impl From<RespError> for Stop {
    fn from(error: RespError) -> Self {
        Self::Invalid(error)
    }
}

struct Decoder<'a> {
    bytes: &'a [u8],
    at: usize,
    items: usize,
}

impl<'a> Decoder<'a> {
    fn reply(&mut self, depth: usize) -> Result<Reply, Stop> {
        if depth > DEPTH_MAX {
            return Err(RespError::TooDeep.into());
        }
        self.items += 1;
        if self.items > ITEMS_MAX {
            return Err(RespError::TooLarge.into());
        }
        let kind = *self.bytes.get(self.at).ok_or(Stop::Incomplete)?;
        if !matches!(kind, b'+' | b'-' | b':' | b'$' | b'*') {
            return Err(RespError::Type(kind).into());
        }
        self.at += 1;
        let line = self.line()?;
        match kind {
            b'+' => Ok(Reply::Simple(String::from_utf8_lossy(line).into_owned())),
            b'-' => Ok(Reply::Error(String::from_utf8_lossy(line).into_owned())),
            b':' => Ok(Reply::Integer(number(line)?)),
            b'$' => match length(line)? {
                None => Ok(Reply::Nil),
                Some(length) if length > BULK_BYTES_MAX => Err(RespError::TooLarge.into()),
                Some(length) => self.bulk(length),
            },
            _ => match length(line)? {
                None => Ok(Reply::Nil),
                Some(length) if length > ITEMS_MAX => Err(RespError::TooLarge.into()),
                Some(length) => (0..length).map(|_| self.reply(depth + 1)).collect::<Result<_, _>>().map(Reply::List),
            },
        }
    }

    fn line(&mut self) -> Result<&'a [u8], Stop> {
        let rest = &self.bytes[self.at..];
        let Some(end) = rest.iter().position(|byte| *byte == b'\r') else {
            return Err(if rest.len() > LINE_BYTES_MAX { RespError::Line.into() } else { Stop::Incomplete });
        };
        match rest.get(end + 1) {
            None => Err(Stop::Incomplete),
            Some(b'\n') => {
                self.at += end + 2;
                Ok(&rest[..end])
            }
            Some(_) => Err(RespError::Line.into()),
        }
    }

    fn bulk(&mut self, length: usize) -> Result<Reply, Stop> {
        let rest = &self.bytes[self.at..];
        let content = rest.get(..length).ok_or(Stop::Incomplete)?;
        match rest.get(length..length + 2) {
            None if rest.get(length).is_none_or(|byte| *byte == b'\r') => Err(Stop::Incomplete),
            Some(b"\r\n") => {
                self.at += length + 2;
                Ok(Reply::Bulk(content.to_vec()))
            }
            _ => Err(RespError::Line.into()),
        }
    }
}

fn number(line: &[u8]) -> Result<i64, RespError> {
    std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()).ok_or(RespError::Number)
}

/// None is written as −1.
fn length(line: &[u8]) -> Result<Option<usize>, RespError> {
    match number(line)? {
        -1 => Ok(None),
        length => usize::try_from(length).map(Some).map_err(|_| RespError::Number),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn replies_are_read() {
        let list = |items: Vec<Reply>| Reply::List(items);
        let rows: [(&str, Reply); 9] = [
            ("+OK\r\n", Reply::Simple("OK".to_owned())),
            ("-ERR no\r\n", Reply::Error("ERR no".to_owned())),
            (":42\r\n", Reply::Integer(42)),
            (":-1\r\n", Reply::Integer(-1)),
            ("$3\r\na\rb\r\n", Reply::Bulk(b"a\rb".to_vec())),
            ("$-1\r\n", Reply::Nil),
            ("*-1\r\n", Reply::Nil),
            ("*0\r\n", list(vec![])),
            ("*2\r\n:1\r\n*1\r\n$0\r\n\r\n", list(vec![Reply::Integer(1), list(vec![Reply::Bulk(vec![])])])),
        ];
        for (text, expected) in rows {
            let with_more = format!("{text}+NEXT\r\n");
            assert_eq!(decode_reply(with_more.as_bytes()), Ok(Some((expected, text.len()))), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        let deep = "*1\r\n".repeat(DEPTH_MAX + 2);
        let rows = [
            ("HTTP/1.1 400 Bad Request\r\n", RespError::Type(b'H')),
            (":x\r\n", RespError::Number),
            (":99999999999999999999\r\n", RespError::Number),
            ("$-2\r\n", RespError::Number),
            ("$99999999999\r\n", RespError::TooLarge),
            ("*99999999\r\n", RespError::TooLarge),
            ("+OK\rx", RespError::Line),
            ("$1\r\nabc", RespError::Line),
            (&deep, RespError::TooDeep),
        ];
        for (text, expected) in rows {
            assert_eq!(decode_reply(text.as_bytes()), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn a_command_is_a_list_of_bulk_strings() {
        let command = encode_command([&b"LLEN"[..], b"a\r\nb"]);
        assert_eq!(command, b"*2\r\n$4\r\nLLEN\r\n$4\r\na\r\nb\r\n");
    }

    #[test]
    fn fields_are_found_in_lists_of_pairs() {
        let text = |text: &str| Reply::Bulk(text.as_bytes().to_vec());
        let group = Reply::List(vec![text("name"), text("workers"), text("lag"), Reply::Integer(3)]);
        assert_eq!(group.field("lag").and_then(Reply::as_integer), Some(3));
        assert_eq!(group.field("workers"), None, "a value is no key");
    }

    fn reply() -> impl Strategy<Value = Reply> {
        let leaf = prop_oneof![
            "[^\r\n]{0,9}".prop_map(Reply::Simple),
            "[^\r\n]{0,9}".prop_map(Reply::Error),
            any::<i64>().prop_map(Reply::Integer),
            any::<Vec<u8>>().prop_map(Reply::Bulk),
            Just(Reply::Nil),
        ];
        leaf.prop_recursive(3, 20, 4, |inner| prop::collection::vec(inner, 0..4).prop_map(Reply::List))
    }

    fn encode(reply: &Reply) -> Vec<u8> {
        match reply {
            Reply::Simple(text) => format!("+{text}\r\n").into_bytes(),
            Reply::Error(text) => format!("-{text}\r\n").into_bytes(),
            Reply::Integer(value) => format!(":{value}\r\n").into_bytes(),
            Reply::Bulk(bytes) => [format!("${}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat(),
            Reply::Nil => b"$-1\r\n".to_vec(),
            Reply::List(items) => items
                .iter()
                .fold(format!("*{}\r\n", items.len()).into_bytes(), |bytes, item| [bytes, encode(item)].concat()),
        }
    }

    proptest! {
        #[test]
        fn a_reply_is_whole_or_not_there(reply in reply(), more in any::<Vec<u8>>()) {
            let bytes = encode(&reply);
            for cut in 0..bytes.len() {
                prop_assert_eq!(decode_reply(&bytes[..cut]), Ok(None), "cut at {}", cut);
            }
            let length = bytes.len();
            prop_assert_eq!(decode_reply(&[bytes, more].concat()), Ok(Some((reply, length))));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in any::<Vec<u8>>(), kind in "[+:$*-][0-9]{1,3}\r\n") {
            let _ = decode_reply(&bytes);
            let _ = decode_reply(&[kind.as_bytes(), &bytes].concat());
        }
    }
}
