//! JSON patches (RFC 6902) with the liberties that the API server's library takes: `replace` and `copy` take a missing
//! key of an object for null, indices may count from the end, and a missing `value` is null.

use serde_json::Value;

use super::{Object, bad_request, rejected};
use crate::api::error::ApiError;
use crate::builtin::decode::json_kind;

const OPERATIONS_MAX: usize = 10_000;

pub(super) fn apply(current: &Value, patch: &Value) -> Result<Value, ApiError> {
    let operations = match patch {
        Value::Null => return Ok(current.clone()),
        Value::Array(operations) => operations,
        other => return Err(undecodable(json_kind(other), "value of type []handlers.jsonPatchOp")),
    };
    let operations = operations.iter().map(Operation::read).collect::<Result<Vec<_>, _>>()?;
    if operations.len() > OPERATIONS_MAX {
        let count = operations.len();
        let message = format!("The allowed maximum operations in a JSON patch is {OPERATIONS_MAX}, got {count}");
        return Err(ApiError::new(413, "RequestEntityTooLarge", format!("Request entity too large: {message}")));
    }
    let mut document = current.clone();
    for operation in operations {
        operation.apply(&mut document).ok_or_else(rejected)?;
    }
    Ok(document)
}

fn undecodable(kind: &str, target: &str) -> ApiError {
    bad_request(format!("error decoding patch: json: cannot unmarshal {kind} into Go {target}"))
}

/// One operation; what was not given is empty or null.
struct Operation<'a> {
    op: &'a str,
    path: &'a str,
    from: &'a str,
    value: &'a Value,
}

impl<'a> Operation<'a> {
    fn read(operation: &'a Value) -> Result<Self, ApiError> {
        let fields = match operation {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            other => return Err(undecodable(json_kind(other), "value of type handlers.jsonPatchOp")),
        };
        let field = |name: &str| fields.and_then(|fields| fields.get(name));
        let text = |name: &str| match field(name) {
            None | Some(Value::Null) => Ok(""),
            Some(Value::String(text)) => Ok(text.as_str()),
            Some(other) => {
                Err(undecodable(json_kind(other), &format!("struct field jsonPatchOp.{name} of type string")))
            }
        };
        let value = field("value").unwrap_or(&Value::Null);
        Ok(Self { op: text("op")?, path: text("path")?, from: text("from")?, value })
    }

    /// None where it does not apply.
    fn apply(&self, document: &mut Value) -> Option<()> {
        match (self.op, self.path) {
            ("test", "") => (document == self.value).then_some(()),
            ("replace", "") => {
                *document = Some(self.value).filter(|value| value.is_object() || value.is_array())?.clone();
                Some(())
            }
            ("test", path) => (resolve_pointer(document, path)?.get()? == *self.value).then_some(()),
            ("replace", path) => resolve_pointer(document, path)?.set(self.value.clone()),
            ("add", path) => resolve_pointer(document, path)?.add(self.value.clone()),
            ("remove", path) => resolve_pointer(document, path)?.remove().map(drop),
            ("move", path) => {
                let value = resolve_pointer(document, self.from)?.remove()?;
                resolve_pointer(document, path)?.add(value)
            }
            ("copy", path) => {
                let value = resolve_pointer(document, self.from)?.get()?;
                resolve_pointer(document, path)?.add(value)
            }
            _ => None,
        }
    }
}

/// What a JSON pointer refers to, which may be absent: a key of an object, or an index of a list.
enum PointerTarget<'a> {
    Key(&'a mut Object, String),
    Index(&'a mut Vec<Value>, String),
}

/// Resolves a JSON pointer; none if its parent does not exist.
fn resolve_pointer<'a>(document: &'a mut Value, path: &str) -> Option<PointerTarget<'a>> {
    let (parents, key) = path.rsplit_once('/')?;
    let mut container = document;
    // Text before the first slash is ignored.
    for part in parents.split('/').skip(1) {
        container = inside(container, &unescaped(part))?;
    }
    match container {
        Value::Object(object) => Some(PointerTarget::Key(object, unescaped(key))),
        Value::Array(list) => Some(PointerTarget::Index(list, unescaped(key))),
        _ => None,
    }
}

fn inside<'a>(container: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match container {
        Value::Object(object) => object.get_mut(key),
        Value::Array(list) => {
            let index = index(key, list.len())?;
            list.get_mut(index)
        }
        _ => None,
    }
}

fn unescaped(part: &str) -> String {
    // In this order, so that `~01` is `~1`.
    part.replace("~1", "/").replace("~0", "~")
}

/// An index into so many items; negative ones count from the end.
fn index(key: &str, length: usize) -> Option<usize> {
    let index: isize = key.parse().ok()?;
    let index = if index < 0 { length.checked_sub(index.unsigned_abs())? } else { index.unsigned_abs() };
    (index < length).then_some(index)
}

impl PointerTarget<'_> {
    fn get(&self) -> Option<Value> {
        match self {
            Self::Key(object, key) => Some(object.get(key).cloned().unwrap_or_default()),
            Self::Index(list, key) => list.get(index(key, list.len())?).cloned(),
        }
    }

    fn set(self, value: Value) -> Option<()> {
        match self {
            Self::Key(object, key) => {
                object.insert(key, value);
            }
            Self::Index(list, key) => {
                let index = index(&key, list.len())?;
                list[index] = value;
            }
        }
        Some(())
    }

    fn add(self, value: Value) -> Option<()> {
        match self {
            Self::Index(list, key) => {
                let index = if key == "-" { list.len() } else { index(&key, list.len() + 1)? };
                list.insert(index, value);
                Some(())
            }
            key => key.set(value),
        }
    }

    fn remove(self) -> Option<Value> {
        match self {
            Self::Key(object, key) => object.remove(&key),
            Self::Index(list, key) => {
                let index = index(&key, list.len())?;
                Some(list.remove(index))
            }
        }
    }
}
