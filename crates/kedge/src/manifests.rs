//! Manifests: YAML files, folders and standard input, as objects whose fields have positions. Commands that take files share this.
//!
//! | module | what it holds |
//! |---|---|
//! | `files` | the paths of a command line, read |
//! | `stream` | the documents of a text, each parsed by itself, and why one cannot be |
//! | `document` | an object, and the position of each field |

pub(crate) mod document;
pub(crate) mod files;
pub(crate) mod stream;

use std::path::PathBuf;

use serde_json::Value;

pub(crate) use files::LocatedDocument;

/// The stack for the deepest document that is parsed, several times over: an unoptimised parser takes about 40 KiB per level.
const STACK_BYTES: usize = 32 << 20;

/// Runs work whose recursion depth depends on the input.
pub(crate) fn with_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
        let worker = worker.expect("a process can have a second thread");
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// All documents of files, folders or standard input. Fails if any of them cannot be parsed.
pub(crate) fn read_documents(paths: &[PathBuf]) -> anyhow::Result<Vec<LocatedDocument>> {
    with_large_stack(|| files::read_documents(paths))
}

/// The kind, the namespace if the object has one, and the name.
pub(crate) fn name_of(object: &Value) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let (kind, metadata) = (text(&object["kind"]), &object["metadata"]);
    let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
    match (namespace.as_str(), name.as_str()) {
        (_, "") => format!("{kind} without a name"),
        ("", name) => format!("{kind} {name}"),
        (namespace, name) => format!("{kind} {namespace}/{name}"),
    }
}
