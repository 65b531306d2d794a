//! Pseudo-random numbers from a seed (splitmix64): the same seed gives the same sequence in every build.

/// The increment of splitmix64, 2^64 divided by the golden ratio.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

/// A seeded generator.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mix(self.0)
    }

    /// One of `0..limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.next_u64() % limit.max(1)
    }

    /// One element of a list that is not empty.
    pub fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.index(all.len())]
    }

    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.index(last + 1);
            all.swap(last, other);
        }
    }

    fn index(&mut self, length: usize) -> usize {
        let limit = u64::try_from(length).expect("a length fits 64 bits");
        usize::try_from(self.below(limit)).expect("a number below a length is an index")
    }
}

/// The finaliser of splitmix64: spreads numbers that differ in a few bits over the whole range.
pub fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// The number at an index of a sequence, without the numbers before it.
pub fn nth(seed: u64, index: u64) -> u64 {
    mix(seed.wrapping_add(index.wrapping_mul(INCREMENT)))
}

/// A number as a fraction: at least 0, below 1.
pub fn to_fraction(number: u64) -> f64 {
    // The upper 53 bits are what a double holds exactly.
    (number >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Rng, nth, to_fraction};

    #[test]
    fn a_seed_gives_the_published_sequence() {
        let mut rng = Rng::from_seed(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| rng.next_u64()).collect();
        assert_eq!(numbers, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    proptest! {
        #[test]
        fn the_nth_number_is_that_of_the_sequence(seed: u64, index in 1..50_u64) {
            let mut rng = Rng::from_seed(seed);
            let last = (0..index).map(|_| rng.next_u64()).last();
            prop_assert_eq!(last, Some(nth(seed, index)));
        }

        #[test]
        fn a_shuffle_keeps_every_element(seed: u64, length in 0..30_usize) {
            let mut all: Vec<usize> = (0..length).collect();
            Rng::from_seed(seed).shuffle(&mut all);
            all.sort_unstable();
            prop_assert_eq!(all, (0..length).collect::<Vec<_>>());
        }

        #[test]
        fn fractions_are_below_one(number: u64) {
            prop_assert!((0.0..1.0).contains(&to_fraction(number)));
        }
    }
}
