//! The ScaledObjects and ScaledJobs whose triggers are checked.

use anyhow::{Context, bail, ensure};
use kedge_api::scaled_object::ScaleTargetRef;
use kedge_api::trigger::Trigger;
use kedge_api::{ScaledJob, ScaledObject};
use kube::api::{Api, ListParams};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An object with triggers.
#[derive(Clone, Debug)]
pub(super) struct CheckedObject {
    pub(super) namespace: String,
    pub(super) name: String,
    /// Where it is from: a file with line and column, or the cluster.
    pub(super) place: String,
    pub(super) scalable: Scalable,
}

#[derive(Clone, Debug)]
pub(super) enum Scalable {
    Object(Box<ScaledObject>),
    Job(Box<ScaledJob>),
}

impl CheckedObject {
    pub(super) fn kind(&self) -> &'static str {
        match self.scalable {
            Scalable::Object(_) => "ScaledObject",
            Scalable::Job(_) => "ScaledJob",
        }
    }

    pub(super) fn scaled_object(&self) -> Option<&ScaledObject> {
        match &self.scalable {
            Scalable::Object(object) => Some(object),
            Scalable::Job(_) => None,
        }
    }

    pub(super) fn triggers(&self) -> &[Trigger] {
        match &self.scalable {
            Scalable::Object(object) => &object.spec.triggers,
            Scalable::Job(job) => &job.spec.triggers,
        }
    }

    /// The workload whose containers have the variables of the triggers: a job is its own.
    pub(super) fn target(&self) -> ScaleTargetRef {
        match &self.scalable {
            Scalable::Object(object) => object.spec.scale_target_ref.clone(),
            Scalable::Job(_) => ScaleTargetRef {
                name: self.name.clone(),
                api_version: Some(ScaledJob::api_version(&()).into_owned()),
                kind: Some(self.kind().to_owned()),
                env_source_container_name: None,
            },
        }
    }

    /// A job with its pod template where a workload has it.
    pub(super) fn job_as_workload(&self) -> Option<Value> {
        let Scalable::Job(job) = &self.scalable else { return None };
        let template = job.spec.job_target_ref.0.get("template");
        Some(json!({
            "apiVersion": ScaledJob::api_version(&()), "kind": self.kind(),
            "metadata": { "namespace": self.namespace, "name": self.name },
            "spec": { "template": template },
        }))
    }

    pub(super) fn env_source_container(&self) -> Option<&str> {
        match &self.scalable {
            Scalable::Object(object) => object.spec.scale_target_ref.env_source_container_name.as_deref(),
            Scalable::Job(job) => job.spec.env_source_container_name.as_deref(),
        }
    }

    fn trigger_mut(&mut self, index: usize) -> &mut Trigger {
        match &mut self.scalable {
            Scalable::Object(object) => &mut object.spec.triggers[index],
            Scalable::Job(job) => &mut job.spec.triggers[index],
        }
    }

    fn display_name(&self) -> String {
        format!("{} {}/{}", self.kind(), self.namespace, self.name)
    }
}

/// The objects of this name, of both kinds; all where none is given.
pub(super) fn named(objects: Vec<CheckedObject>, name: Option<&str>) -> anyhow::Result<Vec<CheckedObject>> {
    ensure!(!objects.is_empty(), "there is no ScaledObject and no ScaledJob in the files");
    let Some(name) = name else { return Ok(objects) };
    let others: Vec<String> = objects.iter().map(CheckedObject::display_name).collect();
    let named: Vec<CheckedObject> = objects.into_iter().filter(|object| object.name == name).collect();
    ensure!(
        !named.is_empty(),
        "there is no ScaledObject and no ScaledJob named {name}; the files have {}",
        others.join(", ")
    );
    Ok(named)
}

/// The objects of a namespace of the cluster.
pub(super) async fn fetch(client: &Client, namespace: &str, name: Option<&str>) -> anyhow::Result<Vec<CheckedObject>> {
    let scaled_objects = fetch_kind::<ScaledObject>(client, namespace, name).await?;
    let scaled_jobs = fetch_kind::<ScaledJob>(client, namespace, name).await?;
    let objects = scaled_objects.into_iter().map(|object| Scalable::Object(Box::new(object)));
    let jobs = scaled_jobs.into_iter().map(|job| Scalable::Job(Box::new(job)));
    let found: Vec<CheckedObject> = objects.chain(jobs).map(|scalable| from_cluster(namespace, scalable)).collect();
    let which = name.map(|name| format!(" named {name}")).unwrap_or_default();
    ensure!(!found.is_empty(), "there is no ScaledObject and no ScaledJob{which} in the namespace {namespace}");
    Ok(found)
}

async fn fetch_kind<K>(client: &Client, namespace: &str, name: Option<&str>) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + DeserializeOwned
        + std::fmt::Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let found = match name {
        Some(name) => api.get_opt(name).await.map(|found| found.into_iter().collect()),
        None => api.list(&ListParams::default()).await.map(|list| list.items),
    };
    found.with_context(|| format!("cannot read the {} of the namespace {namespace}", K::plural(&())))
}

fn from_cluster(namespace: &str, scalable: Scalable) -> CheckedObject {
    let name = match &scalable {
        Scalable::Object(object) => object.metadata.name.clone(),
        Scalable::Job(job) => job.metadata.name.clone(),
    };
    let name = name.unwrap_or_default();
    CheckedObject { namespace: namespace.to_owned(), name, place: "the cluster".to_owned(), scalable }
}

/// Objects, each with the indices of its triggers that are checked.
pub(super) type Chosen = Vec<(CheckedObject, Vec<usize>)>;

/// The triggers that any of these texts names, by name or by index; all where there are none.
pub(super) fn choose_triggers(objects: Vec<CheckedObject>, wanted: &[String]) -> anyhow::Result<Chosen> {
    let is_meant = |text: &String, index: usize, trigger: &Trigger| {
        trigger.name.as_ref() == Some(text) || text.parse() == Ok(index)
    };
    let triggers = || objects.iter().flat_map(|object| object.triggers().iter().enumerate());
    for text in wanted {
        if !triggers().any(|(index, trigger)| is_meant(text, index, trigger)) {
            let known: Vec<String> = triggers().map(|(index, trigger)| describe(index, trigger)).collect();
            bail!("--trigger {text}: there is no such trigger; there are {}", known.join(", "));
        }
    }
    let chosen = objects.into_iter().map(|object| {
        let meant = object.triggers().iter().enumerate();
        let meant = meant
            .filter(|(index, trigger)| wanted.is_empty() || wanted.iter().any(|text| is_meant(text, *index, trigger)));
        let indices = meant.map(|(index, _)| index).collect();
        (object, indices)
    });
    Ok(chosen.filter(|(_, indices): &(_, Vec<usize>)| wanted.is_empty() || !indices.is_empty()).collect())
}

fn describe(index: usize, trigger: &Trigger) -> String {
    match trigger.name.as_deref().filter(|name| !name.is_empty()) {
        Some(name) => format!("{index} ({}, {name})", trigger.r#type),
        None => format!("{index} ({})", trigger.r#type),
    }
}

/// Sets entries of the metadata of the one trigger that is chosen.
pub(super) fn set_metadata(chosen: &mut Chosen, entries: &[(String, String)]) -> anyhow::Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let [(object, indices)] = chosen.as_mut_slice() else {
        bail!(
            "--metadata changes one trigger, and there are several objects; choose one with --name, and a trigger with --trigger"
        );
    };
    let &[index] = indices.as_slice() else {
        bail!("--metadata changes one trigger, and there are several; choose one with --trigger");
    };
    object.trigger_mut(index).metadata.extend(entries.iter().cloned());
    Ok(())
}
