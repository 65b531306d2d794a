//! The word that was probably meant.

use strsim::osa_distance;

/// The closest of some words: the same but for case and surrounding space, or with few letters wrong, or cut short.
pub fn nearest<'w>(word: &str, words: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let word = word.trim().to_lowercase();
    let scored = words.into_iter().map(|known| (distance(&word, &known.to_lowercase()), known));
    let is_close = |(distance, known): &(usize, &str)| *distance <= tolerated(known.len().min(word.len()));
    scored.filter(is_close).min().map(|(_, known)| known)
}

/// A letter in three may be wrong; of short words fewer, or everything would be close to everything.
fn tolerated(letters: usize) -> usize {
    match letters {
        0..=3 => 0,
        4..=5 => 1,
        6..=8 => 2,
        letters => letters / 3,
    }
}

/// The beginning of a long word is close to it: `maxReplicas`, as an HPA has it, and `maxReplicaCount`.
fn distance(word: &str, known: &str) -> usize {
    let stem = word.trim_end_matches('s');
    if stem.len() >= 6 && known.starts_with(stem) { usize::from(word != known) } else { osa_distance(word, known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_known_by_most_of_its_letters() {
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
