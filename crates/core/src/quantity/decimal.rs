//! Decimal numbers of any length: digits times a power of ten. Only what quantities need of them.

use std::cmp::Ordering;

/// The exponent of the smallest unit a quantity has.
pub(super) const NANO: i32 = -9;

/// `digits * 10^exponent` with a sign. Zero has no digits; other numbers begin with a digit that is not zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// 0 to 9 each, the most significant first.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    pub(super) fn new(value: i64, exponent: i64) -> Decimal {
        let digits = value.unsigned_abs().to_string().bytes().map(|byte| byte - b'0').collect();
        Decimal::normal(value < 0, digits, exponent)
    }

    /// Reads digits with at most one point among them; `None` when there is not a single digit.
    pub(super) fn parse(negative: bool, text: &str, exponent: i64) -> Option<Decimal> {
        let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_digit).map(|byte| byte - b'0').collect();
        let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        (!digits.is_empty()).then(|| Decimal::normal(negative, digits, exponent - places as i64))
    }

    fn normal(negative: bool, mut digits: Vec<u8>, exponent: i64) -> Decimal {
        let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
        digits.drain(..zeros);
        let zero = digits.is_empty();
        Decimal { negative: negative && !zero, digits, exponent: if zero { 0 } else { exponent } }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.negative
    }

    pub(super) fn abs(&self) -> Decimal {
        Decimal { negative: false, ..self.clone() }
    }

    pub(super) fn with_sign_of(self, other: &Decimal) -> Decimal {
        Decimal { negative: other.negative, ..self }
    }

    pub(super) fn times_power_of_two(self, bits: u32) -> Decimal {
        let mut digits = Vec::with_capacity(self.digits.len() + 20);
        let mut carry: u128 = 0;
        for digit in self.digits.iter().rev() {
            carry += u128::from(*digit) << bits;
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
        while carry > 0 {
            digits.push((carry % 10) as u8);
            carry /= 10;
        }
        digits.reverse();
        Decimal::normal(self.negative, digits, self.exponent)
    }

    /// Rounds to nano, away from zero: a small amount never becomes zero.
    pub(super) fn round_to_nano(self) -> Decimal {
        let excess = i64::from(NANO) - self.exponent;
        if self.is_zero() || excess <= 0 {
            return self;
        }
        let (mut kept, rest) = self.split(i64::from(NANO));
        if rest == Rest::Some {
            increment(&mut kept);
        }
        Decimal::normal(self.negative, kept, i64::from(NANO))
    }

    /// The digits in front of `10^exponent`, and whether something other than zeros follows them.
    fn split(&self, exponent: i64) -> (Vec<u8>, Rest) {
        let cut = usize::try_from(exponent - self.exponent).unwrap_or(0).min(self.digits.len());
        let (kept, dropped) = self.digits.split_at(self.digits.len() - cut);
        (kept.to_vec(), if dropped.iter().all(|&digit| digit == 0) { Rest::None } else { Rest::Some })
    }

    pub(super) fn is_integer(&self) -> bool {
        self.split(0).1 == Rest::None
    }

    /// The lowest 64 bits of the magnitude in units of `10^exponent`, rounded down, and whether that was exact.
    fn low_bits(&self, exponent: i64) -> (u64, Rest) {
        let (kept, rest) = self.split(exponent);
        let bits = kept.iter().fold(0_u64, |bits, &digit| bits.wrapping_mul(10).wrapping_add(u64::from(digit)));
        // 10^64 is a multiple of 2^64: from there on all requested bits are zero.
        let zeros = (self.exponent - exponent).clamp(0, 64) as u32;
        (bits.wrapping_mul(10_u64.wrapping_pow(zeros)), rest)
    }

    /// The magnitude of an integer below 2^64.
    pub(super) fn magnitude(&self) -> u64 {
        self.low_bits(0).0
    }

    /// The amount in units of `10^scale` (zero or milli), rounded as Kubernetes rounds numbers of this length.
    pub(super) fn scaled(&self, scale: i32) -> i64 {
        let limit = Decimal::new(i64::MAX, i64::from(NANO));
        if self.compare(&limit).is_lt() {
            // KEDA: a count of nanos that is too negative wraps, and the one that is added for a rest is added to
            // negatives too: -1n becomes 1.
            let nanos = self.low_bits(i64::from(NANO)).0 as i64;
            let nanos = if self.negative { nanos.wrapping_neg() } else { nanos };
            let divisor = 10_i64.pow(scale.abs_diff(NANO));
            return nanos / divisor + i64::from(nanos % divisor != 0);
        }
        // KEDA: the quotient is exact, but only its low 64 bits are kept.
        let (bits, rest) = self.low_bits(i64::from(scale));
        (bits as i64).wrapping_add(i64::from(rest == Rest::Some))
    }

    /// The number of nanos, as the nearest float.
    pub(super) fn nanos_as_f64(&self) -> f64 {
        if self.is_zero() {
            return 0.0;
        }
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}e{}", text_of(&self.digits), self.exponent - i64::from(NANO));
        text.parse().expect("digits and an exponent are a float")
    }

    /// The magnitude as digits and an exponent that is a multiple of three, with as few zeros as that allows.
    pub(super) fn in_thousands(&self) -> (String, i64) {
        let zeros = self.digits.iter().rev().take_while(|&&digit| digit == 0).count();
        let significant = &self.digits[..self.digits.len() - zeros];
        let exponent = self.exponent + zeros as i64;
        let padding = exponent.rem_euclid(3);
        (text_of(significant) + &"0".repeat(padding as usize), exponent - padding)
    }

    fn cmp_magnitude(&self, other: &Decimal) -> Ordering {
        // The place of the first digit decides; zeros at the end do not.
        let place = |number: &Decimal| number.exponent + number.digits.len() as i64;
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => return Ordering::Less,
            (false, true) => return Ordering::Greater,
            (false, false) => {}
        }
        let width = self.digits.len().max(other.digits.len());
        let padded = |number: &Decimal| number.digits.iter().copied().chain(std::iter::repeat(0)).take(width).collect();
        place(self).cmp(&place(other)).then_with(|| {
            let (left, right): (Vec<u8>, Vec<u8>) = (padded(self), padded(other));
            left.cmp(&right)
        })
    }

    /// Compares the numbers; `==` distinguishes 10 from 1e1.
    pub(super) fn compare(&self, other: &Decimal) -> Ordering {
        match (self.negative, other.negative) {
            (false, false) => self.cmp_magnitude(other),
            (true, true) => other.cmp_magnitude(self),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

/// What was left when digits were cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    None,
    Some,
}

fn increment(digits: &mut Vec<u8>) {
    for digit in digits.iter_mut().rev() {
        if *digit < 9 {
            *digit += 1;
            return;
        }
        *digit = 0;
    }
    digits.insert(0, 1);
}

fn text_of(digits: &[u8]) -> String {
    digits.iter().map(|&digit| char::from(b'0' + digit)).collect()
}
