//! `kedge simulate`: a ScaledObject in virtual time, shown as a timeline. `kedge_core::simulate` decides what happens; here a manifest
//! becomes a plan, a load is generated, and the run is described.
//!
//! | module | what it holds |
//! |---|---|
//! | `manifest` | the ScaledObject of a file, or the sample |
//! | `sources` | its triggers as sources whose values come from a load |
//! | `load` | the shapes a load can have |
//! | `spans` | durations and instants, parsed and formatted |
//! | `report` | a run and its summary |
//! | `words` | the description of each event |
//! | `text`, `json` | the output formats |

mod json;
mod load;
mod manifest;
mod report;
mod sources;
mod spans;
mod text;
mod words;

use std::path::PathBuf;

use anyhow::Context;
use chrono::{DateTime, TimeDelta, Utc};
use clap::ValueEnum;
use kedge_api::ScaledObject;
use kedge_core::hpa::render::{TargetKind, render};
use kedge_core::policy::Policy;
use kedge_core::simulate::{Plan, Summary, Timing, initial_replicas, simulate};

use crate::outcome::{self, Outcome};
use load::Shape;
use report::Report;
use sources::Sources;

/// A Monday: the sample has office hours.
const START_DEFAULT: &str = "2026-01-05T00:00:00Z";

const EXAMPLES: &str = "\
Loads:
  day                   a working day with a lunch dip and a burst in the evening, each day again
  constant:N            always N
  ramp:A..B             from A to B over the whole run
  wave:MIN..MAX/PERIOD  up and down again in each period, beginning at MIN
  spike:N@AT+LEN        N for LEN, beginning at AT after the start; otherwise nothing
  FILE.csv              rows of time,value; the value holds until the next row. Times are 90s or
                        1h30m after the start, or RFC 3339; `error` is a source that fails

Exit codes:
  0  the run is printed
  2  the ScaledObject or the load could not be read, or cannot be simulated

Examples:
  kedge simulate
  kedge simulate worker.yaml --load spike:500@10m+5m --duration 1h
  kedge simulate worker.yaml --load wave:0..300/6h --start 2026-03-02T06:00:00Z --pod-start-up 40s
  kedge simulate worker.yaml --load last-week.csv --hours 168 --format json";

#[derive(clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Args {
    /// Simulate the ScaledObject of this YAML or JSON file, folder of such files, or - for standard input; a sample by default
    file: Option<PathBuf>,

    /// Choose a ScaledObject by name, if the file has several
    #[arg(long)]
    name: Option<String>,

    /// Simulate this many hours [default: 24]
    #[arg(long, value_name = "H", value_parser = spans::parse_hours)]
    hours: Option<TimeDelta>,

    /// Simulate this duration, e.g. 90m or 2h
    #[arg(long, value_name = "TIME", value_parser = spans::parse_span, conflicts_with = "hours")]
    duration: Option<TimeDelta>,

    /// Start the run, and create the object, at this instant (RFC 3339)
    #[arg(long, value_name = "INSTANT", value_parser = spans::parse_instant, default_value = START_DEFAULT)]
    start: DateTime<Utc>,

    /// Generate this load: day, constant:N, ramp:A..B, wave:MIN..MAX/PERIOD, spike:N@AT+LEN, or a CSV file
    #[arg(long, default_value = "day")]
    load: String,

    /// Set the time from the creation of a pod until it is ready
    #[arg(long, value_name = "TIME", value_parser = spans::parse_span, default_value = "5s")]
    pod_start_up: TimeDelta,

    /// Seed the generated load; the same seed gives the same load
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Choose the output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A timeline to read
    Text,
    /// One JSON object
    Json,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Outcome> {
    let (origin, documents) = manifest::read(args.file.as_deref())?;
    let object = manifest::choose_object(&documents, args.name.as_deref()).with_context(|| origin.clone())?;
    let length = args.hours.or(args.duration).unwrap_or(TimeDelta::hours(24));
    let shape = Shape::parse(&args.load, args.start, length, args.seed).context("--load")?;
    let (load, policy) = (shape.to_string(), Policy::from_spec(&object.spec, object.metadata.annotations.as_ref()));
    let sources = Sources::build(&object, shape, args.start, policy.max).with_context(|| origin.clone())?;
    let hpa = render(&object, &target_kind(&object), sources.metrics(), env!("CARGO_PKG_VERSION"))
        .with_context(|| origin.clone())?;
    let plan = Plan {
        object: &object,
        hpa: &hpa.spec,
        start_at: args.start,
        length,
        replicas: initial_replicas(&policy),
        timing: Timing::from_spec(&object.spec, args.pod_start_up),
    };
    let events = simulate(&plan, &sources);
    let summary = Summary::from_events(&plan, &events);
    let (sources, events) = (&sources, events.as_slice());
    let report = Report { origin: &origin, load: &load, plan: &plan, sources, events, summary };
    let printed = match args.format {
        Format::Text => text::render(&report),
        Format::Json => json::render(&report),
    };
    outcome::print(&printed).map(|()| Outcome::Clear)
}

fn target_kind(object: &ScaledObject) -> TargetKind {
    let (api_version, kind) = object.spec.scale_target_ref.api_version_and_kind();
    TargetKind { api_version: api_version.to_owned(), kind: kind.to_owned() }
}
