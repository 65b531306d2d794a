//! `docs/reference/triggers.md`: every trigger type and its parameters, from their descriptors.

use std::fmt::Write as _;

use kedge_scalers::field::{Field, FieldGroup, Presence, Sensitivity, Source, Status};
use kedge_scalers::registry::TRIGGER_TYPES;
use kedge_scalers::trigger_type::{
    ClusterRead, MetricsOrigin, OtherParameters, ReadCondition, ReadNamespace, TriggerType,
};

const OPENING: &str = "\
# Trigger types and their parameters

<!-- Written by `cargo xtask generate`. -->

Each type has a page with examples; see [triggers](../scalers/README.md). *From* lists where the value of a parameter may come from, in the
order in which the sources are tried:

- *metadata*: `triggers[].metadata.NAME`;
- *authentication*: a parameter of the TriggerAuthentication that `authenticationRef` names;
- *environment*: the variable of the target's container that `triggers[].metadata.NAMEFromEnv` names.

A *secret* is a credential: `kedge lint` warns where `metadata` holds one. *May contain one*: messages do not repeat the value.
";

pub(super) fn render() -> String {
    let mut page = OPENING.to_owned();
    TRIGGER_TYPES.iter().for_each(|known| page.push_str(&render_type(known)));
    page
}

fn render_type(known: &TriggerType) -> String {
    let mut text =
        format!("\n## {}\n\nScales by {}. [Guide](../scalers/{}).\n\n", known.name, known.help, known.docs_page);
    facts(known).iter().for_each(|fact| text.push_str(&format!("- {fact}\n")));
    known.groups.iter().for_each(|group| text.push_str(&render_group(group)));
    text
}

fn facts(known: &TriggerType) -> Vec<String> {
    let mut facts = vec![
        format!(
            "Class: {}. `scaler` label of its metrics, where the trigger has no name: `{}`.",
            known.class.name(),
            known.keda_scaler
        ),
        match known.activation {
            Some(field) => format!("Activation parameter: `{field}`."),
            None => "Activation parameter: none.".to_owned(),
        },
        match known.class.allows_cached_metrics() {
            true => "`useCachedMetrics`: allowed.".to_owned(),
            false => "`useCachedMetrics`: not supported; a trigger that sets it is rejected.".to_owned(),
        },
    ];
    if known.metrics == MetricsOrigin::Source {
        facts.push("The source defines the metrics and their targets.".to_owned());
    }
    if known.other_parameters == OtherParameters::PassedOn {
        facts.push("Parameters that are not listed are sent to the source.".to_owned());
    }
    facts.extend(known.cluster_reads.iter().map(render_read));
    facts
}

fn render_read(read: &ClusterRead) -> String {
    let group = if read.group.is_empty() { "the core group" } else { read.group };
    let namespace = match read.namespace {
        ReadNamespace::Object => "the namespace of the object",
        ReadNamespace::Named { help, .. } => help,
    };
    let condition = match read.condition {
        ReadCondition::Always => String::new(),
        ReadCondition::Switch(field) => format!(", if `{field}` is `true`"),
        ReadCondition::Value(field, value) => format!(", if `{field}` is `{value}`"),
    };
    let name = read.name.map(|field| format!(", for the one that `{field}` names")).unwrap_or_default();
    format!(
        "RBAC: the operator needs `{}` on `{}` of {group} in {namespace}{name}{condition}.",
        read.verbs.join("`, `"),
        read.resource
    )
}

fn render_group(group: &FieldGroup) -> String {
    let mut text = format!(
        "\n### {}\n\n| parameter | required or default | from | secret | meaning |\n|---|---|---|---|---|\n",
        group.title
    );
    for field in group.fields {
        let names: Vec<String> = field.names().map(|name| format!("`{name}`")).collect();
        let sources: Vec<&str> = field.sources.iter().map(|source| source_name(*source)).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            names.join(", or "),
            presence(field),
            sources.join(", "),
            secret(field),
            meaning(field)
        );
    }
    text
}

fn presence(field: &Field) -> String {
    match field.presence {
        Presence::Required => "required".to_owned(),
        Presence::RequiredIf(condition) => format!("required if {condition}"),
        Presence::Optional => String::new(),
        Presence::Default(value) => format!("`{value}`"),
        Presence::DefaultOf(what) => what.to_owned(),
    }
}

fn secret(field: &Field) -> &'static str {
    match field.sensitivity {
        Sensitivity::Public => "",
        Sensitivity::MayContainSecret => "may contain one",
        Sensitivity::Secret => "yes",
    }
}

fn source_name(source: Source) -> &'static str {
    match source {
        Source::Metadata => "metadata",
        Source::Authentication => "authentication",
        Source::Environment => "environment",
    }
}

fn meaning(field: &Field) -> String {
    match field.status {
        Status::InUse => field.help.to_owned(),
        Status::Ignored => format!("{}; accepted, and has no effect", field.help),
        Status::Removed(reason) => format!("Refused: {reason}. {}", field.help),
    }
}
