//! `cargo xtask bench`: measurements whose results are in the documents. They are no tests: machines are noisy.

mod admission;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// How long a real API server waits for the admission webhooks, and what they weigh, with few and with many ScaledObjects
    /// in the cluster
    Admission(admission::Args),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Admission(args) => admission::run(args),
    }
}
