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

use std::path::PathBuf;

use crate::manifests;
use crate::outcome::{self, Outcome};
use input::Input;
use operator::{Certificates, Operator, Webhooks};

const EXAMPLES: &str = "\
What the files do not determine is printed on standard error, and the roles do not include it.

Exit codes:
  0  the roles are printed
  2  a file could not be read, or no file has a ScaledObject

Examples:
  kedge rbac shop/ | kubectl apply -f -
  helm template shop ./chart | kedge rbac - --namespace shop
  helm install keda config/helm/kedge --namespace keda --set rbac.create=false --set webhooks.enabled=false \\
    --set watchNamespace=shop";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Read ScaledObjects and their related objects from these YAML or JSON files, folders of such files, or - for standard input
    #[arg(required_unless_present = "from")]
    files: Vec<PathBuf>,

    /// As FILES
    #[arg(long, value_name = "FILE", num_args = 1.., hide = true)]
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

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let files: Vec<PathBuf> = args.files.iter().chain(&args.from).cloned().collect();
    let documents = manifests::read_documents(&files)?;
    let input = Input::collect(&documents, &args.namespace, &args.plural)?;
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
    outcome::print(&render::yaml(&rbac, &operator)).map(|()| Outcome::Clear)
}
