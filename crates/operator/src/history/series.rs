//! Samples over time in bounded memory: when there are too many, the older half keeps every second one.

/// A series that always reaches back to its first sample, ever more coarsely.
#[derive(Clone, Debug)]
pub(super) struct ThinnedSeries<T> {
    samples: Vec<T>,
    len_max: usize,
}

impl<T> ThinnedSeries<T> {
    pub(super) fn new(len_max: usize) -> Self {
        Self { samples: Vec::new(), len_max: len_max.max(4) }
    }

    pub(super) fn push(&mut self, sample: T) {
        if self.samples.len() >= self.len_max {
            let (half, mut index) = (self.samples.len() / 2, 0);
            self.samples.retain(|_| {
                index += 1;
                index > half || index % 2 == 1
            });
        }
        if self.samples.len() == self.samples.capacity() {
            // As few as possible at a time: most objects never fill their series.
            self.samples.reserve_exact((self.samples.len() / 4).clamp(8, 256));
        }
        self.samples.push(sample);
    }

    pub(super) fn as_slice(&self) -> &[T] {
        &self.samples
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.samples.iter_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_keeps_its_ends_and_its_bound() {
        let mut series = ThinnedSeries::new(100);
        for number in 0..10_000 {
            series.push(number);
            assert!(series.as_slice().len() <= 100);
            assert_eq!(series.as_slice().last(), Some(&number), "the newest is always there");
        }
        let kept = series.as_slice();
        assert_eq!(kept[0], 0, "and so is the first");
        assert!(kept.is_sorted(), "{kept:?}");
        let newest_step = kept[kept.len() - 1] - kept[kept.len() - 2];
        assert_eq!(newest_step, 1, "what is new is not thinned out");
    }
}
