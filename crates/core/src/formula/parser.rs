//! Tokens to a tree: precedence climbing, by the rules of expr 1.17, which KEDA uses. Names are resolved while parsing, in every
//! branch, taken or not. `atoms` holds numbers and names, `calls` functions and what they do with each element.

mod atoms;
mod calls;

use std::collections::BTreeSet;

use super::NESTING_MAX;
use super::error::FormulaFault;
use super::lexer::{KEYWORDS, Placed, Token, tokens};
use super::tree::{Binary, Function, Node, NodeKind, Order, Step, Unary, too_deep};

/// A formula, read.
#[derive(Clone, Debug)]
pub(super) struct Parsed {
    pub(super) root: Node,
    /// The triggers it mentions, by their place among the names.
    pub(super) mentioned: BTreeSet<usize>,
}

pub(super) fn parse(text: &str, names: &[&str]) -> Result<Parsed, FormulaFault> {
    let tokens = tokens(text)?;
    let mut parser =
        Parser { tokens, next: 0, names, mentioned: BTreeSet::new(), lets: Vec::new(), closures: Vec::new(), depth: 0 };
    let root = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(Parsed { root, mentioned: parser.mentioned }),
        Token::Symbol(";") => Err(FormulaFault::new(parser.at(), "`;` ends a `let`, and nothing else; remove it")),
        _ => Err(parser.unexpected()),
    }
}

struct Parser<'t> {
    tokens: Vec<Placed<'t>>,
    next: usize,
    names: &'t [&'t str],
    mentioned: BTreeSet<usize>,
    /// The names bound by enclosing `let`s.
    lets: Vec<&'t str>,
    /// The functions in whose `{ … }` we are.
    closures: Vec<Function>,
    depth: usize,
}

/// An operator between two operands.
enum Infix {
    Binary(Binary),
    Order(Order),
    Pipe,
}

/// `-`, `+`: tighter than a product, looser than a power. `not`, `!`: tighter than a comparison or a sum, looser than a product.
const SIGN: u16 = 90;
const NOT: u16 = 50;

impl<'t> Parser<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.next].token
    }

    fn at(&self) -> usize {
        self.tokens[self.next].at
    }

    fn is(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    /// The last token stays, however often it is taken.
    fn advance(&mut self) {
        self.next = (self.next + 1).min(self.tokens.len() - 1);
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), FormulaFault> {
        let found = self.peek().shown();
        let at = self.at();
        if self.accept(symbol) {
            Ok(())
        } else {
            Err(FormulaFault::new(at, format!("expected `{symbol}`, found {found}")))
        }
    }

    fn unexpected(&self) -> FormulaFault {
        let problem = match self.peek() {
            Token::Symbol("..") => "ranges (`..`) are not available; write the array out".to_owned(),
            Token::Symbol("." | "?.") => "numbers have no fields; remove what begins with the dot".to_owned(),
            Token::Symbol("{") => "maps are not available; use an array".to_owned(),
            Token::Symbol("#") => "`#` has a meaning only inside the `{ … }` of a function such as `filter`".to_owned(),
            Token::Word(word @ ("matches" | "contains" | "startsWith" | "endsWith")) => {
                format!("`{word}` is about text, and values are numbers; remove it")
            }
            token => format!("did not expect {} here", token.shown()),
        };
        FormulaFault::new(self.at(), problem)
    }

    /// An expression whose operators bind at least this tightly.
    fn expression(&mut self, precedence: u16) -> Result<Node, FormulaFault> {
        if self.depth == NESTING_MAX {
            return Err(too_deep(self.at()));
        }
        self.depth += 1;
        let node = match self.peek() {
            Token::Word("let") if precedence == 0 => self.let_expression(),
            Token::Word("if") if precedence == 0 => self.if_expression(),
            _ => self.operators(precedence),
        };
        self.depth -= 1;
        node
    }

    fn let_expression(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        self.advance();
        let name_at = self.at();
        let name = match *self.peek() {
            Token::Word(word) if !is_reserved(word) => word,
            _ => return Err(self.unexpected()),
        };
        if let Some(taken) = self.taken(name) {
            return Err(FormulaFault::new(name_at, format!("`{name}` is already the name of {taken}; choose another")));
        }
        self.advance();
        self.expect("=")?;
        let value = self.expression(0)?;
        self.expect(";")?;
        self.lets.push(name);
        let body = self.expression(0)?;
        self.lets.pop();
        Node::new(NodeKind::Let(Box::new([value, body])), at)
    }

    /// What a name means already.
    fn taken(&self, name: &str) -> Option<&'static str> {
        if self.names.contains(&name) {
            Some("a trigger")
        } else if Function::named(name).is_some() {
            Some("a function")
        } else {
            self.lets.contains(&name).then_some("another `let`")
        }
    }

    fn if_expression(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        self.advance();
        let condition = self.expression(0)?;
        let yes = self.block()?;
        if *self.peek() != Token::Word("else") {
            return Err(FormulaFault::new(self.at(), "expected `else`: a formula always needs a value"));
        }
        self.advance();
        let no = if *self.peek() == Token::Word("if") { self.expression(0)? } else { self.block()? };
        Node::new(NodeKind::If(Box::new([condition, yes, no])), at)
    }

    fn block(&mut self) -> Result<Node, FormulaFault> {
        self.expect("{")?;
        let node = self.expression(0)?;
        self.expect("}")?;
        Ok(node)
    }

    /// Operands and the operators between them, from the left, then a ternary.
    fn operators(&mut self, precedence: u16) -> Result<Node, FormulaFault> {
        let mut left = self.operand()?;
        let mut steps: Vec<Step> = Vec::new();
        let mut coalesced = false;
        while let Some((infix, tightness, words)) = self.infix().filter(|(_, tightness, _)| *tightness >= precedence) {
            let at = self.at();
            let coalesces = matches!(infix, Infix::Binary(Binary::Coalesce));
            if coalesced && !coalesces && !matches!(infix, Infix::Pipe) {
                let problem =
                    format!("{} after `??` could mean two things; put one of them in parentheses", self.peek().shown());
                return Err(FormulaFault::new(at, problem));
            }
            coalesced = coalesces;
            (0..words).for_each(|_| self.advance());
            match infix {
                Infix::Binary(op) => {
                    // A power groups to the right, all others to the left.
                    let tightness = if op == Binary::Power { tightness } else { tightness + 1 };
                    steps.push(Step { op, at, right: self.expression(tightness)? });
                }
                Infix::Order(order) => {
                    let first = chain(left, std::mem::take(&mut steps))?;
                    left = self.comparison(first, order, tightness, at)?;
                }
                Infix::Pipe => {
                    let first = chain(left, std::mem::take(&mut steps))?;
                    left = self.piped(first)?;
                }
            }
        }
        let node = chain(left, steps)?;
        if precedence == 0 { self.ternary(node) } else { Ok(node) }
    }

    /// The operator that comes next, how tightly it binds, and of how many words it is made.
    fn infix(&self) -> Option<(Infix, u16, usize)> {
        use Binary::*;
        let found = match self.peek() {
            Token::Symbol("|") => (Infix::Pipe, 0),
            Token::Symbol("||") | Token::Word("or") => (Infix::Binary(Or), 10),
            Token::Symbol("&&") | Token::Word("and") => (Infix::Binary(And), 15),
            Token::Symbol("==") => (Infix::Binary(Equal), 20),
            Token::Symbol("!=") => (Infix::Binary(NotEqual), 20),
            Token::Symbol("<") => (Infix::Order(Order::Less), 20),
            Token::Symbol("<=") => (Infix::Order(Order::LessOrEqual), 20),
            Token::Symbol(">") => (Infix::Order(Order::Greater), 20),
            Token::Symbol(">=") => (Infix::Order(Order::GreaterOrEqual), 20),
            Token::Word("in") => (Infix::Binary(In), 20),
            Token::Word("not") if self.tokens.get(self.next + 1)?.token == Token::Word("in") => {
                return Some((Infix::Binary(NotIn), 20, 2));
            }
            Token::Symbol("+") => (Infix::Binary(Add), 30),
            Token::Symbol("-") => (Infix::Binary(Subtract), 30),
            Token::Symbol("*") => (Infix::Binary(Multiply), 60),
            Token::Symbol("/") => (Infix::Binary(Divide), 60),
            Token::Symbol("%") => (Infix::Binary(Remainder), 60),
            Token::Symbol("**" | "^") => (Infix::Binary(Power), 100),
            Token::Symbol("??") => (Infix::Binary(Coalesce), 500),
            _ => return None,
        };
        Some((found.0, found.1, 1))
    }

    /// `a < b <= c` compares both pairs, as in mathematics.
    fn comparison(&mut self, first: Node, order: Order, tightness: u16, at: usize) -> Result<Node, FormulaFault> {
        let mut rest = vec![(order, self.expression(tightness + 1)?)];
        while let Some((Infix::Order(order), ..)) = self.infix() {
            self.advance();
            rest.push((order, self.expression(tightness + 1)?));
        }
        Node::new(NodeKind::Compare(Box::new(first), rest), at)
    }

    fn ternary(&mut self, condition: Node) -> Result<Node, FormulaFault> {
        let at = self.at();
        if !self.accept("?") {
            return Ok(condition);
        }
        let yes = self.expression(0)?;
        self.expect(":")?;
        let no = self.expression(0)?;
        Node::new(NodeKind::If(Box::new([condition, yes, no])), at)
    }

    fn operand(&mut self) -> Result<Node, FormulaFault> {
        let at = self.at();
        let unary = match self.peek() {
            Token::Symbol("-") => Some((Unary::Minus, SIGN)),
            Token::Symbol("+") => Some((Unary::Plus, SIGN)),
            Token::Symbol("!") | Token::Word("not") => Some((Unary::Not, NOT)),
            _ => None,
        };
        let node = if let Some((unary, tightness)) = unary {
            self.advance();
            let operand = self.expression(tightness)?;
            Node::new(NodeKind::Unary(unary, Box::new(operand)), at)?
        } else if self.accept("(") {
            let inner = self.expression(0)?;
            self.expect(")")?;
            inner
        } else {
            self.atom()?
        };
        self.indexed(node)
    }

    /// `[i]` and `[from:to]`, as often as they come.
    fn indexed(&mut self, mut node: Node) -> Result<Node, FormulaFault> {
        loop {
            let at = self.at();
            if !self.accept("[") {
                return Ok(node);
            }
            let from = if self.is(":") { None } else { Some(self.expression(0)?) };
            if self.accept(":") {
                let to = if self.is("]") { None } else { Some(self.expression(0)?) };
                node = Node::new(NodeKind::Slice(Box::new(node), [from.map(Box::new), to.map(Box::new)]), at)?;
            } else if let Some(index) = from {
                node = Node::new(NodeKind::At(Box::new([node, index])), at)?;
            }
            self.expect("]")?;
        }
    }
}

/// Steps applied to their first operand, if there are any.
fn chain(first: Node, steps: Vec<Step>) -> Result<Node, FormulaFault> {
    match steps.first().map(|step| step.at) {
        None => Ok(first),
        Some(at) => Node::new(NodeKind::Chain(Box::new(first), steps), at),
    }
}

/// Words that cannot be the name of a `let`.
fn is_reserved(word: &str) -> bool {
    KEYWORDS.contains(&word) || matches!(word, "true" | "false" | "nil" | "$env")
}
