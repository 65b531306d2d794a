//! KEDA and Kedge in turn on one control plane, with the same ScaledObjects: what they weigh, what they use, and how long they take.
//!
//! | module | contents |
//! |---|---|
//! | `round` | one operator from its start to its end, and what is measured of it |
//! | `contender` | the processes of KEDA or of Kedge |
//! | `reads` | reads of metrics, one at a time and many at once |
//! | `responder` | answers reads without an operator |
//! | `measure` | what is measured, by name and unit |
//! | `results` | all rounds as a file: a run that was interrupted continues |
//! | `report` | medians, spreads and ratios as tables |
//! | `chart` | medians as a picture |

mod chart;
mod contender;
mod measure;
mod reads;
mod report;
mod responder;
mod results;
mod round;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, ensure};
use kedge_test_cluster::machine::Machine;
use kedge_test_cluster::tools::{self, Tool};
use kedge_test_cluster::{Cluster, ControlPlane, keda, result_document};

use self::contender::Contender;
use self::results::Results;
use self::round::{Extent, Stage};
use super::fleet::{Fleet, Shape};
use super::source::TriggerType;
use crate::image;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Create this many ScaledObjects
    #[arg(long, default_value_t = 1_000)]
    objects: usize,

    /// Spread them over this many namespaces
    #[arg(long, default_value_t = 1)]
    namespaces: usize,

    /// Give them triggers of this type; each type and polling interval needs a file of results of its own
    #[arg(long, value_enum, default_value_t = TriggerType::Prometheus)]
    trigger_type: TriggerType,

    /// Poll each trigger every so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    polling_interval: u32,

    /// Measure each operator this many times, in turn
    #[arg(long, default_value_t = 3)]
    rounds: usize,

    /// Measure the steady state this long
    #[arg(long, default_value_t = 5)]
    minutes: u64,

    /// Also measure KEDA at its default limits of requests to the API server
    #[arg(long)]
    keda_defaults: bool,

    /// Measure only what each operator weighs and uses: no reads, no restart, no targets from zero, no floor
    #[arg(long)]
    steady_only: bool,

    /// Store every round in this file, and leave out those that it has
    #[arg(long, default_value = "target/bench/compare.json")]
    results: PathBuf,

    /// Also write the result to this document, in place of the previous one, and a picture beside it
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
}

#[tokio::main]
pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    ensure!(args.objects > 0 && args.namespaces > 0, "--objects and --namespaces must be above 0");
    println!("building KEDA, and Kedge as for the image");
    tokio::task::block_in_place(|| tools::build(&Tool::KEDA))?;
    let kedge = tokio::task::block_in_place(image::build)?;
    let mut results = Results::open(&args.results, args.objects, args.namespaces)?;
    println!("starting a cluster");
    let cluster = Cluster::builder("bench-compare").control_plane(ControlPlane::Real).start().await?;
    let crds = cluster.folder().join("crds");
    std::fs::create_dir_all(&crds)?;
    keda::write_crds(&crds)?;
    cluster.install_crds(&crds)?;
    let (objects, namespaces, trigger_type) = (args.objects, args.namespaces, args.trigger_type);
    let shape = Shape { objects, namespaces, trigger_type, triggers: 1, polling_seconds: args.polling_interval };
    let fleet = Fleet::create(&cluster, shape).await?;
    let extent = if args.steady_only { Extent::SteadyState } else { Extent::Everything };
    let steady_for = Duration::from_secs(args.minutes * 60);
    let stage = Stage { cluster: &cluster, fleet: &fleet, kedge, steady_for, extent };
    for number in 0..args.rounds {
        for contender in contenders(args) {
            if results.has(contender, number) {
                continue;
            }
            println!("round {} of {}: {contender}", number + 1, args.rounds);
            let values = match contender {
                Contender::Floor => round::measure_floor(&stage).await?,
                operator => round::measure(&stage, operator, number).await?,
            };
            results.add(contender, number, values)?;
        }
    }
    let machine = Machine::read(&cluster, "release build").await?;
    let report = format!("{machine}\n\n{}", report::render(&results));
    println!("\n{report}");
    let Some(path) = &args.write else { return Ok(()) };
    let picture = path.with_extension("svg");
    std::fs::write(&picture, chart::render(&results)).with_context(|| format!("cannot write {}", picture.display()))?;
    let name = picture.file_name().unwrap_or_default().display();
    result_document::write(path, "bench compare", &format!("![KEDA and Kedge side by side]({name})\n\n{report}"))
}

fn contenders(args: &Args) -> impl Iterator<Item = Contender> {
    let chosen = [
        (Contender::KedaDefaults, args.keda_defaults),
        (Contender::Keda, true),
        (Contender::Kedge, true),
        (Contender::Floor, !args.steady_only),
    ];
    chosen.into_iter().filter_map(|(contender, is_chosen)| is_chosen.then_some(contender))
}
