//! A run as a text timeline.

use std::fmt::Write;

use chrono::{DateTime, NaiveDate, Utc};
use kedge_core::policy::Policy;
use kedge_core::simulate::{Change, HpaCondition, ScaledBy, SimulationEvent, Summary};

use super::report::Report;
use super::sources::{Answers, Source, target};
use super::spans::show;
use super::words::explain;

/// The longest bar.
const BAR_WIDTH: usize = 16;

pub(super) fn render(report: &Report<'_>) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = render_header(&mut out, report);
    let _ = render_timeline(&mut out, report);
    let _ = render_summary(&mut out, report);
    out
}

fn render_header(out: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let plan = report.plan;
    let policy = Policy::from_spec(&plan.object.spec, plan.object.metadata.annotations.as_ref());
    let target = &plan.hpa.scale_target_ref;
    let name = plan.object.metadata.name.as_deref().unwrap_or_default();
    writeln!(out, "ScaledObject {name} ({})", report.origin)?;
    writeln!(out, "  target     {} {}, {} to {} replicas", target.kind, target.name, policy.floor(), policy.max)?;
    for (index, source) in report.sources.iter().enumerate() {
        writeln!(out, "  trigger {index}  {}", describe(source, report.load))?;
    }
    let start = plan.start_at.format("%a %Y-%m-%d %H:%M:%S UTC");
    writeln!(out, "  time       {start}, for {}", show(plan.length))?;
    let timing = plan.timing;
    let (poll, pass, pod) = (show(timing.polling_interval), show(timing.sync_period), show(timing.pod_start_up));
    writeln!(out, "  pace       a poll every {poll}, an HPA sync every {pass}, pods ready after {pod}\n")
}

fn describe(source: &Source, load: &str) -> String {
    let Source { label, kind, answers } = source;
    let name = if label == kind { kind.clone() } else { format!("{label} ({kind})") };
    match answers {
        Answers::BySchedule { .. } => format!("{name}: follows its schedule"),
        Answers::FromLoad { metric, activation, .. } => {
            let target = target(metric);
            format!("{name}: {load}; {target} per replica, active above {activation}")
        }
        Answers::LeftOut => format!("{name}: left out, because what it measures depends on the pods"),
    }
}

fn render_timeline(out: &mut String, report: &Report<'_>) -> std::fmt::Result {
    writeln!(out, "{:<8}  {:<width$}  {:<6}  what", "time", "replicas", "who", width = BAR_WIDTH + 5)?;
    let mut day: Option<NaiveDate> = None;
    for (index, event) in report.events.iter().enumerate() {
        if says_nothing_new(report.events, index) {
            continue;
        }
        let today = event.at.date_naive();
        if day.replace(today).is_some_and(|day| day != today) {
            writeln!(out, "{}", today.format("%a %Y-%m-%d"))?;
        }
        let line = explain(report, event);
        let bar = bar(event.current, report.summary.replicas_max);
        let (time, current) = (clock(event.at), event.current);
        writeln!(out, "{time}  {current:>4} {bar:<BAR_WIDTH$}  {:<6}  {}", line.who, line.what)?;
    }
    writeln!(out)
}

fn clock(at: DateTime<Utc>) -> impl std::fmt::Display {
    at.format("%H:%M:%S")
}

fn bar(current: i32, most: i32) -> String {
    let (current, most) = (usize::try_from(current).unwrap_or(0), usize::try_from(most).unwrap_or(0));
    let width = if most <= BAR_WIDTH { current } else { (current * BAR_WIDTH).div_ceil(most) };
    "█".repeat(width)
}

/// Whether another line of the same instant says it already, or everything is as it should be.
fn says_nothing_new(events: &[SimulationEvent], index: usize) -> bool {
    let event = &events[index];
    let beside = |same: fn(&Change) -> bool| {
        let others = events.iter().skip(index.saturating_sub(4)).take(9);
        others.filter(|other| other.at == event.at).any(|other| same(&other.what))
    };
    match &event.what {
        Change::Activity(_) => {
            beside(|what| matches!(what, Change::Hold(_) | Change::Replicas { by: ScaledBy::Kedge(_), .. }))
        }
        // The HPA does nothing while the target is at zero, and scales otherwise: no line for that.
        Change::Condition { reason, .. } if reason == "ScalingDisabled" || reason == "ValidMetricFound" => true,
        Change::Condition { condition: HpaCondition::ScalingLimited, is_true, reason, .. } => {
            !is_true
                || reason == "TooFewReplicas"
                || beside(|what| matches!(what, Change::Replicas { by: ScaledBy::Hpa { .. }, .. }))
        }
        _ => false,
    }
}

fn render_summary(out: &mut String, report: &Report<'_>) -> std::fmt::Result {
    let Summary { replicas_max, used, always_on, at_zero, changes, waited_max } = report.summary;
    let hours = |time: chrono::TimeDelta| time.num_milliseconds() as f64 / 3_600_000.0;
    let percent = |part: f64, whole: f64| if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    let by_kedge =
        report.events.iter().filter(|one| matches!(one.what, Change::Replicas { by: ScaledBy::Kedge(_), .. }));
    let by_kedge = by_kedge.count();
    writeln!(out, "In {}", show(report.plan.length))?;
    let saved = percent(hours(always_on) - hours(used), hours(always_on));
    let (used, always_on) = (hours(used), hours(always_on));
    writeln!(
        out,
        "  replica-hours  {used:.1}, against {always_on:.1} with {replicas_max} replicas all the time: {saved:.0} % less"
    )?;
    writeln!(out, "  at zero        {} ({:.0} %)", show(at_zero), percent(hours(at_zero), hours(report.plan.length)))?;
    writeln!(out, "  scale changes  {changes}: {by_kedge} by Kedge, {} by the HPA", changes - by_kedge)?;
    let waited = waited_max.map_or_else(
        || "none: there was always a pod".to_owned(),
        |waited| format!("{} from work arriving to a ready pod", show(waited)),
    );
    writeln!(out, "  longest wait   {waited}")
}
