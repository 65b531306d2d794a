//! The HPA controller of the plane and the real one on the same timelines: what the real one saw and wrote is recorded
//! pass by pass, then the plane's controller is shown the same at the same instants, and must write the same.
//!
//! | module | what it holds |
//! |---|---|
//! | `script` | what a timeline is made of |
//! | `table` | the timelines |
//! | `stage` | the real cluster: whether pods are as many as wanted, and what is done to objects on the way |
//! | `board` | the external metrics API, which answers by the scripts |
//! | `record` | what the real controller saw and wrote, from the audit log |
//! | `replay` | the same on a plane |

#[path = "hpa_timelines/board.rs"]
mod board;
#[path = "hpa_timelines/model_tmp.rs"]
mod model_tmp;
#[path = "hpa_timelines/record.rs"]
mod record;
#[path = "hpa_timelines/script.rs"]
mod script;
#[path = "hpa_timelines/stage.rs"]
mod stage;
#[path = "hpa_timelines/table.rs"]
mod table;

use stage::Stage;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_planes_autoscalers_write_what_the_real_controller_writes() {
    let timelines = table::timelines();
    let stage = Stage::open("hpa-timelines").await.unwrap();
    let records = stage.perform(&timelines).await.unwrap();
    for record in &records {
        for d in model_tmp::compare(record) {
            eprintln!("DIFF {d}");
        }
        eprintln!(
            "{}: {} of {} passes, {} written",
            record.timeline.name,
            record.clear_passes().len(),
            record.passes.len(),
            record.passes.iter().filter(|p| p.written.is_some()).count()
        );
    }
}
