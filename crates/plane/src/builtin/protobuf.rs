//! Objects in the protobuf encoding of Kubernetes, which `kubectl create` sends. Answers are JSON always: every client accepts it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, json};

use super::types::{self, Field, Presence, Shape, Struct, Type, WhenEmpty};

/// What each encoded object begins with.
const MAGIC: &[u8] = b"k8s\0";

/// How deep messages may be.
const DEPTH_MAX: usize = 100;

/// A value as it is encoded.
#[derive(Clone, Copy, Debug)]
enum Wire<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
}

/// Decodes an object: the message `Unknown`, with the type of the object and its bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, String> {
    let body = bytes.strip_prefix(MAGIC).ok_or("the body does not begin as protobuf of Kubernetes does")?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for (number, wire) in fields(body)? {
        match (number, wire) {
            (1, Wire::Bytes(type_meta)) => {
                for (number, wire) in fields(type_meta)? {
                    match number {
                        1 => api_version = text(wire)?,
                        2 => kind = text(wire)?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(object)) => raw = object,
            _ => {}
        }
    }
    let shape = types::named(&api_version, &kind).ok_or_else(|| format!("there is no type {kind} of {api_version}"))?;
    let mut object = decode_struct(shape, raw, 0)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(Value::Object(object))
}

fn decode_struct(shape: &'static Struct, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, String> {
    let mut object = Map::new();
    decode_fields(shape, None, bytes, depth, &mut object)?;
    object.retain(|name, value| !is_left_out(&shape.fields[name.as_str()], value));
    Ok(object)
}

/// Decodes the fields of a struct; or those of the struct that is embedded in it under this number.
fn decode_fields(
    shape: &'static Struct,
    embedded: Option<u32>,
    bytes: &[u8],
    depth: usize,
    object: &mut Map<String, Value>,
) -> Result<(), String> {
    if depth > DEPTH_MAX {
        return Err("messages are too deep".to_owned());
    }
    for (number, wire) in fields(bytes)? {
        let wanted = embedded.map_or((number, None), |outer| (outer, Some(number)));
        if let Some((name, field)) = shape.fields.iter().find(|(_, field)| field.number == wanted) {
            let before = object.remove(*name);
            object.insert((*name).to_owned(), decode_field(field.typed, wire, before, depth)?);
        } else if let (None, Wire::Bytes(inner)) = (embedded, wire)
            && shape.fields.values().any(|field| field.number.0 == number)
        {
            decode_fields(shape, Some(number), inner, depth + 1, object)?;
        }
    }
    Ok(())
}

/// Decodes one occurrence of a field: lists and maps have one for each entry.
fn decode_field(typed: Type, wire: Wire<'_>, before: Option<Value>, depth: usize) -> Result<Value, String> {
    match (typed.shape(), wire) {
        (Shape::List(item), wire) => {
            let mut items = match before {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            };
            match (item.shape(), wire) {
                // Packed.
                (Shape::Int32 | Shape::Int64 | Shape::Bool, Wire::Bytes(mut packed)) => {
                    while !packed.is_empty() {
                        items.push(decode_value(item, Wire::Varint(varint(&mut packed)?), depth)?);
                    }
                }
                (_, wire) => items.push(decode_value(item, wire, depth)?),
            }
            Ok(Value::Array(items))
        }
        (Shape::Map(value), Wire::Bytes(entry)) => {
            let mut entries = match before {
                Some(Value::Object(entries)) => entries,
                _ => Map::new(),
            };
            let (mut key, mut decoded) = (String::new(), zero(value.shape()));
            for (number, wire) in fields(entry)? {
                match number {
                    1 => key = text(wire)?,
                    2 => decoded = decode_entry(value, wire, depth)?,
                    _ => {}
                }
            }
            entries.insert(key, decoded);
            Ok(Value::Object(entries))
        }
        (_, wire) => decode_value(typed, wire, depth),
    }
}

/// The value of a map. A list is a message of its own there.
fn decode_entry(typed: Type, wire: Wire<'_>, depth: usize) -> Result<Value, String> {
    let (Shape::List(item), Wire::Bytes(inner)) = (typed.shape(), wire) else {
        return decode_value(typed, wire, depth);
    };
    let items = fields(inner)?.into_iter().map(|(_, wire)| decode_value(item, wire, depth + 1));
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

fn decode_value(typed: Type, wire: Wire<'_>, depth: usize) -> Result<Value, String> {
    Ok(match (typed.shape(), wire) {
        (Shape::Text, wire) => json!(text(wire)?),
        (Shape::Int32, Wire::Varint(number)) => json!(number as i32),
        (Shape::Int64, Wire::Varint(number)) => json!(number as i64),
        (Shape::Bool, Wire::Varint(number)) => json!(number != 0),
        (Shape::Float, Wire::Fixed64(bits)) => json!(f64::from_bits(bits)),
        (Shape::Bytes, Wire::Bytes(bytes)) => json!(STANDARD.encode(bytes)),
        (Shape::Quantity, Wire::Bytes(bytes)) => match first(bytes, 1)? {
            Some(wire) => json!(text(wire)?),
            None => json!("0"),
        },
        (Shape::IntOrString, Wire::Bytes(bytes)) => int_or_string(bytes)?,
        (Shape::Time, Wire::Bytes(bytes)) => time(bytes, SecondsFormat::Secs)?,
        (Shape::MicroTime, Wire::Bytes(bytes)) => time(bytes, SecondsFormat::Micros)?,
        (Shape::Any, Wire::Bytes(bytes)) => match first(bytes, 1)? {
            Some(Wire::Bytes(raw)) if !raw.is_empty() => {
                serde_json::from_slice(raw).map_err(|error| error.to_string())?
            }
            _ => Value::Null,
        },
        (Shape::Struct(shape), Wire::Bytes(bytes)) => Value::Object(decode_struct(shape, bytes, depth + 1)?),
        (shape, wire) => return Err(format!("{wire:?} is no {shape:?}")),
    })
}

fn int_or_string(bytes: &[u8]) -> Result<Value, String> {
    let (mut is_text, mut number, mut chars) = (false, 0, String::new());
    for field in fields(bytes)? {
        match field {
            (1, Wire::Varint(kind)) => is_text = kind == 1,
            (2, Wire::Varint(value)) => number = value as i32,
            (3, wire) => chars = text(wire)?,
            _ => {}
        }
    }
    Ok(if is_text { json!(chars) } else { json!(number) })
}

fn time(bytes: &[u8], format: SecondsFormat) -> Result<Value, String> {
    let (mut seconds, mut nanos) = (None, 0);
    for field in fields(bytes)? {
        match field {
            (1, Wire::Varint(value)) => seconds = Some(value as i64),
            (2, Wire::Varint(value)) => nanos = value as u32,
            _ => {}
        }
    }
    let Some(seconds) = seconds else { return Ok(Value::Null) };
    let time = DateTime::from_timestamp(seconds, nanos).ok_or("a time is out of range")?;
    Ok(json!(time.to_rfc3339_opts(format, true)))
}

/// Whether JSON would leave it out: protobuf has every field that is no pointer.
fn is_left_out(field: &Field, value: &Value) -> bool {
    let is_plain = field.empty != WhenEmpty::Written && field.typed.presence() == Presence::NotTold;
    is_plain && !matches!(field.typed.shape(), Shape::Struct(_)) && *value == zero(field.typed.shape())
}

fn zero(shape: Shape) -> Value {
    match shape {
        Shape::Text | Shape::Bytes => json!(""),
        Shape::Int32 | Shape::Int64 | Shape::IntOrString => json!(0),
        Shape::Float => json!(0.0),
        Shape::Bool => json!(false),
        Shape::Quantity => json!("0"),
        Shape::List(_) => json!([]),
        Shape::Map(_) | Shape::Struct(_) => json!({}),
        Shape::Time | Shape::MicroTime | Shape::Any => Value::Null,
    }
}

fn text(wire: Wire<'_>) -> Result<String, String> {
    let Wire::Bytes(bytes) = wire else { return Err(format!("{wire:?} is no text")) };
    String::from_utf8(bytes.to_vec()).map_err(|_| "a text is not UTF-8".to_owned())
}

fn first(bytes: &[u8], wanted: u32) -> Result<Option<Wire<'_>>, String> {
    Ok(fields(bytes)?.into_iter().find(|(number, _)| *number == wanted).map(|(_, wire)| wire))
}

/// The fields of a message, in their order.
fn fields(mut bytes: &[u8]) -> Result<Vec<(u32, Wire<'_>)>, String> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let number = u32::try_from(key >> 3).map_err(|_| "a field number is too large")?;
        let wire = match key & 7 {
            0 => Wire::Varint(varint(&mut bytes)?),
            1 => Wire::Fixed64(u64::from_le_bytes(take(&mut bytes, 8)?.try_into().expect("8 bytes were taken"))),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?).map_err(|_| "a length is too large")?;
                Wire::Bytes(take(&mut bytes, length)?)
            }
            // Fields of 4 bytes: no type of the API has one.
            5 => {
                take(&mut bytes, 4)?;
                continue;
            }
            other => return Err(format!("there is no wire type {other}")),
        };
        found.push((number, wire));
    }
    Ok(found)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, rest) = bytes.split_at_checked(length).ok_or("the message is too short")?;
    *bytes = rest;
    Ok(taken)
}

fn varint(bytes: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(number: u8, inner: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, u8::try_from(inner.len()).unwrap()], inner].concat()
    }

    fn number(field: u8, value: u8) -> Vec<u8> {
        vec![field << 3, value]
    }

    fn encoded(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
        let type_meta = [bytes(1, api_version.as_bytes()), bytes(2, kind.as_bytes())].concat();
        [MAGIC.to_vec(), bytes(1, &type_meta), bytes(2, raw)].concat()
    }

    #[test]
    fn objects_are_as_their_json() {
        let labels = bytes(11, &[bytes(1, b"app"), bytes(2, b"web")].concat());
        let metadata = [bytes(1, b"web"), bytes(2, b""), labels, bytes(8, &[])].concat();
        let limits = bytes(8, &bytes(1, &[bytes(1, b"cpu"), bytes(2, &bytes(1, b"100m"))].concat()));
        let port = bytes(6, &[number(2, 0), number(3, 80)].concat());
        // A probe embeds its handler.
        let handler = bytes(
            1,
            &bytes(
                2,
                &[bytes(1, b"/ok"), bytes(2, &[number(1, 1), number(2, 0), bytes(3, b"http")].concat())].concat(),
            ),
        );
        let probe = bytes(10, &[handler, number(2, 5)].concat());
        let container = [bytes(1, b"main"), bytes(2, b"image"), limits, port, probe].concat();
        let spec = bytes(2, &[bytes(2, &container), number(4, 0)].concat());
        let pod = decode(&encoded("v1", "Pod", &[bytes(1, &metadata), spec].concat())).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": "web", "labels": { "app": "web" } },
            "spec": { "terminationGracePeriodSeconds": 0, "containers": [{
                "name": "main", "image": "image", "ports": [{ "containerPort": 80 }], "resources": { "limits": { "cpu": "100m" } },
                "livenessProbe": { "httpGet": { "path": "/ok", "port": "http" }, "initialDelaySeconds": 5 },
            }] },
        });
        assert_eq!(pod, expected);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let rows = [
            (b"{}".to_vec(), "does not begin"),
            (encoded("v1", "Nothing", &[]), "there is no type Nothing of v1"),
            (encoded("v1", "Pod", &[10, 200]), "too short"),
            (encoded("v1", "Pod", &number(1, 1)), "is no Struct"),
            (encoded("v1", "Pod", &[15]), "wire type"),
        ];
        for (bytes, expected) in rows {
            let error = decode(&bytes).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(raw in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&encoded("apps/v1", "Deployment", &raw));
            let _ = decode(&raw);
        }
    }
}
