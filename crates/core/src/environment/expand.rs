//! `$(VAR)` in the value of a variable.

/// More than Linux takes as one variable (128 KiB); without a limit, a few variables that repeat each other fill any memory.
pub const LENGTH_MAX: usize = 128 * 1024;

/// The value with its references replaced, or `None` when it becomes too long. References to unknown variables stay.
pub fn expand<'v>(value: &str, mut look_up: impl FnMut(&str) -> Option<&'v str>) -> Option<String> {
    let mut out = String::new();
    let mut rest = value;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let consumed = replace(from, &mut look_up, &mut out);
        if out.len() > LENGTH_MAX {
            return None;
        }
        rest = &from[consumed..];
    }
    out.push_str(rest);
    (out.len() <= LENGTH_MAX).then_some(out)
}

/// Writes the expansion of a text that begins with a dollar sign, and returns how many bytes of it are consumed.
fn replace<'v>(text: &str, look_up: &mut impl FnMut(&str) -> Option<&'v str>, out: &mut String) -> usize {
    let name = text.strip_prefix("$(").and_then(|inside| inside.split_once(')')).map(|(name, _)| name);
    match name {
        // KEDA: a dollar sign among the last three bytes is a dollar sign.
        _ if text.len() < 4 => {
            out.push('$');
            1
        }
        _ if text.starts_with("$$") => {
            out.push('$');
            2
        }
        Some(name) => {
            let whole = "$(".len() + name.len() + ")".len();
            out.push_str(look_up(name).unwrap_or(&text[..whole]));
            whole
        }
        None => {
            out.push('$');
            1
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(name: &str) -> Option<&'static str> {
        match name {
            "A" => Some("1"),
            "B" => Some("two"),
            "LOOP" => Some("$(LOOP)"),
            _ => None,
        }
    }

    #[test]
    fn references_are_replaced_as_keda_does() {
        let rows = [
            ("$(A)", "1"),
            ("x$(B)y", "xtwoy"),
            ("$$(A)", "$(A)"),
            ("$$(A)$(A)", "$(A)1"),
            ("$$$(A)", "$1"),
            ("$(NOPE)", "$(NOPE)"),
            ("$$ab", "$ab"),
            ("cost $5 and $(A)", "cost $5 and 1"),
            ("a$$", "a$$"),
            ("$$$$", "$$$"),
            ("$()", "$()"),
            ("$(A", "$(A"),
            ("$(A $(B)", "$(A $(B)"),
            ("$(LOOP)", "$(LOOP)"),
            ("$($$ab", "$($ab"),
            ("", ""),
            ("$", "$"),
            ("é$é", "é$é"),
        ];
        for (value, expected) in rows {
            assert_eq!(expand(value, known).as_deref(), Some(expected), "{value}");
        }
    }

    #[test]
    fn values_that_become_too_long_are_rejected() {
        let long = "x".repeat(LENGTH_MAX);
        assert!(expand("$(X)", |_| Some(long.as_str())).is_some());
        assert!(expand("$(X)$(X)", |_| Some(long.as_str())).is_none());
    }

    proptest! {
        #[test]
        fn a_text_without_dollar_signs_stays(value in "[^$]{0,40}") {
            prop_assert_eq!(expand(&value, known), Some(value));
        }

        #[test]
        fn any_short_text_can_be_expanded(value in "[$()AB é]{0,40}") {
            prop_assert!(expand(&value, known).is_some());
        }
    }
}
