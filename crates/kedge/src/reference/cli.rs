//! `docs/reference/cli.md`: the conventions of all commands, and their help.

use std::fmt::Write as _;

const OPENING: &str = "\
# Commands

<!-- Written by `cargo xtask generate`. -->

## Conventions

The commands that read manifests (`lint`, `rbac`, `simulate`, and `scaler check -f`) take them in the same way:

| input | what is read |
|---|---|
| `web.yaml`, `web.yml`, `web.json` | the file: one or more documents; the items of a `List` count as objects of their own |
| `k8s/` | all `.yaml` and `.yml` files of the folder and its subfolders, and the `.json` files that have an `apiVersion`; not those of hidden folders and `node_modules` |
| `-` | standard input |

Results go to standard output, in the format that `--format` names; `text` is to be read, and `json` is for programs. Errors go to
standard error, and name the file, the line, the field and the remedy. A reader of the output may stop early, as in
`kedge lint k8s/ | head`.

| exit code | meaning |
|---|---|
| 0 | the work is done, and there is nothing to report |
| 1 | the work is done, and it found what `--fail-on` names, or something that would not work |
| 2 | the work could not be done: the command line, a file or the cluster could not be read, or there was no object to work on |

`operator` and `webhooks` run until they are stopped; they exit with 1 if they cannot start, and report every invalid flag and variable
at once.
";

/// The page.
pub(super) fn render(commands: &mut clap::Command) -> String {
    let mut page = OPENING.to_owned();
    commands.build();
    describe(commands, "kedge", &mut page);
    page
}

/// The help of each command without commands of its own. The pages of long-running commands list their flags.
fn describe(command: &mut clap::Command, path: &str, page: &mut String) {
    for command in
        command.get_subcommands_mut().filter(|command| !command.is_hide_set() && command.get_name() != "help")
    {
        let path = format!("{path} {}", command.get_name());
        if command.has_subcommands() {
            describe(command, &path, page);
            continue;
        }
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let _ = write!(page, "\n## `{path}`\n\n{about}.\n");
        match command.get_name() {
            "operator" | "webhooks" => page.push_str("\nSee [flags and variables](operator.md).\n"),
            _ => {
                let help = command.clone().bin_name(&path).term_width(100).render_long_help().to_string();
                let help: Vec<&str> =
                    help.lines().map(str::trim_end).skip_while(|line| !line.starts_with("Usage:")).collect();
                let _ = write!(page, "\n```text\n{}\n```\n", help.join("\n").trim_end());
            }
        }
    }
}
