//! What the page may change: dials, annotations of objects, and the speed.

use std::sync::Arc;

use futures::future::BoxFuture;
use kedge_api::names::annotations;
use kedge_dashboard::{Action, Controls, Dial};
use kedge_plane::{Call, PatchKind, Plane, Verb};
use serde_json::{Value, json};

use crate::cluster::ADMINISTRATOR;
use crate::dials::{Dials, Question, StandIn, questions};
use crate::sources::{Sources, scaled_objects};
use crate::virtual_time::VirtualTime;

/// Time cannot pass faster.
pub(crate) const SPEED_MAX: f64 = 3600.0;

/// The controls of a playground.
#[derive(Clone)]
pub(crate) struct PlaygroundControls {
    pub(crate) plane: Plane,
    pub(crate) dials: Arc<Dials>,
    pub(crate) sources: Sources,
    pub(crate) time: Arc<VirtualTime>,
}

impl Controls for PlaygroundControls {
    fn dials(&self, namespace: &str, name: &str) -> Vec<Dial> {
        let dial = |question: Question| {
            let max = match &question.stand_in {
                StandIn::Usage => question.max,
                StandIn::Server(authority) if self.sources.is_stood_in(authority) => question.max,
                StandIn::Server(_) => return None,
                StandIn::Number => question.max * self.sources.target_of_stand_in(&question.id)?,
            };
            let setting = self.dials.get(&question.id);
            Some(Dial {
                label: question.label,
                value: setting.value,
                max,
                health: setting.health,
                is_automatic: !setting.is_turned,
                id: question.id,
            })
        };
        self.questions(namespace, name).into_iter().filter_map(dial).collect()
    }

    fn speed(&self) -> f64 {
        self.time.speed()
    }

    fn apply<'a>(&'a self, namespace: &'a str, name: &'a str, action: Action) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(self.change(namespace, name, action))
    }
}

impl PlaygroundControls {
    async fn change(&self, namespace: &str, name: &str, action: Action) -> Result<(), String> {
        match action {
            Action::SetValue { dial, value } => {
                self.check_dial(namespace, name, &dial)?;
                if !value.is_finite() || value < 0.0 {
                    return Err(format!("the value {value} is not a number from 0 on"));
                }
                self.dials.turn(&dial, value);
                Ok(())
            }
            Action::SetHealth { dial, health } => {
                self.check_dial(namespace, name, &dial)?;
                self.dials.set_health(&dial, health);
                Ok(())
            }
            Action::Pause => self.annotate(namespace, name, json!({ annotations::PAUSED: "true" })).await,
            Action::Resume => {
                let none = json!({ annotations::PAUSED: null, annotations::PAUSED_REPLICAS: null });
                self.annotate(namespace, name, none).await
            }
            Action::ForceActivation { is_forced } => {
                let forced = json!({ annotations::FORCE_ACTIVATION: is_forced.then_some("true") });
                self.annotate(namespace, name, forced).await
            }
            Action::SetSpeed { speed } if speed > 0.0 && speed <= SPEED_MAX => {
                self.time.set_speed(speed);
                Ok(())
            }
            Action::SetSpeed { speed } => Err(format!("the speed {speed} is not above 0 and at most {SPEED_MAX}")),
        }
    }

    fn questions(&self, namespace: &str, name: &str) -> Vec<Question> {
        self.plane.object(&scaled_objects(), Some(namespace), name).map(|object| questions(&object)).unwrap_or_default()
    }

    fn check_dial(&self, namespace: &str, name: &str, dial: &str) -> Result<(), String> {
        let is_known = self.questions(namespace, name).iter().any(|question| question.id == dial);
        if is_known { Ok(()) } else { Err(format!("ScaledObject {namespace}/{name} has no source {dial}")) }
    }

    async fn annotate(&self, namespace: &str, name: &str, notes: Value) -> Result<(), String> {
        let call = Call {
            namespace: Some(namespace.to_owned()),
            name: Some(name.to_owned()),
            body: Some(json!({ "metadata": { "annotations": notes } })),
            ..Call::new(ADMINISTRATOR, Verb::Patch(PatchKind::Merge), scaled_objects())
        };
        self.plane.call(call).await.map(drop).map_err(|error| error.message)
    }
}
