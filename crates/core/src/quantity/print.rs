//! Writing the canonical text of a quantity.

use super::decimal::Decimal;
use super::{Notation, Quantity};

/// Suffixes for 10^-9, 10^-6 and so on.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// Suffixes for 1024^0, 1024^1 and so on; an `i64` holds no 1024^7.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

pub(super) fn render(quantity: &Quantity) -> String {
    let number = quantity.decimal();
    if number.is_zero() {
        return "0".to_owned();
    }
    let sign = if number.is_negative() { "-" } else { "" };
    let magnitude = number.abs();
    let text = match quantity.notation {
        Notation::DecimalSuffix => render_suffix(&magnitude),
        Notation::DecimalExponent => render_exponent(&magnitude),
        Notation::BinarySuffix if is_binary(&magnitude) => render_binary(&magnitude),
        Notation::BinarySuffix => render_suffix(&magnitude),
    };
    format!("{sign}{text}")
}

/// Small and broken numbers are clearer, and exact, in decimal.
fn is_binary(magnitude: &Decimal) -> bool {
    magnitude.compare(&Decimal::new(1024, 0)).is_ge() && magnitude.is_integer()
}

fn render_suffix(magnitude: &Decimal) -> String {
    let (digits, exponent) = magnitude.in_thousands();
    // Kubernetes drops an exponent that has no suffix, which prints 10^21 as `1`. We count in E instead.
    let known = exponent.min(18);
    let zeros = "0".repeat((exponent - known) as usize);
    // Nothing is finer than nano, so the first suffix is the smallest that is needed.
    let suffix = DECIMAL[((known + 9) / 3) as usize];
    format!("{digits}{zeros}{suffix}")
}

fn render_exponent(magnitude: &Decimal) -> String {
    match magnitude.in_thousands() {
        (digits, 0) => digits,
        (digits, exponent) => format!("{digits}e{exponent}"),
    }
}

fn render_binary(magnitude: &Decimal) -> String {
    let mut count = magnitude.magnitude();
    let mut power = 0;
    while count.is_multiple_of(1024) && count > 0 {
        count /= 1024;
        power += 1;
    }
    format!("{count}{}", BINARY[power])
}
