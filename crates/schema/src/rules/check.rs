//! Static checks of a rule: that it parses, that the fields it names exist, that it returns a boolean.
//! Types are tracked through fields, items and keys only.

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, SelectExpr, operators};
use cel::{IdedExpr, Program};

use super::source::{mistake, position};
use super::{Root, library, root_of, values};
use crate::node::Node;
use crate::rule::Compiled;

/// Longer rules are rejected, and those with more levels of brackets or conditions, or more levels in all: each costs stack.
const LENGTH_MAX: usize = 5_000;
const BRACKETS_MAX: usize = 50;
const DEPTH_MAX: usize = 250;

/// What is known of the type of an expression.
#[derive(Clone, Copy, Debug)]
enum Type<'a> {
    Unknown,
    Bool,
    Text,
    /// Of another type that has no fields, by its name.
    Other(&'static str),
    Object(&'a Node, Root),
    /// A map, by what its values are like, and a list, by what its items are.
    Map(&'a Node),
    List(&'a Node),
    /// A value that may be missing.
    Optional(&'a Node, Root),
}

/// The type that a rule must return.
#[derive(Clone, Copy, Debug)]
pub(super) enum Expected {
    Bool,
    Text,
}

/// The variables that a rule can use.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    variables: Vec<(String, Type<'a>)>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(node: &'a Node, root: Root, optional_old_self: bool) -> Self {
        let this = type_of(node, root);
        let old = if optional_old_self { Type::Optional(node, root) } else { this };
        Self { variables: vec![("self".to_owned(), this), ("oldSelf".to_owned(), old)] }
    }
}

pub(super) fn compile(source: &str, scope: &Scope<'_>, expected: Expected) -> Result<Compiled, String> {
    let prefix = match expected {
        Expected::Bool => "compilation failed: ",
        Expected::Text => "messageExpression compilation failed: ",
    };
    let failed = |what: String| format!("{prefix}{what}");
    bounded(source).map_err(failed)?;
    let program = library::environment().compile(source).map_err(|errors| failed(unreadable(source, &errors)))?;
    let mut reader =
        Reader { source, program: &program, variables: scope.variables.clone(), mistakes: Vec::new(), deepest: 0 };
    let found = reader.read(program.expression(), 0);
    if !reader.mistakes.is_empty() {
        return Err(failed(reader.mistakes.join("\n")));
    }
    let depth = reader.deepest;
    match (expected, found) {
        (_, Type::Unknown) | (Expected::Bool, Type::Bool) | (Expected::Text, Type::Text) => {
            Ok(Compiled { program, depth })
        }
        (Expected::Bool, _) => Err("cel expression must evaluate to a bool".to_owned()),
        (Expected::Text, _) => Err("messageExpression must evaluate to a string".to_owned()),
    }
}

/// The parser of expressions has no limits, but its stack does.
fn bounded(source: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    let mut deepest = 0;
    for character in source.chars() {
        match character {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    if source.len() > LENGTH_MAX {
        return Err(format!("expression code point size exceeds limit: size: {}, limit {LENGTH_MAX}", source.len()));
    }
    if deepest > BRACKETS_MAX || source.matches('?').count() > BRACKETS_MAX {
        return Err(format!("expression recursion limit exceeded: {BRACKETS_MAX}"));
    }
    Ok(())
}

fn unreadable(source: &str, errors: &cel::ParseErrors) -> String {
    let at = |(line, column): (isize, isize)| (line.max(1) as usize, column.max(1) as usize);
    let errors: Vec<String> = errors.errors.iter().map(|error| mistake(source, at(error.pos), &error.msg)).collect();
    errors.join("\n")
}

fn type_of(node: &Node, root: Root) -> Type<'_> {
    let items = node.items.as_deref();
    match (node.kind.as_str(), node.format.as_str()) {
        _ if node.int_or_string => Type::Unknown,
        ("boolean", _) => Type::Bool,
        ("integer", _) => Type::Other("int"),
        ("number", _) => Type::Other("double"),
        ("string", "byte") => Type::Other("bytes"),
        ("string", "duration") => Type::Other("google.protobuf.Duration"),
        ("string", "date" | "date-time") => Type::Other("google.protobuf.Timestamp"),
        ("string", _) => Type::Text,
        ("array", _) => items.map_or(Type::Unknown, Type::List),
        ("object", _) => {
            node.additional.node().filter(|_| node.properties.is_empty()).map_or(Type::Object(node, root), Type::Map)
        }
        _ => Type::Unknown,
    }
}

/// Whether rules can access a field: those without a type are hidden.
fn is_exposed(node: &Node) -> bool {
    let below = |node: Option<&Node>| node.is_some_and(is_exposed);
    match node.kind.as_str() {
        _ if node.int_or_string => true,
        "array" => below(node.items.as_deref()),
        "object" => node.additional.node().is_none_or(is_exposed),
        kind => matches!(kind, "boolean" | "integer" | "number" | "string"),
    }
}

struct Reader<'a, 's> {
    source: &'s str,
    program: &'s Program,
    variables: Vec<(String, Type<'a>)>,
    mistakes: Vec<String>,
    deepest: usize,
}

impl<'a> Reader<'a, '_> {
    fn mistake(&mut self, expression: &IdedExpr, what: &str) -> Type<'a> {
        let offset = self.program.source_info().offset_for(expression.id).map_or(0, |(start, _)| start as usize);
        self.mistakes.push(mistake(self.source, position(self.source, offset), what));
        Type::Unknown
    }

    fn read(&mut self, expression: &IdedExpr, depth: usize) -> Type<'a> {
        if depth > DEPTH_MAX {
            return self.mistake(expression, "expression recursion limit exceeded");
        }
        let depth = depth + 1;
        self.deepest = self.deepest.max(depth);
        match &expression.expr {
            Expr::Ident(name) => self.read_name(expression, name),
            Expr::Select(select) => self.read_select(expression, select, depth),
            Expr::Call(call) => self.read_call(expression, call, depth),
            Expr::Comprehension(comprehension) => self.read_comprehension(comprehension, depth),
            Expr::Literal(LiteralValue::Boolean(_)) => Type::Bool,
            Expr::Literal(LiteralValue::String(_)) => Type::Text,
            Expr::Literal(LiteralValue::Int(_)) => Type::Other("int"),
            Expr::List(list) => {
                list.elements.iter().for_each(|element| _ = self.read(element, depth));
                Type::Other("list")
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.read(&entry.key, depth);
                        self.read(&entry.value, depth);
                    }
                }
                Type::Other("map")
            }
            Expr::Struct(of) => {
                self.mistake(expression, &format!("undeclared reference to '{}' (in container '')", of.type_name))
            }
            _ => Type::Unknown,
        }
    }

    fn variable(&self, name: &str) -> Option<Type<'a>> {
        self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, found)| *found)
    }

    fn read_name(&mut self, expression: &IdedExpr, name: &str) -> Type<'a> {
        const TYPES: [&str; 11] =
            ["bool", "bytes", "double", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint"];
        match self.variable(name) {
            Some(found) => found,
            None if TYPES.contains(&name) => Type::Unknown,
            None => self.mistake(expression, &format!("undeclared reference to '{name}' (in container '')")),
        }
    }

    fn read_select(&mut self, expression: &IdedExpr, select: &SelectExpr, depth: usize) -> Type<'a> {
        if self.is_type_name(expression) {
            return Type::Unknown;
        }
        let operand = self.read(&select.operand, depth);
        let found = self.field_of(expression, operand, &select.field);
        if select.test { Type::Bool } else { found }
    }

    /// `google.protobuf.Duration` and the like are types.
    fn is_type_name(&self, expression: &IdedExpr) -> bool {
        match &expression.expr {
            Expr::Ident(name) => name == "google" && self.variable(name).is_none(),
            Expr::Select(select) => self.is_type_name(&select.operand),
            _ => false,
        }
    }

    fn field_of(&mut self, expression: &IdedExpr, operand: Type<'a>, field: &str) -> Type<'a> {
        let (node, root) = match operand {
            Type::Object(node, root) => (node, root),
            Type::Map(value) => return type_of(value, root_of(value)),
            Type::Unknown | Type::Optional(..) | Type::Other("map") => return Type::Unknown,
            Type::Bool | Type::Text | Type::List(_) | Type::Other(_) => {
                let what = format!("type '{}' does not support field selection", name_of(operand));
                return self.mistake(expression, &what);
            }
        };
        if root == Root::Resource && matches!(field, "apiVersion" | "kind" | "metadata") {
            return Type::Unknown;
        }
        let named =
            |(name, node): &(&String, &Node)| is_exposed(node) && values::escaped(name).as_deref() == Some(field);
        match node.properties.iter().find(named) {
            Some((_, found)) => type_of(found, root_of(found)),
            None => self.mistake(expression, &format!("undefined field '{field}'")),
        }
    }

    fn read_call(&mut self, expression: &IdedExpr, call: &CallExpr, depth: usize) -> Type<'a> {
        let namespace = call.target.as_deref().and_then(|target| match &target.expr {
            Expr::Ident(name) if library::is_namespace(name) && self.variable(name).is_none() => Some(name),
            _ => None,
        });
        let name =
            namespace.map_or_else(|| call.func_name.clone(), |namespace| format!("{namespace}.{}", call.func_name));
        let target = call.target.as_deref().filter(|_| namespace.is_none());
        let arguments: Vec<Type<'a>> =
            target.into_iter().chain(&call.args).map(|argument| self.read(argument, depth)).collect();
        if !library::knows(&name) {
            return self.mistake(expression, &format!("undeclared reference to '{name}' (in container '')"));
        }
        if let (operators::OPT_SELECT, [operand, _], Some(Expr::Literal(LiteralValue::String(field)))) =
            (name.as_str(), arguments.as_slice(), call.args.get(1).map(|field| &field.expr))
        {
            self.field_of(expression, *operand, field.inner());
        }
        result_of(&name, &arguments)
    }

    fn read_comprehension(&mut self, comprehension: &ComprehensionExpr, depth: usize) -> Type<'a> {
        let range = self.read(&comprehension.iter_range, depth);
        let start = self.read(&comprehension.accu_init, depth);
        let (first, second) = match range {
            Type::List(item) => (type_of(item, root_of(item)), type_of(item, root_of(item))),
            Type::Map(value) => (Type::Text, type_of(value, root_of(value))),
            _ => (Type::Unknown, Type::Unknown),
        };
        let known = self.variables.len();
        self.variables.push((comprehension.accu_var.clone(), start));
        match &comprehension.iter_var2 {
            Some(name) => {
                let position = if matches!(range, Type::List(_)) { Type::Other("int") } else { first };
                self.variables.push((comprehension.iter_var.clone(), position));
                self.variables.push((name.clone(), second));
            }
            None => self.variables.push((comprehension.iter_var.clone(), first)),
        }
        self.read(&comprehension.loop_cond, depth);
        self.read(&comprehension.loop_step, depth);
        let result = self.read(&comprehension.result, depth);
        self.variables.truncate(known);
        result
    }
}

fn result_of<'a>(name: &str, arguments: &[Type<'a>]) -> Type<'a> {
    match (name, arguments) {
        ("_[_]", [Type::List(item), _]) => type_of(item, root_of(item)),
        ("_[_]", [Type::Map(value), _]) => type_of(value, root_of(value)),
        ("_?_:_", [_, Type::Unknown, other] | [_, other, _]) => *other,
        ("_+_", [Type::Text, _]) => Type::Text,
        ("_&&_" | "_||_" | "!_" | "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "@in", _) => Type::Bool,
        ("contains" | "endsWith" | "hasValue" | "isSorted" | "matches" | "startsWith" | "bool", _) => Type::Bool,
        (
            "charAt" | "find" | "format" | "join" | "lowerAscii" | "replace" | "string" | "substring" | "trim"
            | "upperAscii",
            _,
        ) => Type::Text,
        ("size" | "int", _) => Type::Other("int"),
        ("value", [Type::Optional(node, root)]) | ("orValue", [Type::Optional(node, root), _]) => type_of(node, *root),
        _ => Type::Unknown,
    }
}

fn name_of(found: Type<'_>) -> &'static str {
    match found {
        Type::Bool => "bool",
        Type::Text => "string",
        Type::List(_) => "list",
        Type::Map(_) => "map",
        Type::Other(name) => name,
        Type::Object(..) => "object",
        Type::Unknown | Type::Optional(..) => "dyn",
    }
}
