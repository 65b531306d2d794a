//! KEDA's own scalers as an oracle: single triggers are given to them, and their answers are compared with Kedge's.
//!
//! | module | what it holds |
//! |---|---|
//! | [`case`] | a trigger with what it refers to, and KEDA's answer to it |
//! | [`edges`] | the texts at the edges of a parameter, by what it takes |
//! | `cases` | the cases of each family: pure |
//! | `states` | the servers of each family, with the states that readings are taken of |
//! | [`sources`] | the addresses of servers, which cases name by placeholders |
//! | [`ask`] | asks the program in `go/keda/oracle` |

pub mod ask;
pub mod case;
pub mod edges;
pub mod sources;

mod cases;
mod states;

use self::case::Case;
use self::sources::{Placeholder, Sources};

/// Trigger types that read the same kind of source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    Redis,
    NatsJetstream,
    AwsSqsQueue,
    AwsCloudwatch,
    Kafka,
    KubernetesResource,
    RabbitMq,
    PostgreSql,
    MySql,
}

impl Family {
    /// Those whose answers are recorded, which are all.
    pub const RECORDED: [Family; 9] = [
        Family::Redis,
        Family::NatsJetstream,
        Family::AwsSqsQueue,
        Family::AwsCloudwatch,
        Family::Kafka,
        Family::KubernetesResource,
        Family::RabbitMq,
        Family::PostgreSql,
        Family::MySql,
    ];

    /// Its name, which is also that of the file with its answers.
    pub fn name(self) -> &'static str {
        match self {
            Family::Redis => "redis",
            Family::NatsJetstream => "nats-jetstream",
            Family::AwsSqsQueue => "aws-sqs-queue",
            Family::AwsCloudwatch => "aws-cloudwatch",
            Family::Kafka => "kafka",
            Family::KubernetesResource => "kubernetes-resource",
            Family::RabbitMq => "rabbitmq",
            Family::PostgreSql => "postgresql",
            Family::MySql => "mysql",
        }
    }

    /// Its cases, always the same and in the same order. No two have the same name.
    pub fn cases(self) -> Vec<Case> {
        match self {
            Family::Redis => cases::redis::cases(),
            Family::NatsJetstream => cases::nats_jetstream::cases(),
            Family::AwsSqsQueue => cases::aws_sqs_queue::cases(),
            Family::AwsCloudwatch => cases::aws_cloudwatch::cases(),
            Family::Kafka => cases::kafka::cases(),
            Family::KubernetesResource => cases::kubernetes_resource::cases(),
            Family::RabbitMq => cases::rabbitmq::cases(),
            Family::PostgreSql => cases::postgresql::cases(),
            Family::MySql => cases::mysql::cases(),
        }
    }

    /// The placeholders in its cases.
    pub fn placeholders(self) -> &'static [Placeholder] {
        match self {
            Family::Redis => states::redis::PLACEHOLDERS,
            Family::NatsJetstream => states::nats::PLACEHOLDERS,
            Family::AwsSqsQueue | Family::AwsCloudwatch => states::aws::PLACEHOLDERS,
            Family::Kafka => states::kafka::PLACEHOLDERS,
            Family::KubernetesResource => &[],
            Family::RabbitMq => states::rabbitmq::PLACEHOLDERS,
            Family::PostgreSql => states::postgresql::PLACEHOLDERS,
            Family::MySql => states::mysql::PLACEHOLDERS,
        }
    }

    /// Starts its servers, and brings them into the states that its cases name. Two that run at once need two names.
    pub async fn start(self, name: &str) -> anyhow::Result<Sources> {
        match self {
            Family::Redis => states::redis::start(name).await,
            Family::NatsJetstream => states::nats::start(name).await,
            Family::AwsSqsQueue => states::aws::start_queues(name).await,
            Family::AwsCloudwatch => states::aws::start_metrics(name).await,
            Family::Kafka => states::kafka::start(name).await,
            Family::KubernetesResource => Ok(Sources::default()),
            Family::RabbitMq => states::rabbitmq::start(name).await,
            Family::PostgreSql => states::postgresql::start(name).await,
            Family::MySql => states::mysql::start(name).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_family_has_200_cases_and_20_readings_with_names_of_their_own() {
        for family in Family::RECORDED {
            let cases = family.cases();
            let readings = cases.iter().filter(|case| case.reads > 0).count();
            assert!(cases.len() >= 200, "{}: {}", family.name(), cases.len());
            assert!(readings >= 20, "{}: {readings}", family.name());
            let mut names = BTreeSet::new();
            let twice: Vec<_> = cases.iter().map(|case| &case.name).filter(|name| !names.insert(*name)).collect();
            assert!(twice.is_empty(), "{}: {twice:?}", family.name());
        }
    }

    #[test]
    fn cases_name_only_placeholders_that_there_are() {
        for family in Family::RECORDED {
            let stand_ins = Sources::stand_ins(family.placeholders());
            for case in family.cases() {
                // Names keep them.
                let left = format!("{:?}", Case { name: String::new(), ..stand_ins.fill(&case) });
                assert!(!left.contains("${"), "{}: {left}", case.name);
            }
        }
    }
}
