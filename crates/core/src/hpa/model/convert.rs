//! From floats to integers as the controller's amd64 build does it. Rust's `as` saturates instead.

/// Truncates; what does not fit, infinities and NaN included, is the minimum.
pub(super) fn to_i32(value: f64) -> i32 {
    // -2147483648.9 truncates to the minimum, so the lower end is one further down.
    if value > -2_147_483_649.0 && value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// Truncates; what does not fit, infinities and NaN included, is the minimum.
pub(super) fn to_i64(value: f64) -> i64 {
    // Both ends are powers of two and exact; no double lies between the lower end and the next integer below.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) { value as i64 } else { i64::MIN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_the_minimum() {
        let rows = [
            ("fractions go toward zero", 2.9, 2, 2),
            ("negative fractions too", -2.9, -2, -2),
            ("not a number", f64::NAN, i32::MIN, i64::MIN),
            ("infinity", f64::INFINITY, i32::MIN, i64::MIN),
            ("negative infinity", f64::NEG_INFINITY, i32::MIN, i64::MIN),
            ("the largest i32", 2_147_483_647.5, i32::MAX, 2_147_483_647),
            ("one more than it", 2_147_483_648.0, i32::MIN, 2_147_483_648),
            ("beyond both", 9.3e18, i32::MIN, i64::MIN),
        ];
        for (name, value, small, large) in rows {
            assert_eq!((to_i32(value), to_i64(value)), (small, large), "{name}");
        }
    }
}
