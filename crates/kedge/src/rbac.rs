//! `kedge rbac`: the smallest roles with which the operator can manage the ScaledObjects of some files.
//!
//! | module | what it holds |
//! |---|---|
//! | `input` | the objects of the files, as far as they matter |
//! | `needs` | the requests of the operator for each of them |
//! | `credentials` | the Secrets, ConfigMaps and tokens of their triggers |
//! | `operator` | the service account of the operator, and its optional parts |
//! | `rules` | RBAC rules, merged |
//! | `render` | roles and bindings as YAML |

mod credentials;
mod input;
mod needs;
mod operator;
mod render;
mod rules;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;

use crate::manifests;
use input::Input;
use operator::{Certificates, Operator, Webhooks};

const EXAMPLES: &str = "\
What the files do not determine is printed on standard error, and the roles do not include it.

Examples:
  kedge rbac --from shop/ | kubectl apply -f -
  helm template shop ./chart | kedge rbac --from - --namespace shop
  helm install keda config/helm/kedge --namespace keda --set rbac.create=false --set webhooks.enabled=false \\
    --set watchNamespace=shop";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read ScaledObjects and their related objects from these YAML files, folders, or - for standard input
    #[arg(long, value_name = "FILE", required = true, num_args = 1..)]
    from: Vec<PathBuf>,

    /// Set the namespace of objects that have none
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    namespace: String,

    /// Bind the roles to this service account
    #[arg(long, value_name = "NAME", default_value = "keda-operator")]
    service_account: String,

    /// Set the namespace of the operator
    #[arg(long, value_name = "NAME", default_value = "keda")]
    operator_namespace: String,

    /// Set the plural of a target kind whose CRD is not in the files and whose plural is irregular
    #[arg(long, value_name = "KIND=PLURAL", value_parser = parse_plural)]
    plural: Vec<(String, String)>,

    /// Leave out the rules for generated certificates
    #[arg(long)]
    given_certificates: bool,

    /// Include the rules of the admission webhooks
    #[arg(long)]
    webhooks: bool,
}

fn parse_plural(text: &str) -> Result<(String, String), String> {
    let (kind, plural) = text.split_once('=').ok_or("write it like Rollout=rollouts")?;
    Ok((kind.to_owned(), plural.to_owned()))
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let objects = manifests::read_objects(&args.from)?;
    let input = Input::collect(&objects, &args.namespace, &args.plural)?;
    let operator = Operator {
        account: args.service_account.clone(),
        namespace: args.operator_namespace.clone(),
        certificates: if args.given_certificates { Certificates::Given } else { Certificates::Generated },
        webhooks: if args.webhooks { Webhooks::Served } else { Webhooks::None },
    };
    let rbac = needs::collect(&input, &operator);
    for unknown in &rbac.unknown {
        eprintln!("not known: {unknown}");
    }
    let text = render::yaml(&rbac, &operator);
    std::io::stdout().lock().write_all(text.as_bytes()).context("cannot write to standard output")
}
