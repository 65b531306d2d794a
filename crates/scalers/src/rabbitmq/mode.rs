//! What the numbers of a queue mean in each mode.

use crate::scaler::{Activity, Known};

/// By what a trigger scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    QueueLength,
    MessageRate,
    DeliverGetRate,
    PublishedToDeliveredRatio,
    ExpectedQueueConsumptionTime,
}

/// The numbers of a queue, or of several together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct QueueNumbers {
    pub(super) messages: u64,
    /// Published messages per second.
    pub(super) publish_rate: f64,
    /// Delivered messages per second, those that were fetched among them.
    pub(super) deliver_rate: f64,
}

impl Mode {
    pub(super) const NAMES: &[&str] =
        &["QueueLength", "MessageRate", "DeliverGetRate", "PublishedToDeliveredRatio", "ExpectedQueueConsumptionTime"];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "QueueLength" => Self::QueueLength,
            "MessageRate" => Self::MessageRate,
            "DeliverGetRate" => Self::DeliverGetRate,
            "PublishedToDeliveredRatio" => Self::PublishedToDeliveredRatio,
            "ExpectedQueueConsumptionTime" => Self::ExpectedQueueConsumptionTime,
            _ => return None,
        })
    }

    /// Whether only the management API has the numbers for it.
    pub(super) fn needs_rates(self) -> bool {
        self != Self::QueueLength
    }

    /// The reading for these numbers.
    // KEDA: its formulas; where messages come and none is delivered, the value is the activation value, and the trigger is active.
    pub(super) fn known(self, numbers: QueueNumbers, activation: f64) -> Known {
        let QueueNumbers { messages, publish_rate, deliver_rate } = numbers;
        let messages = messages as f64;
        match self {
            Self::QueueLength => Known::above(activation, messages),
            Self::MessageRate => known(publish_rate, publish_rate > activation || messages > activation),
            Self::DeliverGetRate => Known::above(activation, deliver_rate),
            Self::PublishedToDeliveredRatio => {
                let is_stuck = publish_rate > 0.0 && deliver_rate == 0.0;
                let ratio = match (is_stuck, publish_rate > 0.0 && deliver_rate > 0.0) {
                    (true, _) => activation,
                    (false, true) => publish_rate / deliver_rate,
                    (false, false) => 0.0,
                };
                known(ratio, ratio > activation || is_stuck)
            }
            Self::ExpectedQueueConsumptionTime => {
                let seconds = match (messages == 0.0, deliver_rate == 0.0) {
                    (true, _) => 0.0,
                    (false, true) => activation,
                    (false, false) => (publish_rate - deliver_rate) / deliver_rate + messages / deliver_rate,
                };
                known(seconds, seconds > activation || deliver_rate == 0.0 && messages > 0.0)
            }
        }
    }
}

fn known(value: f64, is_active: bool) -> Known {
    let activity = if is_active { Activity::Active } else { Activity::Inactive };
    Known { values: vec![value], activity }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_has_its_value_and_its_activity() {
        use Mode::{DeliverGetRate, ExpectedQueueConsumptionTime, MessageRate, PublishedToDeliveredRatio, QueueLength};
        let rows = [
            // mode                        messages publish deliver activation  value  active
            (QueueLength, 5, 9.0, 9.0, 5.0, 5.0, false),
            (QueueLength, 6, 0.0, 0.0, 5.0, 6.0, true),
            (MessageRate, 0, 2.5, 0.0, 2.0, 2.5, true),
            (MessageRate, 3, 0.0, 0.0, 2.0, 0.0, true),
            (MessageRate, 2, 2.0, 9.0, 2.0, 2.0, false),
            (DeliverGetRate, 99, 9.0, 2.0, 2.0, 2.0, false),
            (DeliverGetRate, 0, 0.0, 2.5, 2.0, 2.5, true),
            (PublishedToDeliveredRatio, 0, 6.0, 4.0, 1.5, 1.5, false),
            (PublishedToDeliveredRatio, 0, 6.0, 2.0, 1.5, 3.0, true),
            (PublishedToDeliveredRatio, 0, 6.0, 0.0, 1.5, 1.5, true),
            (PublishedToDeliveredRatio, 9, 0.0, 4.0, 1.5, 0.0, false),
            (PublishedToDeliveredRatio, 9, 0.0, 0.0, 1.5, 0.0, false),
            (ExpectedQueueConsumptionTime, 0, 9.0, 0.0, 7.0, 0.0, false),
            (ExpectedQueueConsumptionTime, 1, 9.0, 0.0, 7.0, 7.0, true),
            (ExpectedQueueConsumptionTime, 10, 4.0, 2.0, 5.0, 6.0, true),
            (ExpectedQueueConsumptionTime, 10, 0.0, 2.0, 5.0, 4.0, false),
            (ExpectedQueueConsumptionTime, 1, 0.0, 2.0, 0.0, -0.5, false),
        ];
        for (mode, messages, publish_rate, deliver_rate, activation, value, is_active) in rows {
            let numbers = QueueNumbers { messages, publish_rate, deliver_rate };
            assert_eq!(mode.known(numbers, activation), known(value, is_active), "{mode:?} {numbers:?}");
        }
    }

    #[test]
    fn names_are_those_of_manifests() {
        for name in Mode::NAMES {
            assert_eq!(Mode::parse(name).map(|mode| format!("{mode:?}")).as_deref(), Some(*name));
        }
        assert_eq!(Mode::parse("queueLength"), None);
    }
}
