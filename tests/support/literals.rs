//! The string literals of Rust source, for tests that hold messages in documents against the code.

use std::iter::Peekable;
use std::str::Chars;

/// The values of all string literals before the unit tests of a file. Escapes are resolved, and a line that ends with `\` continues
/// with the next.
pub fn literals(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut letters = source.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('/', Some('/')) => letters.by_ref().take_while(|letter| *letter != '\n').for_each(drop),
            ('\'', Some(_)) => skip_char(&mut letters),
            ('r', Some('"' | '#')) if !is_word(before) => found.extend(raw(&mut letters)),
            ('"', _) => found.push(plain(&mut letters)),
            _ => {}
        }
        before = letter;
    }
    found
}

/// The fixed parts of a format string: what is left between its placeholders.
pub fn fixed_parts(literal: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = literal.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '{' | '}' if letters.peek() == Some(&letter) => {
                letters.next();
                parts.last_mut().expect("there is always one").push(letter);
            }
            '{' => {
                letters.by_ref().take_while(|letter| *letter != '}').for_each(drop);
                parts.push(String::new());
            }
            letter => parts.last_mut().expect("there is always one").push(letter),
        }
    }
    parts
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Skips a character literal, if it is one that would be taken for the begin of a string. A lifetime has none.
fn skip_char(letters: &mut Peekable<Chars<'_>>) {
    match letters.peek() {
        Some('\\') => {
            letters.next();
            letters.next();
            letters.by_ref().take_while(|letter| *letter != '\'').for_each(drop);
        }
        Some('"') => {
            letters.next();
            letters.next();
        }
        _ => {}
    }
}

fn plain(letters: &mut Peekable<Chars<'_>>) -> String {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('\n') => while letters.next_if(|letter| letter.is_whitespace()).is_some() {},
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => break,
            },
            letter => text.push(letter),
        }
    }
    text
}

/// A raw string, after its `r`; `None` where `r#` begins an identifier.
fn raw(letters: &mut Peekable<Chars<'_>>) -> Option<String> {
    let mut hashes = 0;
    while letters.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    letters.next_if_eq(&'"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let mut text = String::new();
    for letter in letters.by_ref() {
        text.push(letter);
        if text.ends_with(&end) {
            text.truncate(text.len() - end.len());
            break;
        }
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_found_with_their_escapes_resolved() {
        let source = r##"
            // "a comment"
            let quote = '"'; let escaped = '\''; fn f<'a>(x: &'a str) {}
            let plain = "one \"two\" \
                three";
            let raw = r#"a "b""#;
            let identifier = r#type;
            #[cfg(test)]
            let hidden = "not this";
        "##;
        assert_eq!(literals(source), ["one \"two\" three", "a \"b\""]);
    }

    #[test]
    fn a_format_string_is_split_at_its_placeholders() {
        assert_eq!(fixed_parts("a {b:?} c {{d}} {}"), ["a ", " c {d} ", ""]);
    }
}
