//! `cargo xtask bench`: measurements whose results are in the documents. They are no tests: machines are noisy.

mod admission;
mod compare;
mod connections;
mod fleet;
mod full_operator;
mod growth;
mod handover;
mod hung;
mod kafka_relay;
mod objects;
mod polls;
mod replicas;
mod secrets;
mod settle;
mod soak;
mod source;
mod stall;
mod times;
mod writer;

#[derive(clap::Subcommand)]
pub(crate) enum Bench {
    /// How long a real API server waits for the admission webhooks, and what they weigh, with few and with many ScaledObjects
    /// in the cluster
    Admission(admission::Args),
    /// What KEDA and Kedge weigh, what they use and how long they take, in turn on one control plane with the same ScaledObjects; the
    /// first run builds KEDA, which takes 15 minutes
    Compare(compare::Args),
    /// What the operator weighs and uses as a cluster grows: ScaledObjects, unrelated objects, and names that come and go
    Growth(growth::Args),
    /// How long it takes from a leader that is asked to end to the next leader
    Handover(handover::Args),
    /// How late 100 ScaledObjects are polled while the sources of 900 others hang
    Hung(hung::Args),
    /// How many connections to the API server the operator has, and what it weighs, with 1,000 ScaledObjects that refer to a Secret each
    Secrets(secrets::Args),
    /// Run two replicas of the operator for an hour while objects, sources and leaders change, and draw what the processes weigh
    Soak(soak::Args),
}

pub(crate) fn run(bench: &Bench) -> anyhow::Result<()> {
    match bench {
        Bench::Admission(args) => admission::run(args),
        Bench::Compare(args) => compare::run(args),
        Bench::Growth(args) => growth::run(args),
        Bench::Handover(args) => handover::run(args),
        Bench::Hung(args) => hung::run(args),
        Bench::Secrets(args) => secrets::run(args),
        Bench::Soak(args) => soak::run(args),
    }
}
