//! `kedge rbac`: the smallest roles with which the operator can look after the ScaledObjects of some files.
//!
//! | module | what it holds |
//! |---|---|
//! | `input` | the objects of the files, as far as they matter |
//! | `needs` | what the operator does for each of them |
//! | `credentials` | what it reads for their triggers |
//! | `rules` | rights, put together |
//! | `render` | roles and bindings as YAML |

mod credentials;
mod input;
mod needs;
mod render;
mod rules;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use input::Input;

const EXAMPLES: &str = "\
What could not be known from the files is told on standard error, and the rights for it are not in the roles.

Examples:
  kedge rbac --from shop/ | kubectl apply -f -
  helm template shop ./chart | kedge rbac --from - --namespace shop
  helm install keda config/helm/kedge --namespace keda --set rbac.create=false --set webhooks.enabled=false \\
    --set watchNamespace=shop";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// YAML files with ScaledObjects and what belongs to them, folders with them, or - for standard input
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    from: Vec<PathBuf>,

    /// The namespace of objects that name none
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// The service account of the operator
    #[arg(long, value_name = "NAME", default_value = "keda-operator")]
    service_account: String,

    /// The namespace of the operator
    #[arg(long, value_name = "NAME", default_value = "keda")]
    operator_namespace: String,

    /// The plural of a kind that is scaled, if neither its CRD is in the files nor its plural is regular
    #[arg(long, value_name = "KIND=PLURAL", value_parser = parse_plural)]
    plural: Vec<(String, String)>,

    /// Certificates are given to the operator: it needs no right to make them
    #[arg(long)]
    given_certificates: bool,

    /// Also what the admission webhooks read
    #[arg(long)]
    webhooks: bool,
}

fn parse_plural(text: &str) -> Result<(String, String), String> {
    let (kind, plural) = text.split_once('=').ok_or("write it like Rollout=rollouts")?;
    Ok((kind.to_owned(), plural.to_owned()))
}

/// Who the operator is, and what else it is given to do.
#[derive(Clone, Debug)]
struct Operator {
    account: String,
    namespace: String,
    certificates: Certificates,
    webhooks: Webhooks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Certificates {
    Made,
    Given,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Webhooks {
    Served,
    None,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let objects = crate::lint::read_objects(&args.from)?;
    let input = Input::read(&objects, &args.namespace, &args.plural)?;
    let operator = Operator {
        account: args.service_account.clone(),
        namespace: args.operator_namespace.clone(),
        certificates: if args.given_certificates { Certificates::Given } else { Certificates::Made },
        webhooks: if args.webhooks { Webhooks::Served } else { Webhooks::None },
    };
    let rights = needs::of(&input, &operator);
    for unknown in &rights.unknown {
        eprintln!("not known: {unknown}");
    }
    let text = render::yaml(&rights, &operator);
    std::io::stdout().lock().write_all(text.as_bytes()).context("cannot write to standard output")
}
