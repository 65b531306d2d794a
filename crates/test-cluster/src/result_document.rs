//! A document with the result of a measurement.

use std::fs;
use std::path::Path;

use anyhow::Context;

const END: &str = "<!-- The end of the result. -->";

/// Writes the result of a command into a document, in place of the previous one, or at its end. Such commands have a flag `--write`.
pub fn write(path: &Path, command: &str, result: &str) -> anyhow::Result<()> {
    let old = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(path, replace_result(&old, command, result)).with_context(|| format!("cannot write {}", path.display()))
}

fn replace_result(old: &str, command: &str, result: &str) -> String {
    let begin = format!("<!-- The result: written by `cargo xtask {command} --write`. -->");
    let (before, after) = match (old.split_once(&begin), old.split_once(END)) {
        (Some((before, _)), Some((_, after))) => (before.to_owned(), after),
        _ => (format!("{}\n\n", old.trim_end()), "\n"),
    };
    format!("{before}{begin}\n\n{result}\n\n{END}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_replaces_the_previous_one() {
        let begin = "<!-- The result: written by `cargo xtask peer takeover --write`. -->";
        let first = replace_result("# Title\n\nText.\n", "peer takeover", "one");
        assert_eq!(first, format!("# Title\n\nText.\n\n{begin}\n\none\n\n{END}\n"));
        let second = replace_result(&first.replace("Text.", "Other."), "peer takeover", "two");
        assert_eq!(second, format!("# Title\n\nOther.\n\n{begin}\n\ntwo\n\n{END}\n"));
    }
}
