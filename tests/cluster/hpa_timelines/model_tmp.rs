use super::record::Record;
use super::script::{Answer, Deed, own};
use chrono::TimeDelta;
use k8s_openapi::api::autoscaling::v2::*;
use kedge_core::hpa::model::memory::Memory;
use kedge_core::hpa::model::metric::MetricReading;
use kedge_core::hpa::model::pods::*;
use kedge_core::hpa::model::reconcile::*;
use kedge_core::hpa::model::settings::Settings;
use kedge_core::milli::Milli;
use kedge_core::quantity::Quantity;
use serde_json::{Value, json};

pub(super) fn compare(record: &Record) -> Vec<String> {
    let mut out = vec![];
    let settings = Settings { downscale_stabilization: TimeDelta::seconds(4), ..Settings::default() };
    let mut hpa = record.timeline.hpa();
    let mut status = HorizontalPodAutoscalerStatus::default();
    let mut memory = Memory::default();
    let mut deeds = record.deeds.iter().peekable();
    let mut real_status = Value::Null;
    for (n, pass) in record.clear_passes().iter().enumerate() {
        while let Some((_, deed)) = deeds.next_if(|(at, _)| *at < pass.begun_at) {
            match deed {
                Deed::Change(v) => json_patch::merge(&mut hpa["spec"], &own(v.clone(), record.timeline.name)),
                Deed::Delete => {
                    memory = Memory::default();
                }
                Deed::Create => {
                    hpa = record.timeline.hpa();
                    status = Default::default();
                }
                _ => {}
            }
        }
        let spec: HorizontalPodAutoscalerSpec = serde_json::from_value(hpa["spec"].clone()).unwrap();
        let num = |v: &Value| v.as_i64().unwrap_or_default() as i32;
        let scale = Ok(ObservedScale {
            current: num(&pass.scale["spec"]["replicas"]),
            reported: num(&pass.scale["status"]["replicas"]),
            selection: Selection::Clear,
        });
        let readings: Vec<_> = spec
            .metrics
            .iter()
            .flatten()
            .filter_map(|m| {
                let name = &m.external.as_ref()?.metric.name;
                let (_, a) = pass.answers.iter().find(|(k, _)| k == name)?;
                Some(MetricReading::Series(match a {
                    Answer::Series(v) => {
                        Ok(v.iter().map(|v| Milli(Quantity::parse(v).unwrap().milli_value())).collect())
                    }
                    Answer::Refusal(t) => Err(format!("unable to fetch metrics from external metrics API: {t}")),
                }))
            })
            .collect();
        let now = pass.told_at.unwrap_or(pass.begun_at);
        let pods: Vec<ObservedPod> = (0..pass.pods.unwrap_or(0))
            .map(|i| ObservedPod {
                name: format!("p{i}"),
                phase: Phase::Running,
                is_deleting: false,
                started_at: None,
                readiness: Some(Readiness { state: ReadyState::Ready, since: now }),
                own_requests: None,
                containers: vec![],
            })
            .collect();
        let seen = Observation { now, scale, readings: &readings, pods: &pods };
        let o = reconcile(Subject { namespace: "timelines", spec: &spec, status: &status }, &seen, memory, &settings)
            .settle();
        let written = o.rescaled_to.map(i64::from);
        if written != pass.written {
            out.push(format!(
                "{} {n} written real {:?} model {:?} {:?}",
                record.timeline.name, pass.written, written, pass.answers
            ));
        }
        let st = |mut v: Value| {
            if let Some(f) = v.as_object_mut() {
                f.remove("lastScaleTime");
                f.retain(|_, v| !v.is_null());
            }
            for c in v["conditions"].as_array_mut().into_iter().flatten() {
                c.as_object_mut().unwrap().remove("lastTransitionTime");
            }
            v
        };
        let mine = st(json!(o.status));
        if let Some(r) = &pass.status {
            real_status = st(r.clone());
        }
        if mine != real_status {
            out.push(format!("{} {n} status\n real {real_status}\n mine {mine}", record.timeline.name));
        }
        memory = o.memory;
        status = o.status;
    }
    out
}
