//! Text to tokens. Nothing of it recurses, and the text has a longest length.

use super::TEXT_MAX_BYTES;
use super::error::FormulaFault;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'t> {
    Int(i64),
    Float(f64),
    Text(String),
    /// A name or a keyword.
    Word(&'t str),
    Symbol(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Placed<'t> {
    pub(super) token: Token<'t>,
    /// The byte at which it begins.
    pub(super) at: usize,
}

/// Words that are always operators.
pub(super) const KEYWORDS: [&str; 11] =
    ["not", "in", "or", "and", "matches", "contains", "startsWith", "endsWith", "let", "if", "else"];

/// Longer ones first.
const SYMBOLS: [&str; 34] = [
    "**", "&&", "||", "??", "?.", "==", "!=", "<=", ">=", "..", "::", "+", "-", "*", "/", "%", "^", "<", ">", "!", "=",
    "|", "?", ":", ";", ",", ".", "#", "(", ")", "[", "]", "{", "}",
];

impl Token<'_> {
    /// As a user would recognise it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Int(number) => format!("`{number}`"),
            Self::Float(number) => format!("`{number}`"),
            Self::Text(text) => format!("the text `{text}`"),
            Self::Word(word) => format!("`{word}`"),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end of the formula".to_owned(),
        }
    }
}

/// All tokens, the last of which is [`Token::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Placed<'_>>, FormulaFault> {
    if text.len() > TEXT_MAX_BYTES {
        let problem = format!("is {} bytes long, and {TEXT_MAX_BYTES} are allowed; shorten it", text.len());
        return Err(FormulaFault::new(0, problem));
    }
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let at = lexer.at;
        let token = lexer.token()?;
        let ended = token == Token::End;
        tokens.push(Placed { token, at });
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Lexer<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, while_it_is: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c| !while_it_is(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Blanks and comments.
    fn skip_blanks(&mut self) -> Result<(), FormulaFault> {
        loop {
            self.take(char::is_whitespace);
            if self.rest().starts_with("//") {
                self.take(|c| c != '\n');
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let end =
                    comment.find("*/").ok_or_else(|| FormulaFault::new(self.at, "the comment has no end; add `*/`"))?;
                self.at += end + 4;
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token<'t>, FormulaFault> {
        let Some(first) = self.peek() else { return Ok(Token::End) };
        let second = self.rest().chars().nth(1);
        if first.is_ascii_digit() || first == '.' && second.is_some_and(|c| c.is_ascii_digit()) {
            return self.number();
        }
        if is_of_word(first) {
            return Ok(Token::Word(self.take(is_of_word)));
        }
        if matches!(first, '\'' | '"' | '`') {
            return self.quoted(first);
        }
        let Some(symbol) = SYMBOLS.into_iter().find(|symbol| self.rest().starts_with(symbol)) else {
            return Err(FormulaFault::new(self.at, format!("`{first}` means nothing here; remove it")));
        };
        self.at += symbol.len();
        Ok(Token::Symbol(symbol))
    }

    fn number(&mut self) -> Result<Token<'t>, FormulaFault> {
        let at = self.at;
        let end = self.number_end();
        let spelling = &self.text[at..end];
        self.at = end;
        let bad = || FormulaFault::new(at, format!("`{spelling}` is not a number"));
        if self.peek().is_some_and(is_of_word) {
            return Err(bad());
        }
        let digits = spelling.replace('_', "").to_ascii_lowercase();
        for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
            if let Some(digits) = digits.strip_prefix(prefix) {
                return i64::from_str_radix(digits, radix).map(Token::Int).map_err(|_| bad());
            }
        }
        if digits.contains(['.', 'e']) {
            let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
            return number.map(Token::Float).ok_or_else(bad);
        }
        let too_large =
            || FormulaFault::new(at, format!("`{spelling}` is too large for a whole number; write `{spelling}.0`"));
        digits.parse().map(Token::Int).map_err(|_| too_large())
    }

    /// Where the number that begins here ends.
    fn number_end(&self) -> usize {
        let bytes = self.text.as_bytes();
        let byte = |at: usize| bytes.get(at).copied().unwrap_or(0).to_ascii_lowercase();
        let run = |mut at: usize, digit: fn(u8) -> bool| {
            while digit(byte(at)) || byte(at) == b'_' {
                at += 1;
            }
            at
        };
        if byte(self.at) == b'0' && matches!(byte(self.at + 1), b'x' | b'o' | b'b') {
            return run(self.at + 2, |c| c.is_ascii_hexdigit());
        }
        let decimal: fn(u8) -> bool = |c| c.is_ascii_digit();
        let mut end = run(self.at, decimal);
        // `1..3` is a range, not the number `1.`
        if byte(end) == b'.' && byte(end + 1) != b'.' {
            end = run(end + 1, decimal);
        }
        if byte(end) == b'e' {
            end += 1;
            end += usize::from(matches!(byte(end), b'+' | b'-'));
            end = run(end, decimal);
        }
        end
    }

    fn quoted(&mut self, quote: char) -> Result<Token<'t>, FormulaFault> {
        let at = self.at;
        let mut content = String::new();
        let mut chars = self.rest().char_indices().skip(1);
        while let Some((offset, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.at += offset + 1;
                    return Ok(Token::Text(content));
                }
                '\\' if quote != '`' => match chars.next() {
                    Some((_, escaped @ ('\\' | '\'' | '"'))) => content.push(escaped),
                    _ => return Err(FormulaFault::new(at + offset, "only `\\\\`, `\\'` and `\\\"` can be escaped")),
                },
                _ => content.push(c),
            }
        }
        Err(FormulaFault::new(at, format!("the text has no end; add `{quote}`")))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}
