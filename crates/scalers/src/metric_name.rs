//! The names of external metrics: `s<index>-<base>`, where the base holds no character with a meaning in a URL path.

/// Replaces the characters that a metric name cannot have.
// KEDA: these six and no others; case, blanks, `,`, `=` and so on stay.
pub fn normalize(base: &str) -> String {
    base.replace(['/', '.', ':', '%', '(', ')'], "-")
}

/// The full name of a metric of the trigger at `index`.
pub fn with_prefix(index: usize, base: &str) -> String {
    format!("s{index}-{base}")
}

/// The base of a full name, if the name is one of the trigger at `index`.
pub fn strip_prefix(index: usize, name: &str) -> Option<&str> {
    let (prefix, base) = name.split_once('-')?;
    (prefix.strip_prefix('s')? == index.to_string()).then_some(base)
}

/// The full name for a base that has yet to be normalised.
pub fn full_name(index: usize, base: &str) -> String {
    with_prefix(index, &normalize(base))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_those_of_keda() {
        let rows = [
            (0, "prometheus", "s0-prometheus"),
            (1, "cron-Etc/UTC-0xSl2xxx-01-23Sl2xxx", "s1-cron-Etc-UTC-0xSl2xxx-01-23Sl2xxx"),
            (12, "a.b:c%d(e)f", "s12-a-b-c-d-e-f"),
            (0, "Keeps,Case=and?other&things_ here", "s0-Keeps,Case=and?other&things_ here"),
        ];
        for (index, base, expected) in rows {
            assert_eq!(full_name(index, base), expected);
        }
    }

    #[test]
    fn a_prefix_is_removed_only_from_its_own_trigger() {
        let rows = [
            ("s1-a-b", 1, Some("a-b")),
            ("s1-a", 0, None),
            ("s11-a", 1, None),
            ("s01-a", 1, None),
            ("x1-a", 1, None),
            ("s1", 1, None),
            ("s1-", 1, Some("")),
            ("", 0, None),
        ];
        for (name, index, expected) in rows {
            assert_eq!(strip_prefix(index, name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn what_was_added_can_be_removed(index in 0usize..1000, base in ".*") {
            let name = with_prefix(index, &base);
            prop_assert_eq!(strip_prefix(index, &name), Some(base.as_str()));
        }

        #[test]
        fn normalising_twice_is_normalising_once(base in ".*") {
            let once = normalize(&base);
            prop_assert_eq!(normalize(&once), once.clone());
            prop_assert_eq!(once.chars().count(), base.chars().count());
            prop_assert!(!once.contains(['/', '.', ':', '%', '(', ')']));
        }

        #[test]
        fn different_triggers_never_share_a_name(one in 0usize..100, other in 0usize..100, base in ".*", second in ".*") {
            prop_assume!(one != other);
            prop_assert_ne!(with_prefix(one, &base), with_prefix(other, &second));
        }
    }
}
