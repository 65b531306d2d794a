//! `aws-cloudwatch`: a metric of Amazon CloudWatch, or the result of an expression over metrics. `query` holds what is asked and
//! what an answer means.
//!
//! Requests are in JSON 1.0: AWS documents them for CloudWatch beside forms with XML answers (`X-Amz-Target:
//! GraniteServiceVersion20100801.GetMetricData`), its published service model lists them, and so no parser for XML is
//! needed. KEDA's SDK sends CBOR, which the service took up only lately.

mod query;

use std::sync::Arc;

use chrono::{DateTime, Utc};
use kedge_core::trigger_class::TriggerClass;

use self::query::{Query, Wanted, WhenEmpty, Window};
use crate::aws_json::{self, AwsClient, Service};
use crate::error::ReadError;
use crate::field::{Field, FieldGroup};
use crate::identity::aws;
use crate::metadata::convert::{ConversionError, Converted};
use crate::metadata::{Reader, convert};
use crate::metric_name;
use crate::one_metric::{NumberSource, OneMetric};
use crate::shared::Shared;
use crate::target::External;
use crate::trigger::{BuildError, FieldError, TriggerConfig};
use crate::trigger_type::{MetricsOrigin, OtherParameters, TriggerType};

pub(crate) static TRIGGER: TriggerType = TriggerType {
    name: "aws-cloudwatch",
    keda_scaler: "awsCloudwatchScaler",
    class: TriggerClass::Source,
    help: "a metric of Amazon CloudWatch",
    docs_page: "aws-cloudwatch.md",
    groups: &[
        FieldGroup {
            title: "Metric",
            fields: &[
                NAMESPACE,
                METRIC_NAME,
                DIMENSION_NAME,
                DIMENSION_VALUE,
                METRIC_STAT,
                METRIC_UNIT,
                EXPRESSION,
                ACCOUNT_ID,
            ],
        },
        FieldGroup { title: "Window", fields: &[METRIC_COLLECTION_TIME, METRIC_STAT_PERIOD, METRIC_END_TIME_OFFSET] },
        FieldGroup {
            title: "Value",
            fields: &[TARGET_METRIC_VALUE, ACTIVATION_TARGET_METRIC_VALUE, MIN_METRIC_VALUE, IGNORE_NULL_VALUES],
        },
        aws::FIELDS,
        FieldGroup { title: "Service", fields: &[aws_json::ENDPOINT] },
    ],
    other_parameters: OtherParameters::Ignored,
    activation: Some(ACTIVATION_TARGET_METRIC_VALUE.name),
    metrics: MetricsOrigin::Trigger,
    cluster_reads: &[],
    build: |shared, trigger| Ok(Arc::new(build(trigger, shared)?)),
};

const NO_EXPRESSION: &str = "`expression` is absent";

const NAMESPACE: Field =
    Field::optional("namespace").required_if(NO_EXPRESSION).help("The namespace of the metric, as in `AWS/SQS`");
const METRIC_NAME: Field = Field::optional("metricName").required_if(NO_EXPRESSION).help("The name of the metric");
const DIMENSION_NAME: Field = Field::optional("dimensionName")
    .required_if(NO_EXPRESSION)
    .help("The names of the dimensions, separated by semicolons");
const DIMENSION_VALUE: Field = Field::optional("dimensionValue")
    .required_if(NO_EXPRESSION)
    .help("The values of these dimensions, in the same order");
const METRIC_STAT: Field =
    Field::optional("metricStat").default("Average").help("The statistic of each period, such as `Sum` or `p95`");
const METRIC_UNIT: Field = Field::optional("metricUnit").help("Only data of this unit, such as `Count` or `Seconds`");
const EXPRESSION: Field =
    Field::optional("expression").help("A Metrics Insights query or a metric math expression, in place of one metric");
const ACCOUNT_ID: Field =
    Field::optional("awsAccountId").help("The account whose metrics are read, where it is not that of the identity");
const METRIC_COLLECTION_TIME: Field = Field::optional("metricCollectionTime")
    .default("300")
    .help("How many seconds before its end the window starts: a multiple of `metricStatPeriod`");
const METRIC_STAT_PERIOD: Field = Field::optional("metricStatPeriod")
    .default("300")
    .help("The seconds that one value is for: 1, 5, 10, 30 or a multiple of 60");
const METRIC_END_TIME_OFFSET: Field = Field::optional("metricEndTimeOffset")
    .default("0")
    .help("How many seconds ago the window ends, for metrics that come late");
const TARGET_METRIC_VALUE: Field = Field::required("targetMetricValue").help("The value for one replica, above 0");
const ACTIVATION_TARGET_METRIC_VALUE: Field = Field::optional("activationTargetMetricValue")
    .default("0")
    .help("The trigger is active while the value is above this");
const MIN_METRIC_VALUE: Field =
    Field::required("minMetricValue").help("The value where CloudWatch has none in the window");
const IGNORE_NULL_VALUES: Field = Field::optional("ignoreNullValues")
    .default("true")
    .help("`false`: a metric without values in the window is an error, and not `minMetricValue`");

const CLOUDWATCH: Service =
    Service { name: "monitoring", target: "GraniteServiceVersion20100801", content_type: "application/x-amz-json-1.0" };

/// The units that CloudWatch knows.
const UNITS: &[&str] = &[
    "Seconds",
    "Microseconds",
    "Milliseconds",
    "Bytes",
    "Kilobytes",
    "Megabytes",
    "Gigabytes",
    "Terabytes",
    "Bits",
    "Kilobits",
    "Megabits",
    "Gigabits",
    "Terabits",
    "Percent",
    "Count",
    "Bytes/Second",
    "Kilobytes/Second",
    "Megabytes/Second",
    "Gigabytes/Second",
    "Terabytes/Second",
    "Bits/Second",
    "Kilobits/Second",
    "Megabits/Second",
    "Gigabits/Second",
    "Terabits/Second",
    "Count/Second",
    "None",
];

/// A metric or an expression.
#[derive(Debug)]
struct CloudWatchMetric {
    client: AwsClient,
    query: Query,
    minimum: f64,
    when_empty: WhenEmpty,
}

fn build(trigger: &TriggerConfig<'_>, shared: &Shared) -> Result<OneMetric<CloudWatchMetric>, BuildError> {
    let mut read = Reader::new(trigger);
    let name = metric_name::full_name(trigger.index, "aws-cloudwatch");
    let wanted = parse_wanted(&mut read);
    let window = parse_window(&mut read);
    let account = read.optional(ACCOUNT_ID, convert::text);
    let metric =
        External::parse(&mut read, trigger, name, TARGET_METRIC_VALUE, "write the value that one replica is for");
    let activation = read.or_default(ACTIVATION_TARGET_METRIC_VALUE, convert::float);
    let minimum = read.required(MIN_METRIC_VALUE, convert::float);
    let ignores = read.or_default(IGNORE_NULL_VALUES, convert::boolean);
    let client = AwsClient::parse(&mut read, trigger, shared, CLOUDWATCH);
    let made = (|| {
        let source = CloudWatchMetric {
            client: client?,
            query: Query { wanted: wanted?, window: window?, account },
            minimum: minimum?,
            when_empty: if ignores { WhenEmpty::Minimum } else { WhenEmpty::Error },
        };
        Some(OneMetric { metric: metric?, activation, source })
    })();
    read.finish(made)
}

// KEDA: beside an expression, neither dimensions nor unit are checked.
fn parse_wanted(read: &mut Reader<'_>) -> Option<Wanted> {
    let stat = read.or_default(METRIC_STAT, convert::text);
    if let Some(expression) = read.optional(EXPRESSION, convert::text) {
        return Some(Wanted::Expression(expression));
    }
    let namespace = read.required(NAMESPACE, convert::text);
    let name = read.required(METRIC_NAME, convert::text);
    let dimensions = parse_dimensions(read);
    let unit = read.optional(METRIC_UNIT, |text| convert::one_of(text, UNITS));
    Some(Wanted::Metric { namespace: namespace?, name: name?, dimensions: dimensions?, stat, unit })
}

fn parse_dimensions(read: &mut Reader<'_>) -> Option<Vec<(String, String)>> {
    let list = |text: &str| convert::list(text, ';', convert::text);
    let (names, values) = (read.required(DIMENSION_NAME, list), read.required(DIMENSION_VALUE, list));
    let (names, values) = (names?, values?);
    if names.len() != values.len() {
        let problem = format!("has {} entries, and `{}` has {}", values.len(), DIMENSION_NAME.name, names.len());
        read.error(FieldError::new(DIMENSION_VALUE.name, problem, "give one for each name, separated by semicolons"));
        return None;
    }
    Some(names.into_iter().zip(values).collect())
}

fn parse_window(read: &mut Reader<'_>) -> Option<Window> {
    let before = read.error_count();
    let period_seconds = read.or_default(METRIC_STAT_PERIOD, parse_period);
    let collection_seconds = read.or_default(METRIC_COLLECTION_TIME, convert::integer);
    let offset_seconds = read.or_default(METRIC_END_TIME_OFFSET, convert::integer);
    if read.error_count() > before {
        return None;
    }
    // KEDA: lets 0 pass, which the service then refuses at each reading.
    if collection_seconds <= 0 || collection_seconds % period_seconds != 0 {
        let problem = format!("{collection_seconds} is not a multiple of `{}`", METRIC_STAT_PERIOD.name);
        let remedy = format!("use {period_seconds}, or a multiple of it");
        read.error(FieldError::new(METRIC_COLLECTION_TIME.name, problem, remedy));
        return None;
    }
    Some(Window { period_seconds, collection_seconds, offset_seconds })
}

fn parse_period(text: &str) -> Converted<i64> {
    match convert::integer(text)? {
        seconds @ (1 | 5 | 10 | 30) => Ok(seconds),
        seconds if seconds >= 60 && seconds % 60 == 0 => Ok(seconds),
        _ => Err(ConversionError::new("is not a period of CloudWatch", "use 1, 5, 10, 30 or a multiple of 60")),
    }
}

impl NumberSource for CloudWatchMetric {
    async fn fetch_number(&self, now: DateTime<Utc>) -> Result<f64, ReadError> {
        let (endpoint, answer) = self.client.ask("GetMetricData", &self.query.question(now.timestamp()), now).await?;
        query::newest_value(&endpoint, &answer, self.minimum, self.when_empty)
    }

    fn host(&self) -> Option<String> {
        self.client.host()
    }
}

#[cfg(test)]
mod tests;
