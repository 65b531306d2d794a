//! Why a question to a cluster failed, and whether it is worth asking again.

use kedge_wire::kafka::ErrorCode;

use crate::error::{Endpoint, ReadError};

/// A failed question.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Another broker may have the answer, or this one in a moment.
    Passing(ReadError),
    Final(ReadError),
}

/// What an error of a broker is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    Topic(&'a str),
    Partition(&'a str, i32),
    Group(&'a str),
}

impl Subject<'_> {
    fn words(self) -> String {
        match self {
            Self::Topic(topic) => format!("topic {topic:?}"),
            Self::Partition(topic, index) => format!("partition {index} of topic {topic:?}"),
            Self::Group(group) => format!("group {group:?}"),
        }
    }
}

impl Failure {
    /// The error for what a broker said about a subject.
    pub(crate) fn from_code(endpoint: Endpoint, code: ErrorCode, subject: Subject<'_>) -> Self {
        let about = subject.words();
        let error = match code {
            ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => {
                ReadError::NoValue { endpoint, problem: format!("{code}: there is no {about}; check `topic`") }
            }
            code if code.is_denial() => {
                ReadError::Denied { endpoint, message: format!("{code}: allow the user to describe {about}") }
            }
            code => ReadError::Refused { endpoint, message: format!("{code} for {about}") },
        };
        if code.is_passing() { Self::Passing(error) } else { Self::Final(error) }
    }

    pub(crate) fn error(self) -> ReadError {
        match self {
            Self::Passing(error) | Self::Final(error) => error,
        }
    }
}

impl From<ReadError> for Failure {
    /// A broker that cannot be reached, or breaks off, may have left its work to another one.
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Connect { .. } | ReadError::Malformed { .. } => Self::Passing(error),
            other => Self::Final(other),
        }
    }
}
