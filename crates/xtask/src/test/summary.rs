//! The end of a test command: where the time went, what failed, and the command that repeats it.

use std::fmt::Write;
use std::time::Duration;

use super::steps::{Lane, Outcome, StepResult};

/// The time table, and the failures if there are any.
pub(super) fn render(results: &[StepResult], total: Duration) -> String {
    let mut text = "== where the time went\n".to_owned();
    for result in results {
        let background = if result.lane == Lane::Back { " (in the background)" } else { "" };
        let line = match &result.outcome {
            Outcome::Passed(took) => format!("{:>5} s  {}{background}", took.as_secs(), result.name),
            Outcome::Failed(took, _) => format!("{:>5} s  {}{background}  FAILED", took.as_secs(), result.name),
            Outcome::NotRun(why) => format!("      -  {}  not run: {why}", result.name),
        };
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(text, "{:>5} s  in total", total.as_secs());
    if !has_passed(results) {
        text.push_str(&failures(results));
    }
    text
}

/// Whether every step ran and passed.
pub(super) fn has_passed(results: &[StepResult]) -> bool {
    results.iter().all(|result| matches!(result.outcome, Outcome::Passed(_)))
}

fn failures(results: &[StepResult]) -> String {
    let mut text = "== what failed\n".to_owned();
    for result in results {
        let what = match &result.outcome {
            Outcome::Passed(_) => continue,
            Outcome::Failed(_, error) => format!("failed: {error}"),
            Outcome::NotRun(why) => format!("not run: {why}"),
        };
        let _ = writeln!(text, "{}: {what}\n    repeat: {}", result.name, result.repeat);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(name: &'static str, outcome: Outcome) -> StepResult {
        StepResult { name, lane: Lane::Front, repeat: format!("cargo test --test {name}"), outcome }
    }

    #[test]
    fn the_summary_names_what_failed_and_how_to_repeat_it() {
        let seconds = Duration::from_secs;
        let results = [
            result("golden", Outcome::Passed(seconds(12))),
            StepResult { lane: Lane::Back, ..result("faults", Outcome::Failed(seconds(300), "exit status: 1".into())) },
            result("parity", Outcome::NotRun("`tools` failed".into())),
        ];
        let expected = "== where the time went
   12 s  golden
  300 s  faults (in the background)  FAILED
      -  parity  not run: `tools` failed
  315 s  in total
== what failed
faults: failed: exit status: 1
    repeat: cargo test --test faults
parity: not run: `tools` failed
    repeat: cargo test --test parity
";
        assert_eq!(render(&results, seconds(315)), expected);
        assert!(!has_passed(&results));
    }

    #[test]
    fn without_failures_the_summary_is_the_time_table() {
        let results = [result("golden", Outcome::Passed(Duration::from_secs(1)))];
        let expected = "== where the time went\n    1 s  golden\n    1 s  in total\n";
        assert_eq!(render(&results, Duration::from_secs(1)), expected);
        assert!(has_passed(&results));
    }
}
