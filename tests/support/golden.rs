//! Golden folders: `tests/golden/TOPIC/CASE/` with the input and the expected output. `UPDATE_GOLDEN=1` rewrites the expected output;
//! the difference is the review.

use std::fs;
use std::path::PathBuf;

use crate::files;

/// One folder.
#[derive(Debug)]
pub struct Case {
    pub name: String,
    folder: PathBuf,
}

/// All cases of a topic, by name.
pub fn cases(topic: &str) -> Vec<Case> {
    let folder = files::workspace().join("tests/golden").join(topic);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("cannot list {}: {error}", folder.display()));
    let folders = entries.map(|entry| entry.expect("a readable folder").path()).filter(|path| path.is_dir());
    let case = |folder: PathBuf| {
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        Case { name: name.unwrap_or_default(), folder }
    };
    let mut cases: Vec<Case> = folders.map(case).collect();
    cases.sort_by(|one, other| one.name.cmp(&other.name));
    cases
}

/// One case of a topic.
pub fn case(topic: &str, name: &str) -> Case {
    cases(topic).into_iter().find(|case| case.name == name).unwrap_or_else(|| panic!("no case {topic}/{name}"))
}

impl Case {
    pub fn path(&self, file: &str) -> PathBuf {
        self.folder.join(file)
    }

    /// Compares a text with a file. Returns the first difference.
    pub fn differs(&self, file: &str, text: &str) -> Option<String> {
        let path = self.path(file);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, text).unwrap_or_else(|error| panic!("cannot write {}: {error}", path.display()));
            return None;
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        let line = expected.lines().zip(text.lines()).position(|(expected, found)| expected != found);
        let line = line.unwrap_or_else(|| expected.lines().count().min(text.lines().count()));
        let at = |text: &str| text.lines().nth(line).unwrap_or("(nothing)").to_owned();
        (expected != text).then(|| {
            let (expected, found) = (at(&expected), at(text));
            format!("{} line {}: expected {expected:?}, found {found:?}", path.display(), line + 1)
        })
    }
}
