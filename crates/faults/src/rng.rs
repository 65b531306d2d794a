//! Rng that is the same every time: all of a run follows from its number.

/// Numbers that look random (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of `0..below`; 0 where there is nothing below.
    pub fn below(&mut self, below: u64) -> u64 {
        self.number() % below.max(1)
    }

    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        let length = u64::try_from(all.len()).expect("a length fits");
        &all[usize::try_from(self.below(length)).expect("below a length")]
    }

    /// Puts a list in another order.
    pub fn shuffle<T>(&mut self, all: &mut [T]) {
        for last in (1..all.len()).rev() {
            let other = self.below(u64::try_from(last + 1).expect("a length fits"));
            all.swap(last, usize::try_from(other).expect("below a length"));
        }
    }
}
