//! The users of an authentication object as its status lists them: names separated by commas.

/// The new list: names that are still users keep their position, new ones follow, others are removed. `None` without users.
pub fn render_users(before: Option<&str>, users: &[String]) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    let kept = before.unwrap_or_default().split(',').filter(|name| users.iter().any(|user| user == name));
    for name in kept.chain(users.iter().map(String::as_str)) {
        // KEDA: names carry no namespace, so equal ones are one entry.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(","))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_keep_their_position_and_stale_ones_are_removed() {
        type Row = (&'static str, Option<&'static str>, &'static [&'static str], Option<&'static str>);
        let rows: [Row; 6] = [
            ("the first", None, &["a"], Some("a")),
            ("a new one is appended", Some("b"), &["a", "b"], Some("b,a")),
            ("a stale one is removed", Some("b,a"), &["a"], Some("a")),
            ("the last one is removed", Some("a"), &[], None),
            ("equal names of two namespaces are one", None, &["a", "a"], Some("a")),
            ("the list was empty", Some(""), &["a"], Some("a")),
        ];
        for (name, before, users, expected) in rows {
            let users: Vec<String> = users.iter().map(|user| (*user).to_owned()).collect();
            assert_eq!(render_users(before, &users).as_deref(), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn rendering_twice_changes_nothing(before in "[a-c,]{0,9}", users in proptest::collection::vec("[a-e]", 0..5)) {
            let first = render_users(Some(&before), &users);
            prop_assert_eq!(render_users(first.as_deref(), &users), first);
        }
    }
}
