//! Spelling suggestions.

use strsim::osa_distance;

/// The closest of some words: equal but for case and surrounding spaces, within a few edits, or a prefix.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let word = word.trim().to_lowercase();
    let scored = words.into_iter().map(|known| (distance(&word, &known.to_lowercase()), known));
    let is_close = |(distance, known): &(usize, &str)| *distance <= tolerated(known.len().min(word.len()));
    scored.filter(is_close).min().map(|(_, known)| known)
}

/// The edits that are tolerated: one in three letters, fewer in short words, where any two words are close.
fn tolerated(letters: usize) -> usize {
    match letters {
        0..=3 => 0,
        4..=5 => 1,
        6..=8 => 2,
        letters => letters / 3,
    }
}

/// A long prefix counts as close: `maxReplicas`, as an HPA has it, and `maxReplicaCount`.
fn distance(word: &str, known: &str) -> usize {
    let stem = word.trim_end_matches('s');
    if stem.len() >= 6 && known.starts_with(stem) { usize::from(word != known) } else { osa_distance(word, known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_few_wrong_letters_is_found() {
        let words = ["minReplicaCount", "maxReplicaCount", "triggers", "type", "name", "cron", "prometheus"];
        let rows = [
            ("minReplicasCount", Some("minReplicaCount")),
            ("maxReplicas", Some("maxReplicaCount")),
            ("Cron", Some("cron")),
            (" cron", Some("cron")),
            ("trigers", Some("triggers")),
            ("promethues", Some("prometheus")),
            ("typ", None),
            ("kind", None),
            ("telepathy", None),
            ("", None),
        ];
        for (word, expected) in rows {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }
}
