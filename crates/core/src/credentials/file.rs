//! `filePath`: a file of parameters that the operator reads.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::secret::Secret;

/// Where the file is below the root, or what is wrong with the path.
pub fn parse_path(root: &Path, path: &str) -> Result<PathBuf, &'static str> {
    // KEDA: any two dots are refused, also within a name.
    if path.contains("..") {
        return Err("contains ..");
    }
    match Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        true if !path.is_empty() => Ok(root.join(path)),
        true => Err("is empty"),
        false => Err("is not relative"),
    }
}

/// The parameters in the file, or what is wrong with it. The parser's message is left out: it may quote the file.
pub fn parse_params(text: &str) -> Result<BTreeMap<String, Secret>, &'static str> {
    let params: Result<BTreeMap<String, String>, _> = serde_json::from_str(text);
    let params = params.map_err(|_| "is not a JSON object whose values are all strings")?;
    Ok(params.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_below_the_root_are_allowed() {
        let rows = [
            ("a file", "prom.json", Ok("/auth/prom.json")),
            ("in a folder", "team/prom.json", Ok("/auth/team/prom.json")),
            ("upwards", "../etc/passwd", Err("contains ..")),
            ("upwards in the middle", "a/../../etc", Err("contains ..")),
            ("two dots in a name", "a..b", Err("contains ..")),
            ("absolute", "/etc/passwd", Err("is not relative")),
            ("nothing", "", Err("is empty")),
        ];
        for (name, path, expected) in rows {
            assert_eq!(parse_path(Path::new("/auth"), path), expected.map(PathBuf::from), "{name}");
        }
    }

    #[test]
    fn a_file_is_an_object_of_strings_and_nothing_else() {
        let params = parse_params(r#"{"token": "hunter2", "user": ""}"#).unwrap();
        assert_eq!(params["token"].reveal(), "hunter2");
        for text in ["", "hunter2", r#"["hunter2"]"#, r#"{"a": 1}"#, r#"{"a": null}"#, r#"{"a": {"b": "hunter2"}}"#] {
            let error = parse_params(text).unwrap_err();
            assert!(!error.contains("hunter2"), "{text}: {error}");
        }
    }
}
