//! JSON with the error messages of Go's parser, and duplicate fields.

use std::collections::BTreeSet;

/// Parses JSON; errors are worded as Go's parser words them.
pub(crate) fn parse(bytes: &[u8]) -> Result<serde_json::Value, String> {
    serde_json::from_slice(bytes).map_err(|error| match Scan::new(bytes).document() {
        Err(problem) => problem,
        // Go accepts some input that serde rejects.
        Ok(()) => error.to_string(),
    })
}

/// The paths of fields that JSON has more than once: `data.k`.
pub(crate) fn duplicates(bytes: &[u8]) -> Vec<String> {
    let mut scan = Scan::new(bytes);
    match scan.document() {
        Ok(()) => scan.duplicates,
        Err(_) => Vec::new(),
    }
}

/// The state of a scan.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The names and indexes of what is being scanned.
    path: Vec<String>,
    duplicates: Vec<String>,
}

type Scanned = Result<(), String>;

impl<'a> Scan<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, path: Vec::new(), duplicates: Vec::new() }
    }

    fn document(&mut self) -> Scanned {
        self.value()?;
        self.skip_blanks();
        match self.bytes.get(self.at) {
            None => Ok(()),
            Some(_) => self.refuse("after top-level value"),
        }
    }

    fn value(&mut self) -> Scanned {
        self.skip_blanks();
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.array(),
            b'"' => self.string(),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            b'-' | b'0'..=b'9' => self.number(),
            _ => self.refuse("looking for beginning of value"),
        }
    }

    fn object(&mut self) -> Scanned {
        self.at += 1;
        self.skip_blanks();
        if self.peek()? == b'}' {
            return self.step();
        }
        let mut names = BTreeSet::new();
        loop {
            self.skip_blanks();
            let start = self.at;
            if self.peek()? != b'"' {
                return self.refuse("looking for beginning of object key string");
            }
            self.string()?;
            let name = self.name(start);
            self.expect(b':', "after object key")?;
            self.path.push(format!(".{name}"));
            if !names.insert(name) {
                self.duplicates.push(self.path.concat().trim_start_matches('.').to_owned());
            }
            self.value()?;
            self.path.pop();
            self.skip_blanks();
            match self.peek()? {
                b',' => self.step()?,
                b'}' => return self.step(),
                _ => return self.refuse("after object key:value pair"),
            }
        }
    }

    fn array(&mut self) -> Scanned {
        self.at += 1;
        self.skip_blanks();
        if self.peek()? == b']' {
            return self.step();
        }
        for index in 0.. {
            self.path.push(format!("[{index}]"));
            self.value()?;
            self.path.pop();
            self.skip_blanks();
            match self.peek()? {
                b',' => self.step()?,
                b']' => return self.step(),
                _ => return self.refuse("after array element"),
            }
        }
        Ok(())
    }

    /// The string that began there and ends here.
    fn name(&self, start: usize) -> String {
        serde_json::from_slice(&self.bytes[start..self.at]).unwrap_or_default()
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => return self.step(),
                b'\\' => {
                    self.step()?;
                    self.escape()?;
                }
                ..b' ' => return self.refuse("in string literal"),
                _ => self.step()?,
            }
        }
    }

    fn escape(&mut self) -> Scanned {
        match self.peek()? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => self.step(),
            b'u' => {
                self.step()?;
                (0..4).try_for_each(|_| match self.peek()?.is_ascii_hexdigit() {
                    true => self.step(),
                    false => self.refuse("in \\u hexadecimal character escape"),
                })
            }
            _ => self.refuse("in string escape code"),
        }
    }

    fn literal(&mut self, word: &str) -> Scanned {
        for expected in word.chars() {
            if char::from(self.peek()?) != expected {
                return self.refuse(&format!("in literal {word} (expecting '{expected}')"));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        match self.peek()? {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.skip_digits(),
            _ => return self.refuse("in numeric literal"),
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits("after decimal point in numeric literal")?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let Some(b'+' | b'-') = self.bytes.get(self.at) {
                self.at += 1;
            }
            self.digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn digits(&mut self, place: &str) -> Scanned {
        if !self.peek()?.is_ascii_digit() {
            return self.refuse(place);
        }
        self.skip_digits();
        Ok(())
    }

    fn skip_digits(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn skip_blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(|byte| b" \t\r\n".contains(byte)) {
            self.at += 1;
        }
    }

    fn expect(&mut self, wanted: u8, place: &str) -> Scanned {
        self.skip_blanks();
        if self.peek()? == wanted { self.step() } else { self.refuse(place) }
    }

    fn step(&mut self) -> Scanned {
        self.at += 1;
        Ok(())
    }

    fn peek(&self) -> Result<u8, String> {
        self.bytes.get(self.at).copied().ok_or_else(|| "unexpected end of JSON input".to_owned())
    }

    fn refuse(&self, place: &str) -> Scanned {
        Err(format!("invalid character {} {place}", quoted(self.bytes[self.at])))
    }
}

/// A byte as Go quotes it.
fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b' '..=b'~' => format!("'{}'", char::from(byte)),
        0xa1.. if byte != 0xad => format!("'{}'", char::from(byte)),
        ..0x80 => format!("'\\x{byte:02x}'"),
        _ => format!("'\\u{byte:04x}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_refused_in_gos_words() {
        let rows = [
            ("", "unexpected end of JSON input"),
            ("{\"a\":", "unexpected end of JSON input"),
            ("{broken", "invalid character 'b' looking for beginning of object key string"),
            ("not", "invalid character 'o' in literal null (expecting 'u')"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} x", "invalid character 'x' after top-level value"),
            ("\"\\q\"", "invalid character 'q' in string escape code"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("\u{9e}", "invalid character 'Â' looking for beginning of value"),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text.as_bytes()).unwrap_err(), expected, "{text}");
        }
        assert_eq!(parse(&[0x9e]).unwrap_err(), "invalid character '\\u009e' looking for beginning of value");
        assert_eq!(duplicates(br#"{"a":1,"b":[{"c":1,"c":2}],"a":{}}"#), ["b[0].c", "a"]);
        assert!(parse(b" {\"a\":[1.5e3,true,null,\"\\u0041\"]} ").is_ok());
    }
}
