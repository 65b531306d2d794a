//! The steps of a path, and following them. `condition` reads the conditions that select elements of a list.

mod condition;

use std::ops::ControlFlow;

use super::document::{Document, JsonType, Node};
use crate::metadata::convert::{ConversionError, Converted};
use condition::Condition;

/// A path of this many characters and steps reads a document often enough; more would only cost time.
const LENGTH_MAX: usize = 512;
const STEPS_MAX: usize = 32;

/// Comparing names with a wildcard costs time for each of its characters.
const WILDCARD_LENGTH_MAX: usize = 64;

/// GJSON's modifiers. Other words after an `@` are names.
const MODIFIERS: &[&str] =
    &["dig", "flatten", "fromstr", "group", "join", "keys", "pretty", "reverse", "tostr", "ugly", "valid", "values"];

/// The path between two pipes. Each part starts at the result of the one before.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path(Vec<Vec<Step>>);

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Named(Pattern),
    /// `#`: how many, or, if more follows, each of them.
    All,
    /// `#(…)`: the first that fits.
    First(Condition),
    /// `#(…)#`: all that fit.
    Every(Condition),
}

/// A name, perhaps with wildcards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(Vec<Sign>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    This(char),
    /// `?`
    AnyOne,
    /// `*`
    Any,
}

impl Path {
    pub(super) fn follow<'a>(&self, from: Node<'a>) -> Option<Node<'a>> {
        self.0.iter().try_fold(from, |at, part| follow(at, part))
    }

    /// How many steps there are, with those of the conditions.
    fn length(&self) -> usize {
        let of_step = |step: &Step| match step {
            Step::First(condition) | Step::Every(condition) => 1 + condition.path.length(),
            Step::Named(_) | Step::All => 1,
        };
        self.0.iter().flatten().map(of_step).sum()
    }
}

fn follow<'a>(at: Node<'a>, steps: &[Step]) -> Option<Node<'a>> {
    let Some((step, rest)) = steps.split_first() else { return Some(at) };
    match step {
        Step::Named(name) => follow(named(&at, name)?, rest),
        Step::First(condition) => {
            let mut found = None;
            each(&at, |element| match condition.holds(&element) {
                true => {
                    found = Some(element);
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            })?;
            follow(found?, rest)
        }
        Step::All if rest.is_empty() => {
            let mut count = 0;
            each(&at, |_| {
                count += 1;
                ControlFlow::Continue(())
            })?;
            Some(Node::Count(count))
        }
        Step::All | Step::Every(_) => {
            let mut found = Vec::new();
            each(&at, |element| {
                let fits = !matches!(step, Step::Every(condition) if !condition.holds(&element));
                found.extend(fits.then(|| follow(element, rest)).flatten());
                ControlFlow::Continue(())
            })?;
            Some(Node::Many(found))
        }
    }
}

/// The value of a name in an object, or at an index in a list.
fn named<'a>(at: &Node<'a>, name: &Pattern) -> Option<Node<'a>> {
    match at {
        Node::One(value) if value.json_type() == JsonType::Object => value.get(|key| name.fits(key)).map(Node::One),
        _ => {
            let (mut left, mut found) = (name.index()?, None);
            each(at, |element| {
                if left == 0 {
                    found = Some(element);
                    return ControlFlow::Break(());
                }
                left -= 1;
                ControlFlow::Continue(())
            })?;
            found
        }
    }
}

/// Shows each element of a list; nothing if it is none.
fn each<'a>(list: &Node<'a>, mut show: impl FnMut(Node<'a>) -> ControlFlow<()>) -> Option<()> {
    match list {
        Node::One(value) if value.json_type() == JsonType::Array => {
            value.each(|element: Document<'a>| show(Node::One(element)))
        }
        Node::Many(nodes) => {
            let _ = nodes.iter().try_for_each(|node| show(node.clone()));
        }
        Node::One(_) | Node::Count(_) => return None,
    }
    Some(())
}

impl Pattern {
    /// Whether a text is one that is meant. A star takes as little as it can, and more where the rest does not fit.
    pub(super) fn fits(&self, text: &str) -> bool {
        let signs = &self.0;
        let (mut at, mut rest) = (0, text.chars());
        let mut star: Option<(usize, std::str::Chars<'_>)> = None;
        loop {
            let before = rest.clone();
            match (signs.get(at), rest.next()) {
                (Some(Sign::Any), _) => {
                    (star, rest) = (Some((at + 1, before.clone())), before);
                    at += 1;
                    if at == signs.len() {
                        return true;
                    }
                }
                (Some(Sign::AnyOne), Some(_)) => at += 1,
                (Some(Sign::This(wanted)), Some(c)) if *wanted == c => at += 1,
                (None, None) => return true,
                _ => {
                    let Some((after, taken)) = &mut star else { return false };
                    if taken.next().is_none() {
                        return false;
                    }
                    (at, rest) = (*after, taken.clone());
                }
            }
        }
    }

    fn index(&self) -> Option<usize> {
        let digit = |sign: &Sign| match sign {
            Sign::This(c) if c.is_ascii_digit() => Some(*c),
            _ => None,
        };
        self.0.iter().map(digit).collect::<Option<String>>()?.parse().ok()
    }

    /// Reads a text in which `*` and `?` are wildcards and `\` takes the meaning from what follows.
    pub(super) fn parse(text: &str) -> Converted<Self> {
        let mut signs = Vec::new();
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            signs.push(match c {
                '\\' => Sign::This(
                    rest.next().ok_or_else(|| error("ends with `\\`, which takes the meaning from nothing"))?,
                ),
                '*' => Sign::Any,
                '?' => Sign::AnyOne,
                c => Sign::This(c),
            });
        }
        let has_wildcard = signs.iter().any(|sign| !matches!(sign, Sign::This(_)));
        if has_wildcard && signs.len() > WILDCARD_LENGTH_MAX {
            return Err(error(format!("has a name with wildcards of more than {WILDCARD_LENGTH_MAX} characters")));
        }
        Ok(Self(signs))
    }
}

fn error(problem: impl Into<String>) -> ConversionError {
    ConversionError::new(
        problem,
        "write the way to the number, as in queue.depth, list.0.size or jobs.#(state==\"waiting\")#|#",
    )
}

pub(super) fn parse(text: &str) -> Converted<Path> {
    if text.chars().count() > LENGTH_MAX {
        return Err(error(format!("has more than {LENGTH_MAX} characters")));
    }
    let path = parse_parts(text)?;
    match path.length() > STEPS_MAX {
        true => Err(error(format!("has more than {STEPS_MAX} steps"))),
        false => Ok(path),
    }
}

fn parse_parts(text: &str) -> Converted<Path> {
    if text.starts_with("..") {
        return Err(error("begins with `..` for JSON lines, which are not read"));
    }
    let (mut parts, mut part) = (Vec::new(), Vec::new());
    let mut rest = Some(text);
    while let Some(text) = rest {
        let (word, separator, after) = split(text)?;
        match word {
            // A modifier applies to all that was found, as after a pipe.
            "@this" => parts.push(std::mem::take(&mut part)),
            word => part.push(parse_step(word)?),
        }
        if separator == Some('|') {
            parts.push(std::mem::take(&mut part));
        }
        rest = after;
    }
    parts.push(part);
    Ok(Path(parts))
}

/// The first step, what ends it, and what follows.
fn split(text: &str) -> Converted<(&str, Option<char>, Option<&str>)> {
    let end = match text.starts_with("#(") || text.starts_with("#[") {
        true => condition::end(text)?,
        false => end_of_name(text),
    };
    let (word, rest) = text.split_at(end);
    match rest.chars().next() {
        None => Ok((word, None, None)),
        Some(separator @ ('.' | '|')) => Ok((word, Some(separator), Some(&rest[1..]))),
        Some(_) => Err(error("has something behind a query that is neither `#`, `.` nor `|`")),
    }
}

fn end_of_name(text: &str) -> usize {
    let mut escaped = false;
    let ends = |c: char| {
        let ends = !escaped && (c == '.' || c == '|');
        escaped = !escaped && c == '\\';
        ends
    };
    text.find(ends).unwrap_or(text.len())
}

fn parse_step(word: &str) -> Converted<Step> {
    if word == "#" {
        return Ok(Step::All);
    }
    if word.starts_with("#(") || word.starts_with("#[") {
        return match word.strip_suffix('#') {
            Some(word) => condition::parse(word).map(Step::Every),
            None => condition::parse(word).map(Step::First),
        };
    }
    if let Some(modifier) = word.strip_prefix('@') {
        let name = modifier.split(':').next().unwrap_or_default();
        if MODIFIERS.contains(&name) {
            return Err(error(format!("has the modifier @{name}, which is not supported; only @this is")));
        }
    }
    if word.starts_with(['[', '{', '!']) {
        return Err(error(
            "makes a new document with `[`, `{` or `!`, which is not supported; for such a name write `\\` before it",
        ));
    }
    Pattern::parse(word).map(Step::Named)
}
