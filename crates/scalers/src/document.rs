//! Numbers in documents that others write: JSON, by paths as GJSON has them, and YAML, by names with dots between them. No error
//! repeats a part of a document, which may be secret.

mod json;
mod value;
mod yaml;

pub(crate) use json::JsonPath;
pub(crate) use value::{Found, Unusable, quantity};
pub(crate) use yaml::YamlPath;
