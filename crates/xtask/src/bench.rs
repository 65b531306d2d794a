//! `cargo xtask bench`: measurements whose results are in the documents. They are no tests: machines are noisy.

mod admission;
mod soak;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// How long a real API server waits for the admission webhooks, and what they weigh, with few and with many ScaledObjects
    /// in the cluster
    Admission(admission::Args),
    /// Run two replicas of the operator for an hour while objects, sources and leaders change, and draw what the processes weigh
    Soak(soak::Args),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Admission(args) => admission::run(args),
        Bench::Soak(args) => soak::run(args),
    }
}
