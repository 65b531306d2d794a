//! One hand-over, and what was seen meanwhile.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use kedge_test_cluster::running_keda::NAMESPACE;
use kedge_test_cluster::wait::wait_for;

use super::stage::{LIMIT, Stage, unsettled};
use super::{SYNC_PERIOD, say};
use crate::audit::{Mark, Writes};
use crate::helm;
use crate::operators::{OperatorProcess, Peer};
use crate::prober::Gap;
use crate::recorder::{Change, Facet, Kind};

/// How long it is watched after the new one has polled everything: four syncs of the HPA controller.
const HOLD: Duration = Duration::from_secs(4 * SYNC_PERIOD.as_secs());

/// What was answered this long before a hand-over counts as the last answer of the old one.
const BEFORE: Duration = Duration::from_secs(2);

/// How processes are named: with a number. Kedge's identity begins with it.
const NAME: &str = "hand-over";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The old one has ended before the new one starts.
    OneAfterTheOther,
    /// As [`How::OneAfterTheOther`], from one Helm release to another in a namespace of its own.
    ByHelm,
    /// The old one ends after the new one is ready and is asked for metrics. Both want the same Lease.
    SideBySide,
    /// As [`How::SideBySide`], in two namespaces, each with a Lease of its own: nothing keeps both from acting.
    BothActing,
}

impl How {
    /// Whether both run at once for a while.
    pub(crate) fn overlaps(self) -> bool {
        matches!(self, How::SideBySide | How::BothActing)
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            How::OneAfterTheOther => "one after the other",
            How::ByHelm => "from release to release",
            How::SideBySide => "side by side",
            How::BothActing => "side by side with two Leases",
        })
    }
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Handover {
    /// The first is 1.
    number: u32,
    from: Peer,
    to: Peer,
    pub(crate) how: How,
    /// From asking the old one to end until it had.
    pub(crate) ending: Duration,
    /// From the start of the new one until it said that it was ready.
    pub(crate) ready: Duration,
    /// From the end of the old one until the new one had a Lease; nothing if it had it before.
    pub(crate) leading: Duration,
    /// From the end of the old one until the new one had polled the triggers of every object; nothing if it had before.
    pub(crate) polled: Duration,
    /// From the start of the new one until it had answered for every metric that is asked for; not known where both run.
    pub(crate) answered: Option<Duration>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) changes: Vec<Change>,
    pub(crate) writes: Writes,
    /// Which Lease got which holder, and when, counted from the beginning.
    pub(crate) leases: Vec<(Duration, String, String)>,
    /// Those that are not as they were, or not `Ready` as they are to be.
    pub(crate) unsettled: Vec<String>,
}

/// The change itself.
struct Exchange {
    new: OperatorProcess,
    ready: Duration,
    ending: Duration,
    ended_at: Instant,
}

impl Handover {
    /// The number in the order of play, from whom to whom, and how.
    pub(crate) fn title(&self) -> String {
        format!("{}. {} → {}, {}", self.number, self.from, self.to, self.how)
    }

    /// How long there was no answer for each metric: from the last of the old one to the first of the new one; where both run, the
    /// longest time at all.
    pub(crate) fn silences(&self) -> impl Iterator<Item = Duration> {
        self.gaps.iter().map(|gap| if self.how.overlaps() { gap.longest } else { gap.across })
    }

    /// Which of the two has an identity of this form.
    pub(crate) fn who(holder: &str) -> &'static str {
        match holder {
            "" => "no process",
            kedge if kedge.starts_with(NAME) => "Kedge",
            _ => "KEDA",
        }
    }
}

/// Hands over to the other one.
pub(crate) async fn hand_over(
    stage: &mut Stage<'_>,
    old: OperatorProcess,
    to: Peer,
    how: How,
) -> anyhow::Result<(OperatorProcess, Handover)> {
    let from = old.peer;
    stage.hand_overs += 1;
    let name = format!("{NAME}-{}", stage.hand_overs);
    say(&format!("{from} hands over to {to}, {how}"));
    let (begun, mark) = (Instant::now(), Mark::now(stage.environment.cluster)?);
    let exchange = match how {
        How::OneAfterTheOther => one_after_the_other(stage, old, to, &name).await?,
        How::ByHelm => by_helm(stage, old, to, &name).await?,
        How::SideBySide => side_by_side(stage, old, to, &name, NAMESPACE).await?,
        How::BothActing => side_by_side(stage, old, to, &name, helm::KEDGE).await?,
    };
    let Exchange { mut new, ready, ending, ended_at } = exchange;
    let leading = until_leading(stage, begun).await?.saturating_duration_since(ended_at);
    let polled = until_polled(stage, &mut new).await?.saturating_duration_since(ended_at);
    say(&format!("{to} leads after {leading:.1?}, and has polled everything after {polled:.1?}"));
    tokio::time::sleep(HOLD).await;
    new.check()?;
    let gaps = stage.prober.since(begun - BEFORE, new.started_at);
    let first_answers = gaps.iter().map(|gap| gap.answered_at.saturating_duration_since(new.started_at)).max();
    let seen = Handover {
        number: stage.hand_overs,
        from,
        to,
        how,
        ending,
        ready,
        leading,
        polled,
        answered: first_answers.filter(|_| !how.overlaps()),
        gaps,
        changes: stage.recorder.since(begun),
        writes: mark.writes(stage.environment.cluster)?,
        leases: leases(stage, begun),
        unsettled: unsettled(&stage.recorder, &stage.members).iter().map(|entry| format!("{entry:?}")).collect(),
    };
    Ok((new, seen))
}

async fn one_after_the_other(
    stage: &Stage<'_>,
    old: OperatorProcess,
    to: Peer,
    name: &str,
) -> anyhow::Result<Exchange> {
    let ending = stop(old).await?;
    let ended_at = Instant::now();
    let (new, ready) = start(stage, to, name, NAMESPACE).await?;
    Ok(Exchange { new, ready, ending, ended_at })
}

async fn side_by_side(
    stage: &Stage<'_>,
    old: OperatorProcess,
    to: Peer,
    name: &str,
    home: &str,
) -> anyhow::Result<Exchange> {
    let (new, ready) = start(stage, to, name, home).await?;
    say("both run");
    tokio::time::sleep(HOLD).await;
    let ending = stop(old).await?;
    Ok(Exchange { new, ready, ending, ended_at: Instant::now() })
}

/// In the order of docs/migrate-from-keda.md.
async fn by_helm(stage: &Stage<'_>, old: OperatorProcess, to: Peer, name: &str) -> anyhow::Result<Exchange> {
    let (cluster, environment) = (stage.environment.cluster, &stage.environment);
    helm::prepare(cluster, &environment.kedge)?;
    let ending = stop(old).await?;
    let ended_at = Instant::now();
    helm::install_kedge(cluster)?;
    let (new, ready) = start(stage, to, name, helm::KEDGE).await?;
    // The API server now asks pods, which do not run here; and then the process again.
    helm::prepare(cluster, &environment.kedge)?;
    environment.point_at(&new).await?;
    helm::uninstall_keda(cluster)?;
    say("the release of KEDA is uninstalled");
    Ok(Exchange { new, ready, ending, ended_at })
}

async fn stop(process: OperatorProcess) -> anyhow::Result<Duration> {
    let (peer, asked) = (process.peer, Instant::now());
    process.stop().await?;
    say(&format!("{peer} ended after {:.1?}", asked.elapsed()));
    Ok(asked.elapsed())
}

async fn start(stage: &Stage<'_>, peer: Peer, name: &str, home: &str) -> anyhow::Result<(OperatorProcess, Duration)> {
    let mut new = stage.environment.start(peer, name, home).await?;
    new.until_ready().await?;
    let ready = new.started_at.elapsed();
    stage.environment.point_at(&new).await?;
    say(&format!("{peer} is ready after {ready:.1?}"));
    Ok((new, ready))
}

/// Returns when a Lease has got a new holder, and says when that was.
async fn until_leading(stage: &Stage<'_>, begun: Instant) -> anyhow::Result<Instant> {
    let holders = || stage.recorder.since(begun).into_iter().filter(|change| change.facet == Facet::Holder);
    wait_for("the Lease changes hands", LIMIT, async || {
        let taken = holders().find(|change| change.to.as_str().is_some_and(|holder| !holder.is_empty()));
        taken.map(|change| change.at).ok_or("it has not")
    })
    .await
}

/// Returns when the new one has polled the triggers of everything that is not paused, and says when that was.
async fn until_polled(stage: &Stage<'_>, new: &mut OperatorProcess) -> anyhow::Result<Instant> {
    let wanted = stage.members.iter().filter(|member| member.polled).map(|member| member.key());
    let wanted: BTreeSet<String> = wanted.collect();
    wait_for("every object is polled", LIMIT, async || {
        new.check().map_err(|error| vec![error.to_string()])?;
        let polled = new.polled_objects().await.map_err(|error| vec![error.to_string()])?;
        let left: Vec<String> = wanted.difference(&polled).cloned().collect();
        if left.is_empty() { Ok(Instant::now()) } else { Err(left) }
    })
    .await
}

fn leases(stage: &Stage<'_>, begun: Instant) -> Vec<(Duration, String, String)> {
    let changes = stage.recorder.since(begun).into_iter();
    let of_lease = changes.filter(|change| change.kind == Kind::Lease && change.facet == Facet::Holder);
    let entry =
        |change: Change| (change.at - begun, change.object.clone(), change.to.as_str().unwrap_or_default().to_owned());
    of_lease.map(entry).collect()
}
