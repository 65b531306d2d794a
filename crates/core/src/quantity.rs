//! Kubernetes quantities (`1500m`, `2.5`, `1Gi`, `12e6`): what a metric value, a target or a tolerance is written in.
//!
//! Numbers, rounding, overflow and spelling are those of the Kubernetes API machinery, because the HPA controller reads
//! what we write with exactly that code. `parse` reads text, `decimal` holds numbers of any length, `print` writes the
//! canonical text; this file holds the type and the numbers that are taken from it.

mod decimal;
mod parse;
mod print;

use std::cmp::Ordering;

use decimal::{Decimal, NANO};

pub use parse::ParseError;

const MILLI: i32 = -3;

/// A parsed quantity. It keeps its notation, and its spelling where Kubernetes does; `==` compares these too, and
/// [`Quantity::cmp_value`] compares only the amounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantity {
    amount: Amount,
    notation: Notation,
    /// The text it was parsed from, where that counts as canonical already.
    spelling: Option<String>,
}

/// How an amount is stored decides how its overflow looks, so both representations of Kubernetes are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Amount {
    /// `value * 10^scale`, for most numbers of up to 18 digits; `scale` is never below nano.
    Small { value: i64, scale: i32 },
    /// Everything else, cut off at nano.
    Large(Decimal),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// `1k`, `1M`, `500m`
    DecimalSuffix,
    /// `1e3`
    DecimalExponent,
    /// `1Ki`, `1Mi`
    BinarySuffix,
}

impl Quantity {
    /// Parses a quantity; blanks around it are not allowed.
    pub fn parse(text: &str) -> Result<Quantity, ParseError> {
        parse::parse(text)
    }

    /// A number of thousandths, in decimal notation.
    pub fn from_milli(milli: i64) -> Quantity {
        Quantity {
            amount: Amount::Small { value: milli, scale: MILLI },
            notation: Notation::DecimalSuffix,
            spelling: None,
        }
    }

    /// The amount in thousandths, rounded away from zero, with the overflow of [`Self::value`].
    pub fn milli_value(&self) -> i64 {
        self.scaled(MILLI)
    }

    /// The amount in units, rounded away from zero.
    ///
    /// KEDA: an amount that does not fit is 0 or wraps around, as in Kubernetes; no error is raised.
    pub fn value(&self) -> i64 {
        self.scaled(0)
    }

    /// The nearest float, give or take a last digit: a mantissa times a power of ten, each rounded by itself.
    pub fn approx_f64(&self) -> f64 {
        let (mantissa, exponent) = match &self.amount {
            Amount::Small { value, scale } => (*value as f64, *scale),
            Amount::Large(decimal) => (decimal.nanos_as_f64(), NANO),
        };
        // Zero is taken out, because `0e400` would be zero times infinity.
        if exponent == 0 || mantissa == 0.0 { mantissa } else { mantissa * power_of_ten(exponent) }
    }

    /// The text that Kubernetes stores for this quantity.
    ///
    /// A spelling is kept as it was written when its digits, the point left out, begin with no zero and do not end in
    /// `000`, and its exponent is a multiple of three: `2.500`, `+5`, `1E3`, `12e6`. So `1.5` becomes `1500m`, and
    /// `1000m` becomes `1`.
    pub fn canonical(&self) -> String {
        self.spelling.clone().unwrap_or_else(|| print::render(self))
    }

    /// Whether it is above zero.
    pub fn is_positive(&self) -> bool {
        self.cmp_value(&Quantity::from_milli(0)) == Ordering::Greater
    }

    /// Compares the amounts, whatever the notation.
    pub fn cmp_value(&self, other: &Quantity) -> Ordering {
        self.decimal().compare(&other.decimal())
    }

    fn decimal(&self) -> Decimal {
        match &self.amount {
            Amount::Small { value, scale } => Decimal::new(*value, i64::from(*scale)),
            Amount::Large(decimal) => decimal.clone(),
        }
    }

    /// The amount in units of `10^scale`; `scale` is zero or milli.
    fn scaled(&self, scale: i32) -> i64 {
        match &self.amount {
            Amount::Small { value, scale: own } if *own < scale => divide_away_from_zero(*value, own.abs_diff(scale)),
            Amount::Small { value, scale: own } => multiply_as_kubernetes(*value, own.abs_diff(scale)),
            Amount::Large(decimal) => decimal.scaled(scale),
        }
    }
}

/// `value / 10^places` for up to nine places (from nano to units).
fn divide_away_from_zero(value: i64, places: u32) -> i64 {
    let divisor = 10_i64.pow(places);
    let quotient = value / divisor;
    if value % divisor == 0 { quotient } else { quotient + value.signum() }
}

/// `value * 10^places`, or what Kubernetes takes for it.
fn multiply_as_kubernetes(value: i64, places: u32) -> i64 {
    match places {
        // KEDA: these powers are multiplied in one step, whose overflow wraps; all others end as 0.
        0..=3 | 6 | 9 => value.wrapping_mul(10_i64.pow(places)),
        _ => 10_i64.checked_pow(places).and_then(|factor| value.checked_mul(factor)).unwrap_or(0),
    }
}

/// `10^exponent` as Go computes it: from two tables, so that beyond 10^31 the last digit may be off.
fn power_of_ten(exponent: i32) -> f64 {
    const UNITS: [f64; 32] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29, 1e30, 1e31,
    ];
    const BLOCKS: [f64; 10] = [1e0, 1e32, 1e64, 1e96, 1e128, 1e160, 1e192, 1e224, 1e256, 1e288];
    let size = exponent.unsigned_abs() as usize;
    match exponent {
        0..=308 => BLOCKS[size / 32] * UNITS[size % 32],
        309.. => f64::INFINITY,
        // No amount has a smaller unit than nano.
        NANO..0 => 1.0 / UNITS[size],
        _ => 0.0,
    }
}

/// From here on Kubernetes runs out of suffixes and prints a number without its exponent (`1e21` as `1`).
const PRINTABLE_BELOW: f64 = 1e21;

/// The text in which a metric value or a float target is published.
///
/// NaN, infinities and negatives are `0`; everything else is rounded to three decimals, from the exact binary value,
/// and spelled as Kubernetes would store it. Values of 1e21 and more become `9223372036854775807m`, the largest amount
/// whose milli value the HPA controller can hold.
pub fn format_float(value: f64) -> String {
    if !value.is_finite() || value <= 0.0 {
        return "0".to_owned();
    }
    if value >= PRINTABLE_BELOW {
        return Quantity::from_milli(i64::MAX).canonical();
    }
    // KEDA: the text with three decimals is parsed, not the number, so 2.5 is published as `2.500` and 0.5 as `500m`.
    Quantity::parse(&format!("{value:.3}")).expect("digits, a point and three digits are a quantity").canonical()
}

#[cfg(test)]
mod tests;
