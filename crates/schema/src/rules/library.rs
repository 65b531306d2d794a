//! The functions that rules may call: CEL's own, those of its extensions for strings and lists, and those that Kubernetes
//! adds, as far as they are implemented here. Rules that call others are rejected.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use cel::common::types::{CelBool, CelInt, CelList, CelString, DYN_TYPE, INT_TYPE, LIST_TYPE, STRING_TYPE};
use cel::common::value::{CowVal, Val};
use cel::{DeclarationError, Env, ExecutionError, extensions};

use crate::pattern;

static ENVIRONMENT: LazyLock<Arc<Env>> =
    LazyLock::new(|| Arc::new(extended().expect("each function is declared once")));

/// All functions by name, those called on a value and those called by themselves.
const KNOWN: [&str; 59] = [
    "bool",
    "bytes",
    "charAt",
    "contains",
    "distinct",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "find",
    "findAll",
    "flatten",
    "format",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "hasValue",
    "indexOf",
    "int",
    "isSorted",
    "join",
    "lastIndexOf",
    "lists.range",
    "lowerAscii",
    "matches",
    "max",
    "min",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "or",
    "orValue",
    "replace",
    "reverse",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "size",
    "slice",
    "sort",
    "split",
    "startsWith",
    "string",
    "strings.quote",
    "substring",
    "sum",
    "timestamp",
    "trim",
    "type",
    "uint",
    "upperAscii",
    "value",
];

pub(super) fn environment() -> Arc<Env> {
    Arc::clone(&ENVIRONMENT)
}

/// Whether there is a function; operators, and what macros turn into, have signs in their names.
pub(super) fn knows(function: &str) -> bool {
    let sign = |character: char| !character.is_ascii_alphanumeric() && character != '_' && character != '.';
    function.contains(sign) || KNOWN.contains(&function)
}

/// What functions are grouped under.
pub(super) fn is_namespace(name: &str) -> bool {
    matches!(name, "lists" | "optional" | "sets" | "strings")
}

fn extended() -> Result<Env, DeclarationError> {
    let mut env = Env::stdlib();
    env.add_extension(extensions::strings)?;
    env.add_extension(extensions::lists)?;
    for (name, function) in [("isSorted", is_sorted as Function), ("sum", sum), ("min", min), ("max", max)] {
        env.add_member_overload(name, &format!("list_{name}"), LIST_TYPE, vec![], function)?;
    }
    env.add_member_overload("indexOf", "list_index_of", LIST_TYPE, vec![DYN_TYPE], index_of)?;
    env.add_member_overload("lastIndexOf", "list_last_index_of", LIST_TYPE, vec![DYN_TYPE], last_index_of)?;
    env.add_member_overload("find", "string_find", STRING_TYPE, vec![STRING_TYPE], find)?;
    env.add_member_overload("findAll", "string_find_all", STRING_TYPE, vec![STRING_TYPE], find_all)?;
    env.add_member_overload("findAll", "string_find_some", STRING_TYPE, vec![STRING_TYPE, INT_TYPE], find_all)?;
    for (name, function) in
        [("contains", set_contains as Function), ("equivalent", set_equivalent), ("intersects", set_intersects)]
    {
        env.add_overload(&format!("sets.{name}"), &format!("list_sets_{name}"), vec![LIST_TYPE, LIST_TYPE], function)?;
    }
    Ok(env)
}

type Function = for<'b, 'v> fn(Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError>;

fn items<'a, 'v>(args: &'a [CowVal<'_, 'v>], at: usize) -> Vec<&'a (dyn Val + 'v)> {
    let mut items = Vec::new();
    if let Some(list) = args.get(at).and_then(|list| list.as_iterable()) {
        let mut iterator = list.iter();
        while let Some(item) = iterator.next() {
            items.push(item);
        }
    }
    items
}

fn text<'a>(args: &'a [CowVal<'_, '_>], at: usize) -> &'a str {
    args.get(at).and_then(|text| text.downcast_ref::<CelString<'_>>()).map_or("", |text| text.inner())
}

fn order(left: &dyn Val, right: &dyn Val) -> Result<Ordering, ExecutionError> {
    let incomparable = || {
        ExecutionError::no_such_overload(
            "_<_",
            vec![left.get_type().name().to_owned(), right.get_type().name().to_owned()],
        )
    };
    left.as_comparer().ok_or_else(incomparable)?.compare(right)
}

fn is_sorted<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    for pair in items(&args, 0).windows(2) {
        if order(pair[0], pair[1])?.is_gt() {
            return Ok(CowVal::owned(CelBool::from(false)));
        }
    }
    Ok(CowVal::owned(CelBool::from(true)))
}

fn sum<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let items = items(&args, 0);
    let Some((first, others)) = items.split_first() else { return Ok(CowVal::owned(CelInt::from(0))) };
    let mut sum = first.clone_as_boxed();
    for item in others {
        let not_a_number = || ExecutionError::no_such_overload("_+_", vec![item.get_type().name().to_owned()]);
        let next = sum.as_adder().ok_or_else(not_a_number)?.add(*item)?.into_owned();
        sum = next;
    }
    Ok(CowVal::Owned(sum))
}

fn min<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    extreme(&args, "min", Ordering::Less)
}

fn max<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    extreme(&args, "max", Ordering::Greater)
}

fn extreme<'b, 'v>(args: &[CowVal<'b, 'v>], name: &str, better: Ordering) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let items = items(args, 0);
    let (first, others) = items
        .split_first()
        .ok_or_else(|| ExecutionError::function_error(name, format!("{name} called on empty list")))?;
    let mut best = *first;
    for item in others {
        if order(*item, best)? == better {
            best = *item;
        }
    }
    Ok(CowVal::Owned(best.clone_as_boxed()))
}

fn index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let found = items(&args, 0).iter().position(|item| item.equals(args[1].as_ref()));
    Ok(CowVal::owned(CelInt::from(found.map_or(-1, |at| at as i64))))
}

fn last_index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let found = items(&args, 0).iter().rposition(|item| item.equals(args[1].as_ref()));
    Ok(CowVal::owned(CelInt::from(found.map_or(-1, |at| at as i64))))
}

fn find<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let regex = pattern::compile(text(&args, 1)).map_err(|error| ExecutionError::function_error("find", error))?;
    let found = regex.find(text(&args, 0)).map_or("", |found| found.as_str());
    Ok(CowVal::owned(CelString::from(found.to_owned())))
}

fn find_all<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let regex = pattern::compile(text(&args, 1)).map_err(|error| ExecutionError::function_error("findAll", error))?;
    let limit = args.get(2).and_then(|limit| limit.downcast_ref::<CelInt>()).map_or(-1, |limit| *limit.inner());
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let boxed = |found: regex::Match<'_>| Box::new(CelString::from(found.as_str().to_owned())) as Box<dyn Val + 'v>;
    let found: Vec<Box<dyn Val + 'v>> = regex.find_iter(text(&args, 0)).take(most).map(boxed).collect();
    Ok(CowVal::owned(CelList::from(found)))
}

fn all_within(inner: &[&dyn Val], outer: &[&dyn Val]) -> bool {
    inner.iter().all(|item| outer.iter().any(|other| item.equals(*other)))
}

fn set_contains<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    Ok(CowVal::owned(CelBool::from(all_within(&items(&args, 1), &items(&args, 0)))))
}

fn set_equivalent<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (left, right) = (items(&args, 0), items(&args, 1));
    Ok(CowVal::owned(CelBool::from(all_within(&left, &right) && all_within(&right, &left))))
}

fn set_intersects<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let (left, right) = (items(&args, 0), items(&args, 1));
    let shared = left.iter().any(|item| right.iter().any(|other| item.equals(*other)));
    Ok(CowVal::owned(CelBool::from(shared)))
}

#[cfg(test)]
mod tests {
    use cel::{Context, Value};

    use super::{KNOWN, environment, knows};

    #[test]
    fn every_function_that_is_known_can_be_called() {
        let expressions = [
            "[1, 2].isSorted() && ![2, 1].isSorted() && ['a', 'b'].isSorted()",
            "[1, 2].sum() == 3 && [0.5, 0.25].sum() == 0.75 && [].sum() == 0",
            "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3",
            "['a', 'b', 'a'].indexOf('a') == 0 && ['a', 'b', 'a'].lastIndexOf('a') == 2 && [1].indexOf(2) == -1",
            "'abc'.indexOf('b') == 1 && 'abcb'.lastIndexOf('b') == 3",
            "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
            "'1 22 333'.findAll('[0-9]+') == ['1', '22', '333'] && '1 22 333'.findAll('[0-9]+', 2) == ['1', '22']",
            "sets.contains([1, 2, 3], [2, 1]) && !sets.contains([1], [2])",
            "sets.equivalent([1, 2, 2], [2, 1]) && sets.intersects([1, 2], [2, 3]) && !sets.intersects([1], [2])",
            "'a,b'.split(',') == ['a', 'b'] && ['a', 'b'].join('-') == 'a-b' && 'abc'.replace('b', 'x') == 'axc'",
            "'Ab'.lowerAscii() == 'ab' && 'Ab'.upperAscii() == 'AB' && ' a '.trim() == 'a' && 'abc'.substring(1) == 'bc'",
            "'abc'.charAt(1) == 'b' && '%d'.format([1]) == '1' && strings.quote('a') == '\"a\"'",
            "[1, [2]].flatten() == [1, 2] && [1, 1].distinct() == [1] && [2, 1].sort() == [1, 2] && [1, 2].reverse() == [2, 1]",
            "[1, 2, 3].slice(0, 2) == [1, 2] && lists.range(2) == [0, 1]",
            "size('abc') == 3 && 'abc'.size() == 3 && 'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c')",
            "'abc'.matches('^a') && type(1) == int && string(1) == '1' && int('1') == 1 && uint(1) == 1u && double(1) == 1.0",
            "bool('true') && bytes('a') == b'a' && dyn(1) == 1 && duration('1h') > duration('1m')",
            "optional.of(1).hasValue() && optional.of(1).value() == 1 && optional.none().orValue(2) == 2",
            "optional.none().or(optional.of(1)).value() == 1 && !optional.ofNonZeroValue(0).hasValue()",
            "timestamp('2020-01-02T03:04:05.006Z').getFullYear() == 2020 && timestamp('2020-01-02T03:04:05Z').getMonth() == 0",
            "timestamp('2020-01-02T00:00:00Z').getDate() == 2 && timestamp('2020-01-02T00:00:00Z').getDayOfMonth() == 1",
            "timestamp('2020-01-02T00:00:00Z').getDayOfWeek() == 4 && timestamp('2020-01-02T00:00:00Z').getDayOfYear() == 1",
            "duration('3h').getHours() == 3 && duration('3h').getMinutes() == 180 && duration('3s').getSeconds() == 3",
            "duration('3ms').getMilliseconds() == 3",
        ];
        for expression in expressions {
            let program = environment().compile(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
            assert_eq!(program.execute(&Context::with_env(environment())), Ok(Value::Bool(true)), "{expression}");
        }
        let called = |name: &&str| expressions.iter().any(|expression| expression.contains(&format!("{name}(")));
        let uncalled: Vec<&&str> = KNOWN.iter().filter(|name| !called(name)).collect();
        assert!(uncalled.is_empty(), "{uncalled:?}");
    }

    #[test]
    fn functions_that_are_not_to_be_had_are_not_known() {
        for name in ["quantity", "url", "isURL", "ip", "cidr", "semver", "format.named", "authorizer", "_private"] {
            assert!(!knows(name), "{name}");
        }
    }
}
