//! Names chosen by patterns.

/// Whether a name fits a pattern, in which `*` matches any text.
pub fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            name.char_indices().map(|(at, _)| at).chain([name.len()]).any(|at| fits(&name[at..], rest))
        }),
    }
}

/// Whether a name fits one of the patterns in an environment variable, with commas between them; all do, if it is not set.
pub fn is_chosen(name: &str, variable: &str) -> bool {
    let patterns = std::env::var(variable).unwrap_or_else(|_| "*".into());
    patterns.split(',').any(|pattern| fits(name, pattern))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_matches_any_text() {
        let rows = [
            ("cron-active", "*", true),
            ("cron-active", "cron-*", true),
            ("cron-active", "*-active", true),
            ("cron-active", "c*n*e", true),
            ("cron-active", "cron-active", true),
            ("cron-active", "cron", false),
            ("cron-active", "cron-*-x", false),
        ];
        for (name, pattern, expected) in rows {
            assert_eq!(fits(name, pattern), expected, "{name} {pattern}");
        }
    }
}
