//! One field of a cron expression: its bounds, its grammar, its errors.

use std::fmt;

use super::CronError;

/// The five fields, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Minute,
    Hour,
    DayOfMonth,
    Month,
    DayOfWeek,
}

/// What is wrong with a field, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CronFieldError {
    #[error("`{text}` is not a number{names}; use *, N, A-B, lists of them, and /step")]
    NotANumber { text: String, names: &'static str },
    #[error("{value} is out of range {min}-{max}{hint}")]
    OutOfRange { value: u64, min: u32, max: u32, hint: &'static str },
    #[error("`{text}` ends before it begins; split it in two ranges, with a comma between them")]
    Backwards { text: String },
    #[error("`{text}` has no step of 1 or more; write a whole number after the slash")]
    Step { text: String },
    #[error("`{text}` has more than one hyphen or slash; write A-B/step")]
    TooManyParts { text: String },
}

/// The values that a field allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Values {
    bits: u64,
    /// A `*` or `?` with no step, or with step 1, is among them.
    star: bool,
}

impl Values {
    pub(super) fn contains(self, value: u32) -> bool {
        self.bits >> value & 1 == 1
    }

    pub(super) fn has_star(self) -> bool {
        self.star
    }
}

const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

impl fmt::Display for Field {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Field::Minute => "minute",
            Field::Hour => "hour",
            Field::DayOfMonth => "day of month",
            Field::Month => "month",
            Field::DayOfWeek => "day of week",
        })
    }
}

impl Field {
    fn bounds(self) -> (u32, u32) {
        match self {
            Field::Minute => (0, 59),
            Field::Hour => (0, 23),
            Field::DayOfMonth => (1, 31),
            Field::Month => (1, 12),
            Field::DayOfWeek => (0, 6),
        }
    }

    /// Names of the values, beginning at the lower bound.
    fn names(self) -> &'static [&'static str] {
        match self {
            Field::Month => &MONTHS,
            Field::DayOfWeek => &WEEKDAYS,
            Field::Minute | Field::Hour | Field::DayOfMonth => &[],
        }
    }

    /// KEDA: empty elements are dropped, so a field of commas alone allows nothing.
    pub(super) fn parse(self, text: &str) -> Result<Values, CronError> {
        let elements = text.split(',').filter(|element| !element.is_empty());
        let values: Result<Vec<Values>, CronFieldError> = elements.map(|element| self.parse_element(element)).collect();
        let union = |all: Values, one: Values| Values { bits: all.bits | one.bits, star: all.star || one.star };
        values
            .map(|values| values.into_iter().fold(Values::default(), union))
            .map_err(|problem| CronError::Field { field: self, problem })
    }

    fn parse_element(self, text: &str) -> Result<Values, CronFieldError> {
        let (range, step) = match text.split_once('/') {
            Some((_, step)) if step.contains('/') => return Err(too_many_parts(text)),
            Some((range, step)) => (range, Some(parse_step(step).ok_or_else(|| no_step(text))?)),
            None => (text, None),
        };
        let (min, max) = self.bounds();
        let (from, to, star) = match range.split_once('-').unwrap_or((range, "")) {
            // KEDA: text after the hyphen that follows a star is ignored.
            ("*" | "?", _) => (min, max, true),
            _ => {
                let (from, to) = self.parse_range(text, range, step.is_some())?;
                (from, to, false)
            }
        };
        let step = step.unwrap_or(1);
        let width = usize::try_from(step).unwrap_or(usize::MAX);
        let bits = (from..=to).step_by(width).fold(0, |bits, value| bits | 1 << value);
        Ok(Values { bits, star: star && step == 1 })
    }

    fn parse_range(self, text: &str, range: &str, stepped: bool) -> Result<(u32, u32), CronFieldError> {
        let (min, max) = self.bounds();
        let (from, to) = match range.split_once('-') {
            Some((_, to)) if to.contains('-') => return Err(too_many_parts(text)),
            Some((from, to)) => (self.parse_value(from)?, self.parse_value(to)?),
            None => {
                let from = self.parse_value(range)?;
                // `N/step` runs to the upper bound.
                (from, if stepped { max } else { from })
            }
        };
        debug_assert!(from >= min && to <= max, "each value was checked");
        if from > to { Err(CronFieldError::Backwards { text: text.to_owned() }) } else { Ok((from, to)) }
    }

    fn parse_value(self, text: &str) -> Result<u32, CronFieldError> {
        let (min, max) = self.bounds();
        if let Some(index) = self.names().iter().position(|name| name.eq_ignore_ascii_case(text)) {
            return Ok(min + index as u32);
        }
        let value = parse_number(text)
            .ok_or_else(|| CronFieldError::NotANumber { text: text.to_owned(), names: self.names_hint() })?;
        let hint = if self == Field::DayOfWeek && value == 7 { "; Sunday is 0" } else { "" };
        let allowed = u32::try_from(value).ok().filter(|value| (min..=max).contains(value));
        allowed.ok_or(CronFieldError::OutOfRange { value, min, max, hint })
    }

    fn names_hint(self) -> &'static str {
        match self {
            Field::Month => " or one of jan to dec",
            Field::DayOfWeek => " or one of sun to sat",
            Field::Minute | Field::Hour | Field::DayOfMonth => "",
        }
    }
}

/// KEDA: a plus sign and leading zeros are allowed; what exceeds 63 bits is not a number.
fn parse_number(text: &str) -> Option<u64> {
    text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok())
}

fn parse_step(text: &str) -> Option<u64> {
    parse_number(text).filter(|step| *step > 0)
}

fn no_step(text: &str) -> CronFieldError {
    CronFieldError::Step { text: text.to_owned() }
}

fn too_many_parts(text: &str) -> CronFieldError {
    CronFieldError::TooManyParts { text: text.to_owned() }
}
