//! The notation of loads and their amounts.

use anyhow::{Context, bail};

pub(super) const FORMS: &str =
    "use day, constant:N, ramp:A..B, wave:MIN..MAX/PERIOD, spike:N@AT+LEN, or the name of a CSV file that exists";

/// A finite number that is not negative: no queue has fewer than no messages.
pub(super) fn parse_amount(text: &str) -> anyhow::Result<f64> {
    let amount: f64 = text.trim().parse().with_context(|| format!("{text:?} is not a number"))?;
    if !amount.is_finite() || amount < 0.0 {
        bail!("{text:?} is not a number of zero or more");
    }
    Ok(amount)
}
