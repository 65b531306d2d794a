//! The type of each part of a formula, as far as it is known without values. So an error is found when the
//! formula is written, also in a branch that is seldom taken.

use super::error::FormulaFault;
use super::tree::{Binary, Function, Node, NodeKind, Step, Unary};

/// A kind of value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// Known only with values.
    Any,
    Nil,
    Bool,
    Int,
    Float,
    Text,
    Array(Box<Type>),
}

impl Type {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Any => "something",
            Self::Nil => "nil",
            Self::Bool => "a bool",
            Self::Int => "a whole number",
            Self::Float => "a float",
            Self::Text => "a text",
            Self::Array(_) => "an array",
        }
    }

    fn is_number(&self) -> bool {
        matches!(self, Self::Int | Self::Float)
    }

    fn may_be_number(&self) -> bool {
        self.is_number() || *self == Self::Any
    }

    fn may_be(&self, wanted: &Type) -> bool {
        self == wanted || *self == Self::Any
    }

    fn is_comparable_to(&self, other: &Type) -> bool {
        let either = |wanted: &Type| self == wanted || other == wanted;
        either(&Self::Any)
            || either(&Self::Nil)
            || self.is_number() && other.is_number()
            || matches!((self, other), (Self::Array(_), Self::Array(_)))
            || self == other
    }

    /// What a value is that may be of either type. Nil yields: it is checked at run time.
    fn or(self, other: Type) -> Type {
        match (self, other) {
            (Self::Nil, other) => other,
            (one, Self::Nil) => one,
            (one, other) if one == other => one,
            (Self::Array(_), Self::Array(_)) => Self::Array(Box::new(Self::Any)),
            _ => Self::Any,
        }
    }
}

/// The type of a formula.
pub(super) fn type_of(root: &Node) -> Result<Type, FormulaFault> {
    Checker { lets: Vec::new(), items: Vec::new() }.type_of(root)
}

struct Checker {
    lets: Vec<Type>,
    /// The elements of the arrays that enclosing functions go through.
    items: Vec<Type>,
}

impl Checker {
    fn type_of(&mut self, node: &Node) -> Result<Type, FormulaFault> {
        Ok(match &node.kind {
            NodeKind::Nil => Type::Nil,
            NodeKind::Bool(_) => Type::Bool,
            NodeKind::Int(_) | NodeKind::Index => Type::Int,
            NodeKind::Float(_) | NodeKind::Trigger(_) => Type::Float,
            NodeKind::Text(_) => Type::Text,
            NodeKind::Local(slot) => self.lets.get(*slot).cloned().unwrap_or(Type::Any),
            NodeKind::Item => self.items.last().cloned().unwrap_or(Type::Any),
            NodeKind::Accumulator => Type::Any,
            NodeKind::Array(nodes) => self.array(nodes)?,
            NodeKind::Unary(unary, operand) => self.unary(*unary, operand)?,
            NodeKind::Chain(first, steps) => self.chain(first, steps)?,
            NodeKind::Compare(first, rest) => {
                let first = self.type_of(first)?;
                self.comparison(first, rest, node.at)?
            }
            NodeKind::If(nodes) => self.conditional(nodes)?,
            NodeKind::Let(nodes) => self.binding(nodes)?,
            NodeKind::At(nodes) => self.element(nodes)?,
            NodeKind::Slice(array, ends) => self.slice(array, ends)?,
            NodeKind::Call(function, arguments) => self.call(*function, arguments, node.at)?,
        })
    }

    fn array(&mut self, nodes: &[Node]) -> Result<Type, FormulaFault> {
        let mut element: Option<Type> = None;
        for node in nodes {
            let this = self.type_of(node)?;
            element = Some(match element {
                None => this,
                Some(element) if element == this => this,
                Some(Type::Array(_)) if matches!(this, Type::Array(_)) => Type::Array(Box::new(Type::Any)),
                Some(_) => Type::Any,
            });
        }
        Ok(Type::Array(Box::new(element.unwrap_or(Type::Any))))
    }

    fn unary(&mut self, unary: Unary, operand: &Node) -> Result<Type, FormulaFault> {
        let found = self.type_of(operand)?;
        match unary {
            Unary::Not if found.may_be(&Type::Bool) => Ok(Type::Bool),
            Unary::Minus | Unary::Plus if found.may_be_number() => Ok(found),
            Unary::Not => Err(FormulaFault::new(operand.at, format!("`not` needs a bool, not {}", found.name()))),
            _ => Err(FormulaFault::new(operand.at, format!("a sign needs a number, not {}", found.name()))),
        }
    }

    fn chain(&mut self, first: &Node, steps: &[Step]) -> Result<Type, FormulaFault> {
        let mut left = self.type_of(first)?;
        for step in steps {
            let right = self.type_of(&step.right)?;
            left = binary(left, step, right)?;
        }
        Ok(left)
    }

    fn comparison(
        &mut self,
        mut left: Type,
        rest: &[(super::tree::Order, Node)],
        at: usize,
    ) -> Result<Type, FormulaFault> {
        for (order, node) in rest {
            let right = self.type_of(node)?;
            if !left.may_be_number() || !right.may_be_number() {
                return Err(mismatch(order.symbol(), &left, &right, "numbers", at));
            }
            left = right;
        }
        Ok(Type::Bool)
    }

    fn conditional(&mut self, [condition, yes, no]: &[Node; 3]) -> Result<Type, FormulaFault> {
        let found = self.type_of(condition)?;
        if !found.may_be(&Type::Bool) {
            let problem = format!("the condition is {}, and must be a bool, as `a > 0` is", found.name());
            return Err(FormulaFault::new(condition.at, problem));
        }
        let yes = self.type_of(yes)?;
        Ok(yes.or(self.type_of(no)?))
    }

    fn binding(&mut self, [value, body]: &[Node; 2]) -> Result<Type, FormulaFault> {
        let value = self.type_of(value)?;
        self.lets.push(value);
        let body = self.type_of(body);
        self.lets.pop();
        body
    }

    fn element(&mut self, [array, index]: &[Node; 2]) -> Result<Type, FormulaFault> {
        let element = self.elements(array, "`[…]`")?;
        self.whole(index)?;
        Ok(element)
    }

    fn slice(&mut self, array: &Node, ends: &[Option<Box<Node>>; 2]) -> Result<Type, FormulaFault> {
        let element = self.elements(array, "`[…]`")?;
        for end in ends.iter().flatten() {
            self.whole(end)?;
        }
        Ok(Type::Array(Box::new(element)))
    }

    /// The type of the elements of an array.
    fn elements(&mut self, array: &Node, user: &str) -> Result<Type, FormulaFault> {
        match self.type_of(array)? {
            Type::Array(element) => Ok(*element),
            Type::Any => Ok(Type::Any),
            other => {
                Err(FormulaFault::new(array.at, format!("{user} needs an array, as in `[a, b]`, not {}", other.name())))
            }
        }
    }

    fn whole(&mut self, node: &Node) -> Result<(), FormulaFault> {
        let found = self.type_of(node)?;
        if found.may_be(&Type::Int) {
            return Ok(());
        }
        Err(FormulaFault::new(node.at, format!("needs a whole number here, not {}; use `int(…)`", found.name())))
    }

    fn number(&mut self, node: &Node, user: &str) -> Result<Type, FormulaFault> {
        let found = self.type_of(node)?;
        if found.may_be_number() {
            return Ok(found);
        }
        Err(FormulaFault::new(node.at, format!("`{user}` needs a number, not {}", found.name())))
    }

    fn call(&mut self, function: Function, arguments: &[Node], at: usize) -> Result<Type, FormulaFault> {
        use Function::*;
        let Some(first) = arguments.first() else { return Err(FormulaFault::new(at, "needs an argument")) };
        match function {
            Abs => self.number(first, function.name()),
            Ceil | Floor | Round | Float => self.number(first, function.name()).map(|_| Type::Float),
            Int => self.number(first, function.name()).map(|_| Type::Int),
            Min | Max | Mean | Median => self.aggregate(function, arguments),
            Concat => {
                for argument in arguments {
                    self.elements(argument, "`concat`")?;
                }
                Ok(Type::Array(Box::new(Type::Any)))
            }
            _ => self.over_array(function, first, &arguments[1..]),
        }
    }

    fn aggregate(&mut self, function: Function, arguments: &[Node]) -> Result<Type, FormulaFault> {
        let mut types = Vec::new();
        for argument in arguments {
            let found = self.type_of(argument)?;
            if !found.may_be_number() && !matches!(found, Type::Array(_)) {
                let problem = format!("`{}` needs numbers, or an array of them, not {}", function.name(), found.name());
                return Err(FormulaFault::new(argument.at, problem));
            }
            types.push(found);
        }
        Ok(match function {
            Function::Mean | Function::Median => Type::Float,
            _ if types.iter().all(|found| *found == Type::Int) => Type::Int,
            _ if types.iter().all(Type::is_number) => Type::Float,
            _ => Type::Any,
        })
    }

    /// Functions whose first argument is an array.
    fn over_array(&mut self, function: Function, array: &Node, rest: &[Node]) -> Result<Type, FormulaFault> {
        use Function::*;
        let element = self.elements(array, &format!("`{}`", function.name()))?;
        let each = match (function, rest.first()) {
            (Take | Sort, Some(argument)) => Some(self.type_of(argument)?),
            (_, Some(closure)) => Some(self.closure(&element, closure)?),
            (_, None) => None,
        };
        if let (
            All | Any | NoneOf | One | Filter | Find | FindLast | FindIndex | FindLastIndex | Count,
            Some(each),
            Some(node),
        ) = (function, &each, rest.first())
            && !each.may_be(&Type::Bool)
        {
            let problem = format!("`{}` needs a condition, as in `{{# > 1}}`, not {}", function.name(), each.name());
            return Err(FormulaFault::new(node.at, problem));
        }
        Ok(match function {
            All | Any | NoneOf | One => Type::Bool,
            Len | Count | FindIndex | FindLastIndex => Type::Int,
            Find | FindLast | First | Last => element,
            Sum => each.unwrap_or(element),
            Map => Type::Array(Box::new(each.unwrap_or(Type::Any))),
            Reduce => {
                rest.get(1).map(|initial| self.type_of(initial)).transpose()?;
                Type::Any
            }
            Flatten => Type::Array(Box::new(Type::Any)),
            _ => self.ordered(function, element, each, rest)?,
        })
    }

    /// Functions that give the same elements in another order, or fewer of them.
    fn ordered(
        &mut self,
        function: Function,
        element: Type,
        each: Option<Type>,
        rest: &[Node],
    ) -> Result<Type, FormulaFault> {
        let (argument, wanted) = match function {
            Function::Take => (rest.first().zip(each), Type::Int),
            Function::Sort => (rest.first().zip(each), Type::Text),
            Function::SortBy => match rest.get(1) {
                Some(order) => (Some((order, self.type_of(order)?)), Type::Text),
                None => (None, Type::Text),
            },
            _ => (None, Type::Any),
        };
        match argument {
            Some((node, found)) if !found.may_be(&wanted) => {
                let problem = format!("`{}` needs {} here, not {}", function.name(), wanted.name(), found.name());
                Err(FormulaFault::new(node.at, problem))
            }
            _ => Ok(Type::Array(Box::new(element))),
        }
    }

    fn closure(&mut self, element: &Type, body: &Node) -> Result<Type, FormulaFault> {
        self.items.push(element.clone());
        let found = self.type_of(body);
        self.items.pop();
        found
    }
}

fn binary(left: Type, step: &Step, right: Type) -> Result<Type, FormulaFault> {
    let wrong = |wanted: &str| Err(mismatch(step.op.symbol(), &left, &right, wanted, step.at));
    match step.op {
        Binary::Coalesce => Ok(left.or(right)),
        Binary::Equal | Binary::NotEqual if left.is_comparable_to(&right) => Ok(Type::Bool),
        Binary::Equal | Binary::NotEqual => wrong("values of one kind"),
        Binary::And | Binary::Or if left.may_be(&Type::Bool) && right.may_be(&Type::Bool) => Ok(Type::Bool),
        Binary::And | Binary::Or => wrong("bools"),
        Binary::In | Binary::NotIn => match &right {
            Type::Any => Ok(Type::Bool),
            Type::Array(element) if left.is_comparable_to(element) => Ok(Type::Bool),
            _ => wrong("a value and an array of such values"),
        },
        Binary::Remainder if left.may_be(&Type::Int) && right.may_be(&Type::Int) => Ok(Type::Int),
        Binary::Remainder => wrong("whole numbers; use `int(…)`"),
        _ if !left.may_be_number() || !right.may_be_number() => wrong("numbers"),
        Binary::Divide | Binary::Power => Ok(Type::Float),
        _ if left == Type::Any || right == Type::Any => Ok(Type::Any),
        _ if left == Type::Int && right == Type::Int => Ok(Type::Int),
        _ => Ok(Type::Float),
    }
}

fn mismatch(symbol: &str, left: &Type, right: &Type, wanted: &str, at: usize) -> FormulaFault {
    FormulaFault::new(at, format!("`{symbol}` between {} and {}, and it needs {wanted}", left.name(), right.name()))
}
