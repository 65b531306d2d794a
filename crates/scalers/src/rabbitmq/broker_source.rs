//! Asking a broker for the length of a queue.

use std::sync::Arc;
use std::time::Duration;

use kedge_wire::amqp::ShortText;

use super::mode::QueueNumbers;
use crate::amqp_session::{BrokerProtocol, Declared, words};
use crate::error::{Endpoint, ReadError};
use crate::sessions::{Session, deadline};

const NOT_FOUND: u16 = 404;
const ACCESS_REFUSED: u16 = 403;

/// A queue of a broker.
#[derive(Debug)]
pub(super) struct BrokerSource {
    pub(super) session: Arc<Session<BrokerProtocol>>,
    pub(super) queue: ShortText,
    pub(super) limit: Duration,
}

impl BrokerSource {
    pub(super) async fn fetch(&self) -> Result<QueueNumbers, ReadError> {
        let endpoint = self.endpoint();
        let closing = match self.session.exchange(&self.queue, deadline(self.limit)).await? {
            Declared::Ready(messages) => {
                return Ok(QueueNumbers { messages: messages.into(), ..QueueNumbers::default() });
            }
            Declared::Refused(closing) => closing,
        };
        let words = words(&closing, None);
        Err(match closing.code {
            NOT_FOUND => {
                let problem = format!("{words}; check `queueName`, and `vhostName` or the path of `host`");
                ReadError::NoValue { endpoint, problem }
            }
            ACCESS_REFUSED => {
                let message = format!("{words}; check the permissions of the user in the vhost");
                ReadError::Denied { endpoint, message }
            }
            _ => ReadError::Refused { endpoint, message: words },
        })
    }

    pub(super) fn endpoint(&self) -> Endpoint {
        self.session.endpoint()
    }
}
