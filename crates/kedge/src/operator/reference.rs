//! The page of all flags and variables, made of their definitions.

use std::fmt::Write as _;

use clap::{Arg, Args as _, Command};

use super::settings::compatible::{IGNORED, Ignored, reasons};
use super::settings::environment::{IGNORED_VARIABLES, VARIABLES};
use super::settings::flags::{Flags, OWN};
use super::settings::pending::PENDING;

const OPENING: &str = "\
# Flags and variables of the operator

<!-- Written by `cargo xtask generate`. -->

`kedge operator` takes the arguments and the environment that KEDA's manifests and Helm chart give to KEDA's operator and to its metrics
adapter. What has a meaning here keeps it; what has none is accepted, and a line at start names it and says why. An unknown flag is an
error, and so is a value that cannot be used: all of them are told at once, each with its flag or variable and a remedy.

- `--flag=value` and `--flag value` are the same. A switch is `--flag`, `--flag=true` or `--flag=false`.
- A flag may be repeated; the last one counts.
- An address is `host:port`. `:port` is every interface, IPv6 and IPv4.
- A duration is written as in Go: `90s`, `1m30s`, `250ms`.
- A variable that is empty is one that is not set.
- Flags of Kedge's own win over those of KEDA that say the same.

*Not yet* in the last column: the value is read and checked, and has no effect so far.
";

/// `docs/reference/operator.md`.
pub(crate) fn render() -> String {
    let mut page = OPENING.to_owned();
    let command = Flags::augment_args(Command::new("operator"));
    let shown: Vec<&Arg> = command.get_arguments().filter(|flag| !flag.is_hide_set()).collect();
    let mut headings: Vec<&str> = shown.iter().filter_map(|flag| flag.get_help_heading()).collect();
    headings.dedup();
    for heading in headings {
        let _ =
            writeln!(page, "\n## {heading}\n\n| flag | default | meaning | whose | in effect |\n|---|---|---|---|---|");
        for flag in shown.iter().filter(|flag| flag.get_help_heading() == Some(heading)) {
            page.push_str(&flag_row(flag));
        }
    }
    page.push_str(
        "\n## Environment variables\n\nAll are KEDA's; `POD_NAME` is set by its chart, and read here alone.\n\n",
    );
    page.push_str("| variable | default | meaning | in effect |\n|---|---|---|---|\n");
    for variable in VARIABLES {
        let (name, effect) = (variable.name, effect(variable.name));
        let _ = writeln!(page, "| `{name}` | {} | {} | {effect} |", variable.default, variable.meaning);
    }
    page.push_str("\n## KEDA's flags that have no effect here\n\n| why | flags |\n|---|---|\n");
    for why in reasons(IGNORED.iter()) {
        let same = IGNORED.iter().filter(|ignored| ignored.why == why);
        let _ = writeln!(page, "| {why} | {} |", same.map(ignored_flag).collect::<Vec<_>>().join(", "));
    }
    page.push_str("\n## KEDA's variables that have no effect here\n\n| why | variables |\n|---|---|\n");
    for (names, why) in IGNORED_VARIABLES {
        let names: Vec<String> = names.split(", ").map(|name| format!("`{name}`")).collect();
        let _ = writeln!(page, "| {why} | {} |", names.join(", "));
    }
    page
}

fn flag_row(flag: &Arg) -> String {
    let name = flag.get_long().unwrap_or_default();
    let defaults: Vec<String> = flag.get_default_values().iter().map(|text| text.to_string_lossy().into()).collect();
    let default = match defaults.join(",") {
        none if none.is_empty() => String::new(),
        some => format!("`{some}`"),
    };
    let value = flag.get_value_names().and_then(|names| names.first()).map_or("", |name| name.as_str());
    let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
    let whose = if OWN.contains(&name) { "Kedge" } else { "KEDA" };
    format!("| `--{name}={value}` | {default} | {help} | {whose} | {} |\n", effect(name))
}

fn ignored_flag(ignored: &Ignored) -> String {
    let short = if ignored.flag == "v" { "`-v`, " } else { "" };
    format!("{short}`--{}`", ignored.flag)
}

fn effect(name: &str) -> &'static str {
    if PENDING.contains(&name) { "not yet" } else { "yes" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pending_or_our_own_is_described() {
        let page = render();
        for name in PENDING {
            assert!(page.contains(&format!("`--{name}=")) || page.contains(&format!("| `{name}` |")), "{name}");
        }
        for name in OWN {
            assert!(page.contains(&format!("`--{name}=")), "{name}");
        }
    }
}
