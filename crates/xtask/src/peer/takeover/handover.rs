//! One hand-over, and what was seen meanwhile.

use std::collections::BTreeSet;
use std::fmt;
use std::time::{Duration, Instant};

use kedge_test_cluster::wait::wait_for;

use super::stage::{LIMIT, Stage, unsettled};
use super::{SYNC_PERIOD, say};
use crate::peer::prober::Gap;
use crate::peer::recorder::{Change, Facet, Kind};
use crate::peer::regime::{Peer, Regime};

/// How long it is watched after the new one has looked at everything: four looks of the HPA controller.
const HOLD: Duration = Duration::from_secs(4 * SYNC_PERIOD.as_secs());

/// How processes are named: with a number.
const KEDGE: &str = "hand-over";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The old one has ended before the new one starts.
    OneAfterTheOther,
    /// The old one ends after the new one is ready and is asked for metrics.
    SideBySide,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            How::OneAfterTheOther => "one after the other",
            How::SideBySide => "side by side",
        })
    }
}

/// What was seen.
#[derive(Debug)]
pub(crate) struct Handover {
    pub(crate) from: Peer,
    pub(crate) to: Peer,
    pub(crate) how: How,
    /// From asking the old one to end until it had.
    pub(crate) ending: Duration,
    /// From the start of the new one until it said that it was ready.
    pub(crate) ready: Duration,
    /// From its start until it had the Lease.
    pub(crate) leading: Duration,
    /// From its start until it had looked at the triggers of every object.
    pub(crate) looked: Duration,
    /// From its start until it had answered for every metric that is asked for; not known where both run.
    pub(crate) answered: Option<Duration>,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) changes: Vec<Change>,
    /// Who had the Lease, and from when on, counted from the beginning.
    pub(crate) leases: Vec<(Duration, String)>,
    /// Those that are not as they were, or not `Ready` as they are to be.
    pub(crate) unsettled: Vec<String>,
}

impl Handover {
    /// Which of the two has an identity of this form. Kedge's begins with the name that its process was given.
    pub(crate) fn who(&self, holder: &str) -> &'static str {
        if holder.starts_with(KEDGE) { "Kedge" } else { "KEDA" }
    }
}

/// Hands over to the other one.
pub(crate) async fn hand_over(
    stage: &mut Stage<'_>,
    old: Regime,
    to: Peer,
    how: How,
) -> anyhow::Result<(Regime, Handover)> {
    let from = old.peer;
    stage.hand_overs += 1;
    let name = format!("{KEDGE}-{}", stage.hand_overs);
    say(&format!("{from} hands over to {to}, {how}"));
    let begun = Instant::now();
    let (mut new, ending, ready) = match how {
        How::OneAfterTheOther => {
            let ending = stop(old).await?;
            let (new, ready) = start(stage, to, &name).await?;
            (new, ending, ready)
        }
        How::SideBySide => {
            let (new, ready) = start(stage, to, &name).await?;
            say("both run");
            tokio::time::sleep(HOLD).await;
            (new, stop(old).await?, ready)
        }
    };
    let leading = until_leading(stage, begun, &new).await?;
    let looked = until_looked_at(stage, &mut new).await?;
    say(&format!("{to} leads after {leading:.1?}, and has looked at everything after {looked:.1?}"));
    tokio::time::sleep(HOLD).await;
    new.check()?;
    let gaps = stage.prober.since(begun);
    let answered = (how == How::OneAfterTheOther).then(|| first_answers(&gaps, new.started_at)).flatten();
    let seen = Handover {
        from,
        to,
        how,
        ending,
        ready,
        leading,
        looked,
        answered,
        gaps,
        changes: stage.recorder.since(begun),
        leases: leases(stage, begun),
        unsettled: unsettled(&stage.recorder, &stage.members).iter().map(|entry| format!("{entry:?}")).collect(),
    };
    Ok((new, seen))
}

async fn stop(regime: Regime) -> anyhow::Result<Duration> {
    let (peer, asked) = (regime.peer, Instant::now());
    regime.stop().await?;
    say(&format!("{peer} ended after {:.1?}", asked.elapsed()));
    Ok(asked.elapsed())
}

async fn start(stage: &Stage<'_>, peer: Peer, name: &str) -> anyhow::Result<(Regime, Duration)> {
    let mut new = stage.ground.start(peer, name).await?;
    new.until_ready().await?;
    let ready = new.started_at.elapsed();
    stage.ground.point_at(&new).await?;
    say(&format!("{peer} is ready after {ready:.1?}"));
    Ok((new, ready))
}

/// Returns when the Lease has changed hands, and says when that was.
async fn until_leading(stage: &Stage<'_>, begun: Instant, new: &Regime) -> anyhow::Result<Duration> {
    let holders = || stage.recorder.since(begun).into_iter().filter(|change| change.facet == Facet::Holder);
    wait_for("the Lease changes hands", LIMIT, async || {
        let taken = holders().find(|change| change.to.as_str().is_some_and(|holder| !holder.is_empty()));
        taken.map(|change| change.at.saturating_duration_since(new.started_at)).ok_or("it has not")
    })
    .await
}

/// Returns when the new one has looked at the triggers of everything that is not paused.
async fn until_looked_at(stage: &Stage<'_>, new: &mut Regime) -> anyhow::Result<Duration> {
    let wanted = stage.members.iter().filter(|member| member.polled).map(|member| member.key());
    let wanted: BTreeSet<String> = wanted.collect();
    wait_for("every object is looked at", LIMIT, async || {
        new.check().map_err(|error| vec![error.to_string()])?;
        let looked = new.looked_at().await.map_err(|error| vec![error.to_string()])?;
        let left: Vec<String> = wanted.difference(&looked).cloned().collect();
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await?;
    Ok(new.started_at.elapsed())
}

/// When the last of the gaps ended, counted from the start of the new one.
fn first_answers(gaps: &[Gap], started_at: Instant) -> Option<Duration> {
    gaps.iter().map(|gap| gap.ended_at.saturating_duration_since(started_at)).max()
}

fn leases(stage: &Stage<'_>, begun: Instant) -> Vec<(Duration, String)> {
    let changes = stage.recorder.since(begun).into_iter();
    let of_lease = changes.filter(|change| change.kind == Kind::Lease && change.facet == Facet::Holder);
    of_lease.map(|change| (change.at - begun, change.to.as_str().unwrap_or_default().to_owned())).collect()
}
