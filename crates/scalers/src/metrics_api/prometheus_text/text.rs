//! Lines of Prometheus text, and selectors: both are a name, labels in braces, and what follows.

/// Names with their values, in the order of the line.
pub(super) type Labels = Vec<(String, String)>;

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line<'a> {
    /// A comment, help, or a blank.
    Nothing,
    Type {
        name: String,
        kind: &'a str,
    },
    Sample {
        name: String,
        labels: Labels,
        value: f64,
    },
}

/// The content of a line, if it is valid.
pub(super) fn parse_line(line: &str) -> Option<Line<'_>> {
    let line = line.trim_matches([' ', '\t', '\r']);
    match line.strip_prefix('#') {
        _ if line.is_empty() => Some(Line::Nothing),
        Some(comment) => parse_comment(comment),
        None => parse_sample(line),
    }
}

fn parse_comment(comment: &str) -> Option<Line<'_>> {
    let mut words = comment.split_ascii_whitespace();
    if words.next() != Some("TYPE") {
        return Some(Line::Nothing);
    }
    let (name, kind) = (words.next()?, words.next()?);
    let name = match name.starts_with('"') {
        true => Cursor(name).quoted(Escapes::OfText)?,
        false => name.to_owned(),
    };
    words.next().is_none().then_some(Line::Type { name, kind })
}

fn parse_sample(line: &str) -> Option<Line<'_>> {
    let mut cursor = Cursor(line);
    let (name, labels) = cursor.series(Escapes::OfText, &["="])?;
    let mut words = cursor.0.split_ascii_whitespace();
    let value = words.next().and_then(parse_value)?;
    let is_time = |word: &str| word.parse::<i64>().is_ok();
    let rest_is_in_order = words.next().is_none_or(is_time) && words.next().is_none();
    rest_is_in_order.then_some(Line::Sample { name: name?, labels, value })
}

/// A number, `NaN`, `+Inf` or `-Inf`.
fn parse_value(word: &str) -> Option<f64> {
    word.parse().ok()
}

/// The name, if there is one, and the labels of a selector. All of its operators are taken.
pub(super) fn parse_selector(text: &str) -> Option<(Option<String>, Labels)> {
    let mut cursor = Cursor(text);
    let (name, mut labels) = cursor.series(Escapes::OfQueries, &["=~", "!~", "!=", "="])?;
    cursor.skip_blanks();
    if !cursor.0.is_empty() {
        return None;
    }
    let by_label = labels.iter().rposition(|(label, _)| label == "__name__").map(|at| labels.remove(at).1);
    Some((by_label.or(name), labels))
}

/// Which escapes and which quotes a quoted text may have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// Double quotes; `\\`, `\"` and `\n`.
    OfText,
    /// Any quotes; between backquotes, nothing is escaped.
    OfQueries,
}

/// A text of which the beginning is taken away bit by bit.
struct Cursor<'a>(&'a str);

impl<'a> Cursor<'a> {
    fn skip_blanks(&mut self) {
        self.0 = self.0.trim_start_matches([' ', '\t']);
    }

    fn take(&mut self, prefix: &str) -> bool {
        self.skip_blanks();
        match self.0.strip_prefix(prefix) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    /// Letters, digits, `_` and `:`, not beginning with a digit; nothing if there are none.
    fn name(&mut self) -> &'a str {
        self.skip_blanks();
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let end = self.0.find(|c| !inside(c)).unwrap_or(self.0.len());
        let end = if self.0.starts_with(|c: char| c.is_ascii_digit()) { 0 } else { end };
        let (name, rest) = self.0.split_at(end);
        self.0 = rest;
        name
    }

    /// A name and labels in braces. The name may also be the first in the braces, in quotes.
    fn series(&mut self, escapes: Escapes, operators: &[&str]) -> Option<(Option<String>, Labels)> {
        let mut name = Some(self.name().to_owned()).filter(|name| !name.is_empty());
        let mut labels = Labels::new();
        if !self.take("{") {
            return Some((name, labels));
        }
        while !self.take("}") {
            let label = match self.name() {
                "" => self.quoted(escapes)?,
                label => label.to_owned(),
            };
            if operators.iter().any(|operator| self.take(operator)) {
                self.skip_blanks();
                labels.push((label, self.quoted(escapes)?));
            } else if name.is_none() {
                name = Some(label);
            } else {
                return None;
            }
            if !self.take(",") {
                return self.take("}").then_some((name, labels));
            }
        }
        Some((name, labels))
    }

    fn quoted(&mut self, escapes: Escapes) -> Option<String> {
        let quote = self.0.chars().next().filter(|quote| match escapes {
            Escapes::OfText => *quote == '"',
            Escapes::OfQueries => "\"'`".contains(*quote),
        })?;
        let mut text = String::new();
        let mut rest = self.0[1..].chars();
        loop {
            match rest.next()? {
                c if c == quote => break,
                '\\' if quote != '`' => text.push(unescape(rest.next()?, escapes)?),
                c => text.push(c),
            }
        }
        self.0 = rest.as_str();
        Some(text)
    }
}

fn unescape(c: char, escapes: Escapes) -> Option<char> {
    match c {
        '\\' | '"' => Some(c),
        'n' => Some('\n'),
        '\'' if escapes == Escapes::OfQueries => Some(c),
        't' if escapes == Escapes::OfQueries => Some('\t'),
        'r' if escapes == Escapes::OfQueries => Some('\r'),
        _ => None,
    }
}
