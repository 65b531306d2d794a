//! Operands: numbers, texts, arrays, and the names of triggers and `let`s.

use super::super::error::FormulaFault;
use super::super::lexer::{KEYWORDS, Placed, Token};
use super::super::tree::{Function, Node, NodeKind};
use super::Parser;

impl<'t> Parser<'t> {
    pub(super) fn atom(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        let kind = match self.peek().clone() {
            Token::Int(number) => NodeKind::Int(number),
            Token::Float(number) => NodeKind::Float(number),
            Token::Text(text) => NodeKind::Text(text.into()),
            Token::Word("true") => NodeKind::Bool(true),
            Token::Word("false") => NodeKind::Bool(false),
            Token::Word("nil") => NodeKind::Nil,
            Token::Word("$env") => return self.environment(),
            Token::Word(word) if !KEYWORDS.contains(&word) => return self.name(word),
            Token::Symbol("[") => return self.array(),
            Token::Symbol("#") if !self.closures.is_empty() => return self.pointer(),
            Token::Symbol("::") => {
                self.advance();
                return self.function();
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Node::new(kind, at)
    }

    fn array(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        self.advance();
        let mut nodes = Vec::new();
        while !self.is("]") {
            nodes.push(self.expression(0)?);
            if !self.accept(",") {
                break;
            }
        }
        self.expect("]")?;
        Node::new(NodeKind::Array(nodes), at)
    }

    /// A `let`, a trigger, or a call of a function.
    fn name(&mut self, word: &'t str) -> Result<Node, FormulaFault> {
        let at = self.at();
        let called = matches!(self.tokens.get(self.next + 1), Some(Placed { token: Token::Symbol("("), .. }));
        let local = self.lets.iter().position(|name| *name == word);
        let trigger = self.names.iter().position(|name| *name == word);
        if called && (local.is_some() || trigger.is_some()) {
            let problem =
                format!("`{word}` is a value here and cannot be called; for the function write `::{word}(…)`");
            return Err(FormulaFault::new(at, problem));
        }
        if called {
            return self.function();
        }
        self.advance();
        match (local, trigger) {
            (Some(local), _) => Node::new(NodeKind::Local(local), at),
            (None, Some(trigger)) => {
                self.mentioned.insert(trigger);
                Node::new(NodeKind::Trigger(trigger), at)
            }
            (None, None) => Err(self.unknown(word, at)),
        }
    }

    /// `$env["name"]`, for names that are no words of the language; and `$env.name`.
    fn environment(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        self.advance();
        self.accept("?.");
        let bracketed = self.accept("[");
        if !bracketed {
            self.accept(".");
        }
        let name = match self.peek() {
            Token::Text(name) if bracketed => name.clone(),
            Token::Word(name) if !bracketed => (*name).to_owned(),
            _ => return Err(FormulaFault::new(at, "`$env` needs the name of a trigger, as in `$env[\"my-queue\"]`")),
        };
        let name_at = self.at();
        self.advance();
        if bracketed {
            self.expect("]")?;
        }
        let Some(trigger) = self.names.iter().position(|known| **known == name) else {
            return Err(self.unknown(&name, name_at));
        };
        self.mentioned.insert(trigger);
        Node::new(NodeKind::Trigger(trigger), at)
    }

    fn unknown(&self, word: &str, at: usize) -> FormulaFault {
        if Function::named(word).is_some() {
            return FormulaFault::new(at, format!("`{word}` is a function; give it its arguments in parentheses"));
        }
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let remedy = match (names.is_empty(), self.names.iter().any(|name| name.starts_with(&format!("{word}-")))) {
            (true, _) => {
                "no trigger has a `name` (those of cpu and memory do not count); give one to each that it needs"
                    .to_owned()
            }
            (false, true) => {
                format!("write a name with a dash as `$env[\"…\"]`; the named triggers are {}", names.join(", "))
            }
            (false, false) => format!("the named triggers are {} (cpu and memory do not count)", names.join(", ")),
        };
        FormulaFault::new(at, format!("unknown name `{word}`; {remedy}"))
    }
}
