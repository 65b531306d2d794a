//! `docs/reference/operator.md`, generated from the definitions of flags and variables.

use std::fmt::Write as _;

use clap::{Arg, Args as _, Command};

use super::compatible::{IGNORED, Ignored, reasons};
use super::environment::{IGNORED_VARIABLES, VARIABLES};
use super::flags::{Flags, OWN};
use super::pending::PENDING;

const OPENING: &str = "\
# Flags and variables of the operator

<!-- Written by `cargo xtask generate`. -->

`kedge operator` takes the arguments and the environment that KEDA's manifests and Helm chart give to KEDA's operator and to its metrics
adapter. A flag without a meaning here is accepted; a log line at start names it and the reason. Unknown flags and invalid values are
errors: the operator reports all of them at once, each with its flag or variable and a remedy.

- `--flag=value` and `--flag value` are the same. A switch is `--flag`, `--flag=true` or `--flag=false`.
- The last of repeated flags counts.
- An address is `host:port`. `:port` means every interface, IPv6 and IPv4.
- A duration has Go's format: `90s`, `1m30s`, `250ms`.
- An empty variable counts as unset.
- Kedge's own flags take precedence over KEDA's flags for the same setting.

*Not yet* in the last column: the value is validated, and has no effect yet.
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
        "\n## Environment variables\n\nAll are KEDA's, except `KEDGE_OUTBOUND_POLICY`. KEDA's chart sets `POD_NAME`, which only Kedge reads.\n\n",
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
    fn pending_and_own_flags_are_described() {
        let page = render();
        for name in PENDING {
            assert!(page.contains(&format!("`--{name}=")) || page.contains(&format!("| `{name}` |")), "{name}");
        }
        for name in OWN {
            assert!(page.contains(&format!("`--{name}=")), "{name}");
        }
    }
}
