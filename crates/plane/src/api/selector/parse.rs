//! The text of a label selector, read as the API server reads it: into tokens first, and these into requirements. Its
//! messages about unexpected tokens are kept, odd as some are.

use std::collections::BTreeSet;

use kedge_schema::names;

use super::label::{Operator, Requirement};

/// The requirements of a text, in its order.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let tokens = tokens(text);
    let mut reader = Reader { tokens: &tokens, position: 0 };
    let mut requirements = Vec::new();
    loop {
        let next = reader.peek();
        if next.is_end() {
            return Ok(requirements);
        }
        if !next.begins_requirement() {
            return Err(format!("found '{}', expected: !, identifier, or 'end of string'", next.literal));
        }
        let requirement = reader.requirement().map_err(|problem| format!("unable to parse requirement: {problem}"))?;
        requirements.push(requirement);
        reader.separator()?;
    }
}

/// A word, or a sign. The end is an empty word that no text has.
#[derive(Clone, Debug)]
struct Token {
    kind: Kind,
    literal: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Sign,
    End,
}

impl Token {
    fn is_end(&self) -> bool {
        self.kind == Kind::End
    }

    fn is_sign(&self, sign: &str) -> bool {
        self.kind == Kind::Sign && self.literal == sign
    }

    fn is_word(&self) -> bool {
        self.kind == Kind::Word
    }

    fn begins_requirement(&self) -> bool {
        self.is_word() || self.is_sign("!")
    }
}

fn tokens(text: &str) -> Vec<Token> {
    // A NUL ends a text.
    let mut rest = text.split('\0').next().unwrap_or_default();
    let mut tokens = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            tokens.push(Token { kind: Kind::End, literal: String::new() });
            return tokens;
        }
        let is_sign = |c: char| "=!(),><".contains(c);
        let (token, length) = if rest.starts_with(is_sign) {
            // Two of them may make one, and each is one by itself.
            let length = if ["==", "!="].iter().any(|sign| rest.starts_with(sign)) { 2 } else { 1 };
            (Token { kind: Kind::Sign, literal: rest[..length].to_owned() }, length)
        } else {
            let end = rest.find(|c: char| is_sign(c) || " \t\r\n".contains(c)).unwrap_or(rest.len());
            (Token { kind: Kind::Word, literal: rest[..end].to_owned() }, end)
        };
        rest = &rest[length..];
        tokens.push(token);
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    position: usize,
}

impl<'a> Reader<'a> {
    /// The next token; the last one, the end, stays.
    fn peek(&self) -> &'a Token {
        &self.tokens[self.position.min(self.tokens.len() - 1)]
    }

    fn take(&mut self) -> &'a Token {
        let token = self.peek();
        self.position += 1;
        token
    }

    /// The separator between two requirements, or the end.
    fn separator(&mut self) -> Result<(), String> {
        let token = self.take();
        let next = self.peek();
        if token.is_end() {
            Ok(())
        } else if !token.is_sign(",") {
            Err(format!("found '{}', expected: ',' or 'end of string'", token.literal))
        } else if !next.begins_requirement() {
            Err(format!("found '{}', expected: identifier after ','", next.literal))
        } else {
            Ok(())
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = self.peek().is_sign("!");
        if negated {
            self.take();
        }
        let key = self.take();
        if !key.is_word() {
            return Err(format!("found '{}', expected: identifier", key.literal));
        }
        let key = key.literal.as_str();
        let errors = names::qualified_name(key);
        if !errors.is_empty() {
            return Err(format!("<nil>: Invalid value: {key:?}: {}", errors.join("; ")));
        }
        if negated {
            return Requirement::new(key, Operator::DoesNotExist, Vec::new());
        }
        if self.peek().is_end() || self.peek().is_sign(",") {
            return Requirement::new(key, Operator::Exists, Vec::new());
        }
        let operator = self.operator()?;
        let values = match operator {
            Operator::In | Operator::NotIn => self.values()?,
            _ => BTreeSet::from([self.exact_value()?]),
        };
        Requirement::new(key, operator, values.into_iter().collect())
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let token = self.take();
        let operator = match (token.kind, token.literal.as_str()) {
            (Kind::Word, "in") => Operator::In,
            (Kind::Word, "notin") => Operator::NotIn,
            (Kind::Sign, "=") => Operator::Equals,
            (Kind::Sign, "==") => Operator::DoubleEquals,
            (Kind::Sign, "!=") => Operator::NotEquals,
            (Kind::Sign, ">") => Operator::GreaterThan,
            (Kind::Sign, "<") => Operator::LessThan,
            (_, other) => return Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        };
        Ok(operator)
    }

    fn exact_value(&mut self) -> Result<String, String> {
        if self.peek().is_end() || self.peek().is_sign(",") {
            return Ok(String::new());
        }
        let token = self.take();
        if !token.is_word() {
            return Err(format!("found '{}', expected: identifier", token.literal));
        }
        Ok(token.literal.clone())
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        let open = self.take();
        if !open.is_sign("(") {
            return Err(format!("found '{}' expected: '('", open.literal));
        }
        let first = self.peek();
        if first.is_word() || first.is_sign(",") {
            self.list_of_values()
        } else if first.is_sign(")") {
            self.take();
            Ok(BTreeSet::from([String::new()]))
        } else {
            Err(format!("found '{}', expected: ',', ')' or identifier", first.literal))
        }
    }

    /// Up to and with the closing parenthesis; between two commas is an empty value.
    fn list_of_values(&mut self) -> Result<BTreeSet<String>, String> {
        let mut values = BTreeSet::new();
        loop {
            let token = self.take();
            let next = self.peek();
            if token.is_word() {
                values.insert(token.literal.clone());
                if !next.is_sign(",") && !next.is_sign(")") {
                    return Err(format!("found '{}', expected: ',' or ')'", next.literal));
                }
            } else if token.is_sign(",") {
                if values.is_empty() || next.is_sign(")") || next.is_sign(",") {
                    values.insert(String::new());
                }
            } else {
                return Err(format!("found '{}', expected: ',', or identifier", token.literal));
            }
            if next.is_sign(")") {
                self.take();
                return Ok(values);
            }
        }
    }
}
