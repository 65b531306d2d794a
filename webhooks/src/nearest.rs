//! The word that was probably meant.

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
    if stem.len() >= 6 && known.starts_with(stem) { usize::from(word != known) } else { edits(word, known) }
}

/// How many letters are to be added, left out, changed or swapped with the next to make one word of the other.
fn edits(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let same = usize::from(left[i - 1] != right[j - 1]);
            let mut best = (rows[i - 1][j] + 1).min(row[j - 1] + 1).min(rows[i - 1][j - 1] + same);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
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
