//! The errors of brokers, by the names that Kafka's documentation has for them.

use std::fmt;

/// What a broker says about a part of its answer: 0 is well, −1 an error that it does not explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorCode(pub i16);

macro_rules! names {
    ($($code:literal $name:ident)*) => {
        impl ErrorCode {
            $(pub const $name: Self = Self($code);)*

            /// The name, for codes that have one here.
            pub fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some(stringify!($name)),)*
                    _ => None,
                }
            }
        }
    };
}

names! {
    -1 UNKNOWN_SERVER_ERROR
    0 NONE
    1 OFFSET_OUT_OF_RANGE
    2 CORRUPT_MESSAGE
    3 UNKNOWN_TOPIC_OR_PARTITION
    4 INVALID_FETCH_SIZE
    5 LEADER_NOT_AVAILABLE
    6 NOT_LEADER_OR_FOLLOWER
    7 REQUEST_TIMED_OUT
    8 BROKER_NOT_AVAILABLE
    9 REPLICA_NOT_AVAILABLE
    10 MESSAGE_TOO_LARGE
    11 STALE_CONTROLLER_EPOCH
    12 OFFSET_METADATA_TOO_LARGE
    13 NETWORK_EXCEPTION
    14 COORDINATOR_LOAD_IN_PROGRESS
    15 COORDINATOR_NOT_AVAILABLE
    16 NOT_COORDINATOR
    17 INVALID_TOPIC_EXCEPTION
    22 ILLEGAL_GENERATION
    23 INCONSISTENT_GROUP_PROTOCOL
    24 INVALID_GROUP_ID
    25 UNKNOWN_MEMBER_ID
    27 REBALANCE_IN_PROGRESS
    29 TOPIC_AUTHORIZATION_FAILED
    30 GROUP_AUTHORIZATION_FAILED
    31 CLUSTER_AUTHORIZATION_FAILED
    33 UNSUPPORTED_SASL_MECHANISM
    34 ILLEGAL_SASL_STATE
    35 UNSUPPORTED_VERSION
    36 TOPIC_ALREADY_EXISTS
    41 NOT_CONTROLLER
    42 INVALID_REQUEST
    43 UNSUPPORTED_FOR_MESSAGE_FORMAT
    44 POLICY_VIOLATION
    56 KAFKA_STORAGE_ERROR
    58 SASL_AUTHENTICATION_FAILED
    69 GROUP_ID_NOT_FOUND
    72 LISTENER_NOT_FOUND
    74 FENCED_LEADER_EPOCH
    75 UNKNOWN_LEADER_EPOCH
    78 OFFSET_NOT_AVAILABLE
    88 UNSTABLE_OFFSET_COMMIT
    89 THROTTLING_QUOTA_EXCEEDED
    100 UNKNOWN_TOPIC_ID
}

impl ErrorCode {
    /// The error, unless all is well.
    pub fn error(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }

    /// Whether the broker knows who asks, and does not let them.
    pub fn is_denial(self) -> bool {
        matches!(
            self,
            Self::TOPIC_AUTHORIZATION_FAILED
                | Self::GROUP_AUTHORIZATION_FAILED
                | Self::CLUSTER_AUTHORIZATION_FAILED
                | Self::SASL_AUTHENTICATION_FAILED
        )
    }

    /// Whether another broker may have the answer, or this one in a moment: partitions and groups move.
    pub fn is_passing(self) -> bool {
        matches!(
            self,
            Self::UNKNOWN_TOPIC_OR_PARTITION
                | Self::LEADER_NOT_AVAILABLE
                | Self::NOT_LEADER_OR_FOLLOWER
                | Self::BROKER_NOT_AVAILABLE
                | Self::REPLICA_NOT_AVAILABLE
                | Self::NETWORK_EXCEPTION
                | Self::COORDINATOR_LOAD_IN_PROGRESS
                | Self::COORDINATOR_NOT_AVAILABLE
                | Self::NOT_COORDINATOR
                | Self::KAFKA_STORAGE_ERROR
                | Self::LISTENER_NOT_FOUND
                | Self::FENCED_LEADER_EPOCH
                | Self::UNKNOWN_LEADER_EPOCH
                | Self::OFFSET_NOT_AVAILABLE
                | Self::UNSTABLE_OFFSET_COMMIT
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => write!(f, "Kafka's error {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_documentation() {
        let rows = [
            (3, "UNKNOWN_TOPIC_OR_PARTITION"),
            (29, "TOPIC_AUTHORIZATION_FAILED"),
            (-1, "UNKNOWN_SERVER_ERROR"),
            (999, "Kafka's error 999"),
        ];
        for (code, expected) in rows {
            assert_eq!(ErrorCode(code).to_string(), expected);
            assert_eq!(ErrorCode(code).error(), Some(ErrorCode(code)));
        }
        assert_eq!(ErrorCode(0).error(), None);
        assert!(ErrorCode::NOT_COORDINATOR.is_passing() && !ErrorCode::TOPIC_AUTHORIZATION_FAILED.is_passing());
    }
}
