//! The HPA controller of the plane and the real one on the same timelines: what the real one read and wrote is recorded
//! sync by sync, then the plane's controller gets the same input at the same instants, and must write the same.
//!
//! | module | what it holds |
//! |---|---|
//! | `script` | the parts of a timeline |
//! | `table` | the timelines |
//! | `real_cluster` | the real cluster: its objects, the state of its pods, and the actions on objects |
//! | `scripted_metrics` | the external metrics API, which responds by the scripts |
//! | `record` | what the real controller read and wrote, from the audit log |
//! | `replay` | the same on a plane |

#[path = "hpa_timelines/real_cluster.rs"]
mod real_cluster;
#[path = "hpa_timelines/record.rs"]
mod record;
#[path = "hpa_timelines/replay.rs"]
mod replay;
#[path = "hpa_timelines/script.rs"]
mod script;
#[path = "hpa_timelines/scripted_metrics.rs"]
mod scripted_metrics;
#[path = "hpa_timelines/table.rs"]
mod table;

use real_cluster::RealCluster;
use record::Record;
use replay::Difference;
use script::Timeline;

/// How often a timeline is played at most, if the machine is too busy for an unambiguous record.
const ROUNDS_MAX: usize = 12;

/// How many timelines are played at once after the first round: few enough for a busy machine.
const FEW: usize = 8;

/// How many timelines must have an unambiguous record to their end.
const CLEAR_MIN: usize = 30;

/// How often a difference must show again before it counts. The plane computes the same from the same input, so a defect of it shows
/// each time; what the record cannot show of the real controller, such as an old cache, does not.
const REPEATS: usize = 2;

/// How often a timeline with a difference is played again at most: the record of a busy machine may end before the difference.
const REPLAYS_MAX: usize = 8;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_planes_autoscalers_write_what_the_real_controller_writes() {
    let cluster = RealCluster::open("hpa-timelines").await.unwrap();
    let records = record_timelines(&cluster).await;
    let syncs: usize = records.iter().map(|record| record.clear_syncs().len()).sum();
    let clear = records.iter().filter(|record| record.is_clear()).count();
    eprintln!("{syncs} syncs of {} timelines compared, {clear} of them to their end", records.len());
    let mut suspects: Vec<Suspect> = replay_all(&records).await.into_iter().map(Suspect::new).collect();
    for _ in 0..REPLAYS_MAX {
        eprintln!("{suspects:#?}");
        let open: Vec<Timeline> = timelines_of(&records, &suspects);
        if open.is_empty() {
            break;
        }
        let records = cluster.play_all(&open).await.unwrap();
        let again = replay_all(&records).await;
        suspects.retain_mut(|suspect| {
            let name = &suspect.difference.timeline;
            let record = records.iter().find(|record| record.timeline.name == *name);
            let differs = again.iter().any(|one| one.timeline == *name);
            record.is_none_or(|record| suspect.is_left_by(record.clear_syncs().len(), differs))
        });
    }
    assert!(suspects.is_empty(), "{suspects:#?}");
    assert!(clear >= CLEAR_MIN, "the machine was too busy: {clear} timelines are clear");
}

/// What differs between the controllers in these records.
async fn replay_all(records: &[Record]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for record in records {
        differences.extend(replay::replay(record).await.unwrap());
    }
    differences
}

/// A difference, and how often it showed again.
#[derive(Debug)]
struct Suspect {
    difference: Difference,
    shown_again: usize,
}

impl Suspect {
    fn new(difference: Difference) -> Self {
        Self { difference, shown_again: 0 }
    }

    /// Whether it showed often enough.
    fn counts(&self) -> bool {
        self.shown_again >= REPEATS
    }

    /// Whether the difference may still be a defect after the timeline was played again, with so many clear syncs.
    fn is_left_by(&mut self, clear_syncs: usize, differs: bool) -> bool {
        self.shown_again += usize::from(differs);
        differs || self.counts() || clear_syncs <= self.difference.sync
    }
}

/// The timelines of the differences that have not shown often enough to count.
fn timelines_of(records: &[Record], suspects: &[Suspect]) -> Vec<Timeline> {
    let open = || suspects.iter().filter(|suspect| !suspect.counts());
    let is_suspect = |timeline: &Timeline| open().any(|suspect| suspect.difference.timeline == timeline.name);
    records.iter().map(|record| &record.timeline).filter(|timeline| is_suspect(timeline)).cloned().collect()
}

/// Plays and records every timeline, again while its record is ambiguous.
async fn record_timelines(cluster: &RealCluster) -> Vec<Record> {
    let (mut records, mut left) = (Vec::new(), table::timelines());
    for round in 1..=ROUNDS_MAX {
        let at_once = if round == 1 { left.len() } else { FEW };
        let mut ambiguous = Vec::new();
        for some in left.chunks(at_once) {
            let played = cluster.play_all(some).await.unwrap();
            let (clear, ambiguous_now): (Vec<_>, Vec<_>) = played.into_iter().partition(Record::is_clear);
            records.extend(clear);
            ambiguous.extend(ambiguous_now);
        }
        left = ambiguous.iter().map(|record| record.timeline.clone()).collect();
        if left.is_empty() || round == ROUNDS_MAX || records.len() >= CLEAR_MIN {
            records.extend(ambiguous);
            break;
        }
    }
    records
}
