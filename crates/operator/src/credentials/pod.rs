//! The pod template of the target, read only when a trigger needs it, and the variables of its containers.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Container, PodSpec};
use kedge_core::credentials::{CredentialError, Reference, ReferenceContent, ReferenceKind, WorkloadKind};
use kedge_core::environment::{ContainerVariables, Environment};
use kube::core::DynamicObject;

use super::Resolution;

impl Resolution<'_> {
    /// The pod template of the target; none if it has no containers.
    pub(super) async fn pod(&mut self) -> Result<Option<PodSpec>, CredentialError> {
        if let Some(pod) = &self.pod {
            return Ok(pod.clone());
        }
        let kind = &self.target.kind;
        let workload = WorkloadKind { kind: kind.kind.clone(), prefix: kind.prefix(), resource: kind.resource.clone() };
        let key = &self.target.key;
        let reference = Reference::new(ReferenceKind::Workload(Box::new(workload)), &*key.namespace, &*key.name);
        let found = self.reads.object::<DynamicObject>(&self.credentials.client, &reference).await?;
        let Some(found) = found else {
            return Err(CredentialError::Missing { reference, place: "scaleTargetRef".to_owned() });
        };
        let at = |path| found.data.pointer(path);
        let template = at("/spec/template/spec").or_else(|| at("/spec/jobTargetRef/template/spec"));
        let pod: Option<PodSpec> = template.and_then(|template| serde_json::from_value(template.clone()).ok());
        let pod = pod.filter(|pod| !pod.containers.is_empty());
        self.pod = Some(pod.clone());
        Ok(pod)
    }

    /// These variables of a container of the target: the named one, or the first. None if the target has no containers.
    pub(super) async fn variables(
        &mut self,
        container: Option<&str>,
        wanted: &BTreeSet<String>,
        place: &str,
    ) -> Result<Option<Environment>, Vec<CredentialError>> {
        let Some(pod) = self.pod().await.map_err(|problem| vec![problem])? else { return Ok(None) };
        let container = find(&pod, container, place).map_err(|problem| vec![problem])?;
        let variables = ContainerVariables { container, namespace: self.namespace };
        let mut fetched = BTreeMap::new();
        let mut problems = Vec::new();
        for reference in variables.needs(wanted) {
            match self.content(&reference).await {
                Ok(content) => drop(fetched.insert(reference, content)),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        variables.compute(wanted, &fetched).map(Some)
    }

    async fn content(&mut self, reference: &Reference) -> Result<ReferenceContent, CredentialError> {
        if self.credentials.settings.withholds(reference) {
            return Ok(ReferenceContent::Withheld);
        }
        self.reads.content(&self.credentials.client, reference).await
    }
}

fn find<'a>(pod: &'a PodSpec, name: Option<&str>, place: &str) -> Result<&'a Container, CredentialError> {
    let found = match name.filter(|name| !name.is_empty()) {
        Some(name) => pod.containers.iter().find(|container| container.name == name),
        None => pod.containers.first(),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = pod.containers.iter().map(|container| container.name.as_str()).collect();
        CredentialError::invalid(
            place,
            format!("names the container {}, which the target does not have", name.unwrap_or_default()),
            format!("use one of {}", names.join(", ")),
        )
    })
}
