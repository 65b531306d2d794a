//! Functions: `max(a, b)`, `[a, b] | filter({# > 1})`, and `#` inside.

use super::super::error::FormulaFault;
use super::super::lexer::{KEYWORDS, Token};
use super::super::tree::{FUNCTIONS, Function, Node, NodeKind};
use super::Parser;

impl Parser<'_> {
    /// `name(…)`, the name being next.
    pub(super) fn function(&mut self) -> Result<Node, FormulaFault> {
        self.call(Vec::new())
    }

    /// `name(…)` after a `|`: the value before it is the first argument.
    pub(super) fn piped(&mut self, first: Node) -> Result<Node, FormulaFault> {
        let node = self.call(vec![first])?;
        self.indexed(node)
    }

    fn call(&mut self, mut arguments: Vec<Node>) -> Result<Node, FormulaFault> {
        let at = self.at();
        let Token::Word(name) = *self.peek() else {
            return Err(FormulaFault::new(
                at,
                format!("expected the name of a function, found {}", self.peek().shown()),
            ));
        };
        let (function, takes) = Function::named(name).ok_or_else(|| unknown_function(name, at))?;
        self.advance();
        self.expect("(")?;
        while !self.is(")") {
            let closure = takes.closure && arguments.len() == 1;
            arguments.push(if closure { self.closure(function)? } else { self.expression(0)? });
            if !self.accept(",") {
                break;
            }
        }
        self.expect(")")?;
        if arguments.len() < takes.least || arguments.len() > takes.most {
            return Err(FormulaFault::new(
                at,
                format!("{}, not {}", wanted(name, takes.least, takes.most), arguments.len()),
            ));
        }
        Node::new(NodeKind::Call(function, arguments), at)
    }

    /// What to do with each element, with or without braces.
    fn closure(&mut self, function: Function) -> Result<Node, FormulaFault> {
        self.closures.push(function);
        let body = if self.is("{") { self.block()? } else { self.expression(0)? };
        self.closures.pop();
        Ok(body)
    }

    /// `#`, `#index`, `#acc`
    pub(super) fn pointer(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        self.advance();
        let name = match *self.peek() {
            Token::Word(word) if !KEYWORDS.contains(&word) => word,
            _ => return Node::new(NodeKind::Item, at),
        };
        let kind = match (name, self.closures.last()) {
            ("index", Some(Function::Map | Function::Reduce)) => NodeKind::Index,
            ("acc", Some(Function::Reduce)) => NodeKind::Accumulator,
            _ => {
                let problem =
                    format!("unknown `#{name}`; there are `#`, `#index` (in map and reduce) and `#acc` (in reduce)");
                return Err(FormulaFault::new(at, problem));
            }
        };
        self.advance();
        Node::new(kind, at)
    }
}

fn unknown_function(name: &str, at: usize) -> FormulaFault {
    let known: Vec<&str> = FUNCTIONS.iter().map(|(name, ..)| *name).collect();
    FormulaFault::new(at, format!("there is no function `{name}`; there are {}", known.join(", ")))
}

fn wanted(name: &str, least: usize, most: usize) -> String {
    match (least, most) {
        (1, 1) => format!("`{name}` takes 1 argument"),
        (least, usize::MAX) => format!("`{name}` takes at least {least} argument"),
        (least, most) if least == most => format!("`{name}` takes {least} arguments"),
        (least, most) => format!("`{name}` takes {least} to {most} arguments"),
    }
}
