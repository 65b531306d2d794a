//! A formula as a tree. Its height is bounded when it is built, so that whatever walks it needs a bounded stack.

use std::sync::Arc;

use super::NESTING_MAX;
use super::error::FormulaFault;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// The byte of the text to point at.
    pub(super) at: usize,
    height: usize,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    /// The value of a trigger, by its place among the names.
    Trigger(usize),
    /// A `let`, by how many others enclose it.
    Local(usize),
    /// `#`, `#index`, `#acc`
    Item,
    Index,
    Accumulator,
    Array(Vec<Node>),
    Unary(Unary, Box<Node>),
    /// `first`, then each step applied to what came before: `a + b - c` is as flat as it is written.
    Chain(Box<Node>, Vec<Step>),
    /// `a < b <= c`: each neighbour with the next.
    Compare(Box<Node>, Vec<(Order, Node)>),
    If(Box<[Node; 3]>),
    /// The value, then what it is used in.
    Let(Box<[Node; 2]>),
    At(Box<[Node; 2]>),
    Slice(Box<Node>, [Option<Box<Node>>; 2]),
    /// Where a function takes `{ … }`, that argument is what it does with each element.
    Call(Function, Vec<Node>),
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) op: Binary,
    pub(super) at: usize,
    pub(super) right: Node,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Not,
    Minus,
    Plus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Or,
    And,
    Equal,
    NotEqual,
    In,
    NotIn,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Coalesce,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Binary {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
            Self::Power => "**",
            Self::Coalesce => "??",
        }
    }
}

impl Order {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    All,
    Any,
    Ceil,
    Concat,
    Count,
    Filter,
    Find,
    FindIndex,
    FindLast,
    FindLastIndex,
    First,
    Flatten,
    Float,
    Floor,
    Int,
    Last,
    Len,
    Map,
    Max,
    Mean,
    Median,
    Min,
    NoneOf,
    One,
    Reduce,
    Reverse,
    Round,
    Sort,
    SortBy,
    Sum,
    Take,
}

/// What a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Takes {
    pub(super) least: usize,
    pub(super) most: usize,
    /// The second argument is done with each element.
    pub(super) closure: bool,
}

const ONE: Takes = Takes { least: 1, most: 1, closure: false };
const MANY: Takes = Takes { least: 1, most: usize::MAX, closure: false };
const EACH: Takes = Takes { least: 2, most: 2, closure: true };

/// The functions there are.
pub(super) const FUNCTIONS: [(&str, Function, Takes); 32] = [
    ("abs", Function::Abs, ONE),
    ("all", Function::All, EACH),
    ("any", Function::Any, EACH),
    ("ceil", Function::Ceil, ONE),
    ("concat", Function::Concat, MANY),
    ("count", Function::Count, Takes { least: 1, most: 2, closure: true }),
    ("filter", Function::Filter, EACH),
    ("find", Function::Find, EACH),
    ("findIndex", Function::FindIndex, EACH),
    ("findLast", Function::FindLast, EACH),
    ("findLastIndex", Function::FindLastIndex, EACH),
    ("first", Function::First, ONE),
    ("flatten", Function::Flatten, ONE),
    ("float", Function::Float, ONE),
    ("floor", Function::Floor, ONE),
    ("int", Function::Int, ONE),
    ("last", Function::Last, ONE),
    ("len", Function::Len, ONE),
    ("map", Function::Map, EACH),
    ("max", Function::Max, MANY),
    ("mean", Function::Mean, MANY),
    ("median", Function::Median, MANY),
    ("min", Function::Min, MANY),
    ("none", Function::NoneOf, EACH),
    ("one", Function::One, EACH),
    ("reduce", Function::Reduce, Takes { least: 2, most: 3, closure: true }),
    ("reverse", Function::Reverse, ONE),
    ("round", Function::Round, ONE),
    ("sort", Function::Sort, Takes { least: 1, most: 2, closure: false }),
    ("sortBy", Function::SortBy, Takes { least: 2, most: 3, closure: true }),
    ("sum", Function::Sum, Takes { least: 1, most: 2, closure: true }),
    ("take", Function::Take, Takes { least: 2, most: 2, closure: false }),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<(Function, Takes)> {
        FUNCTIONS.iter().find(|(known, ..)| *known == name).map(|(_, function, takes)| (*function, *takes))
    }

    pub(super) fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function, _)| *function == self).map_or("", |(name, ..)| name)
    }
}

impl Node {
    /// A node with children, unless that makes the tree too deep.
    pub(super) fn new(kind: NodeKind, at: usize) -> Result<Node, FormulaFault> {
        let height = 1 + kind.children().map(|child| child.height).max().unwrap_or(0);
        if height > NESTING_MAX {
            return Err(too_deep(at));
        }
        Ok(Node { kind, at, height })
    }
}

pub(super) fn too_deep(at: usize) -> FormulaFault {
    FormulaFault::new(at, format!("is nested more than {NESTING_MAX} deep here; name parts of it with `let`"))
}

impl NodeKind {
    pub(super) fn children(&self) -> Box<dyn Iterator<Item = &Node> + '_> {
        match self {
            Self::Array(nodes) | Self::Call(_, nodes) => Box::new(nodes.iter()),
            Self::Unary(_, node) => Box::new(std::iter::once(&**node)),
            Self::Chain(first, steps) => {
                Box::new(std::iter::once(&**first).chain(steps.iter().map(|step| &step.right)))
            }
            Self::Compare(first, rest) => Box::new(std::iter::once(&**first).chain(rest.iter().map(|(_, node)| node))),
            Self::If(nodes) => Box::new(nodes.iter()),
            Self::Let(nodes) | Self::At(nodes) => Box::new(nodes.iter()),
            Self::Slice(node, ends) => {
                Box::new(std::iter::once(&**node).chain(ends.iter().flatten().map(|end| &**end)))
            }
            _ => Box::new(std::iter::empty()),
        }
    }
}
