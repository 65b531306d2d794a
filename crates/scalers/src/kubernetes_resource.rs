//! `kubernetes-resource`: a number in a ConfigMap or a Secret. `extract` finds it in the text of a key.

mod extract;

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use kedge_core::credentials::{Reference, ReferenceContent, ReferenceKind};
use kedge_core::secret::Secret;
use kedge_core::trigger_class::TriggerClass;

use self::extract::{Extract, ValueType};
use crate::cluster::{self, ClusterReads};
use crate::document::Unusable;
use crate::error::{Endpoint, ReadError};
use crate::field::{Field, FieldGroup};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::one_metric::{NumberSource, OneMetric};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, FieldError, TriggerConfig};
use crate::trigger_type::{ClusterRead, MetricsOrigin, OtherParameters, ReadCondition, ReadNamespace, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "kubernetes-resource",
    keda_scaler: "kubernetesResourceScaler",
    class: TriggerClass::Cluster,
    help: "a number in a ConfigMap or a Secret",
    docs_page: "kubernetes-resource.md",
    groups: &[FieldGroup {
        title: "Parameters",
        fields: &[
            RESOURCE_KIND,
            RESOURCE_NAME,
            KEY,
            FORMAT,
            VALUE_LOCATION,
            VALUE_TYPE,
            TARGET_VALUE,
            ACTIVATION_TARGET_VALUE,
        ],
    }],
    other_parameters: OtherParameters::Ignored,
    activation: Some(ACTIVATION_TARGET_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[read_of("configmaps", "ConfigMap"), read_of("secrets", "Secret")],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared)?)),
};

const fn read_of(resource: &'static str, kind: &'static str) -> ClusterRead {
    ClusterRead {
        group: "",
        resource,
        verbs: &["get"],
        namespace: ReadNamespace::Object,
        name: Some(RESOURCE_NAME.name),
        condition: ReadCondition::Value(RESOURCE_KIND.name, kind),
    }
}

const RESOURCE_KIND: Field = Field::required("resourceKind").help("`ConfigMap` or `Secret`");
const RESOURCE_NAME: Field =
    Field::required("resourceName").help("The name of the object, in the namespace of the ScaledObject");
const KEY: Field = Field::required("key").help("The key in its data whose value is read");
const FORMAT: Field = Field::optional("format").default("number").help("What the value is: `number`, `json` or `yaml`");
const VALUE_LOCATION: Field = Field::optional("valueLocation")
    .required_if("`format` is `json` or `yaml`")
    .help("The path to the number: a GJSON path, or for YAML names with dots between them");
const VALUE_TYPE: Field =
    Field::optional("valueType").default("float64").help("How the number is written: `float64`, `int64` or `quantity`");
const TARGET_VALUE: Field =
    Field::required("targetValue").help("The value for one replica, above 0; 0 counts as absent");
const ACTIVATION_TARGET_VALUE: Field =
    Field::optional("activationTargetValue").default("0").help("The trigger is active while the value is above this");

/// A number in one key of an object.
#[derive(Debug)]
struct NumberInObject {
    cluster: Arc<dyn ClusterReads>,
    reference: Reference,
    key: String,
    extract: Extract,
    limit: Duration,
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<NumberInObject>, BuildError> {
    let mut read = Reader::new(trigger);
    let kind = read.required(RESOURCE_KIND, |text| convert::one_of(text, &["ConfigMap", "Secret"]));
    let object = read.required(RESOURCE_NAME, convert::text);
    let key = read.required(KEY, convert::text);
    let extract = parse_extract(&mut read);
    let name = metric_name(trigger.index, kind, object.as_deref(), key.as_deref());
    let metric = External::parse(&mut read, trigger, name, TARGET_VALUE, "write the value for one replica");
    let activation = read.or_default(ACTIVATION_TARGET_VALUE, convert::float);
    let made = (|| {
        let kind = if kind? == "Secret" { ReferenceKind::Secret } else { ReferenceKind::ConfigMap };
        let source = NumberInObject {
            cluster: Arc::clone(&shared.cluster),
            reference: Reference::new(kind, trigger.namespace, object?),
            key: key?,
            extract: extract?,
            limit: shared.http.settings().limit(None),
        };
        Some(OneMetric { metric: metric?, activation, source })
    })();
    read.finish(made)
}

fn metric_name(index: usize, kind: Option<&str>, object: Option<&str>, key: Option<&str>) -> String {
    let kind = kind.unwrap_or_default().to_lowercase();
    let base = format!("{kind}-{}-{}", object.unwrap_or_default(), key.unwrap_or_default());
    metric_name::full_name(index, &base)
}

fn parse_extract(read: &mut Reader<'_>) -> Option<Extract> {
    let format = read.or_default(FORMAT, |text| convert::one_of(text, &["number", "json", "yaml"]));
    let value_type = read.or_default(VALUE_TYPE, ValueType::parse);
    match format {
        "json" => read.required(VALUE_LOCATION, |text| Extract::json(text, value_type)),
        "yaml" => read.required(VALUE_LOCATION, |text| Extract::yaml(text, value_type)),
        _ if read.text(VALUE_LOCATION).is_some() => {
            let remedy = "remove it, or set `format` to json or yaml";
            read.error(FieldError::new(VALUE_LOCATION.name, "needs a document, and `format` is number", remedy));
            None
        }
        _ => Some(Extract::whole(value_type)),
    }
}

impl NumberInObject {
    async fn fetch_text(&self) -> Result<Secret, ReadError> {
        let answer = self.cluster.content(&self.reference);
        match cluster::with_timeout(self.limit, cluster::what(&self.reference), answer).await? {
            ReferenceContent::Data(mut data) => match data.remove(&self.key) {
                Some(Some(text)) => Ok(text),
                Some(None) => Err(self.without_value(format!("its key {:?} is not text", self.key))),
                None => Err(self.without_value(format!("it has no key {:?}; add it, or correct `key`", self.key))),
            },
            ReferenceContent::Missing => {
                Err(self.without_value("it does not exist; create it, or correct `resourceName`".to_owned()))
            }
            ReferenceContent::Withheld => Err(ReadError::Config {
                field: RESOURCE_NAME.name,
                problem: format!("names {}, which the operator is configured not to read", self.reference),
                remedy: "store the number in a ConfigMap",
            }),
        }
    }

    fn without_value(&self, problem: String) -> ReadError {
        ReadError::NoValue { endpoint: self.endpoint(), problem }
    }

    fn endpoint(&self) -> Endpoint {
        Endpoint::from_host(self.reference.to_string())
    }
}

impl NumberSource for NumberInObject {
    async fn fetch_number(&self, _now: DateTime<Utc>) -> Result<f64, ReadError> {
        let text = self.fetch_text().await?;
        self.extract.find(text.reveal()).map_err(|unusable| match unusable {
            Unusable::Malformed(problem) => ReadError::Malformed { endpoint: self.endpoint(), problem },
            Unusable::NoValue(problem) => self.without_value(problem),
        })
    }

    fn host(&self) -> Option<String> {
        None
    }
}

#[cfg(test)]
mod tests;
