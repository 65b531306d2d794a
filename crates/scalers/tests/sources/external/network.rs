//! A network in memory, for tests with paused time: a busy machine cannot make an answer late.

use std::io;
use std::sync::Mutex;

use futures::StreamExt;
use futures::stream;
use kedge_scalers::BoxFuture;
use kedge_scalers::http::connector::BoxStream as Bytes;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::*;

/// A network in memory that leads to one scaler, as long as it is up.
#[derive(Clone)]
pub(crate) struct Network {
    state: Arc<Mutex<State>>,
    dialled: Arc<Mutex<Vec<Instant>>>,
    registry: Registry,
}

pub(crate) enum State {
    Up,
    Down,
    /// The next connection leads nowhere, as when a machine vanishes; later ones lead to the scaler.
    Void,
    /// That connection, which is never read.
    Vanished {
        _theirs: DuplexStream,
    },
}

impl Network {
    pub(crate) fn to(fake: &Fake, state: State) -> Self {
        let (arriving, arrived) = mpsc::unbounded_channel::<DuplexStream>();
        let incoming = stream::unfold(arrived, |mut arrived| async move {
            let stream = arrived.recv().await?;
            Some((io::Result::Ok(stream), arrived))
        });
        tokio::spawn(fake.clone().serve(incoming.boxed(), None));
        let (state, dialled) = (Arc::new(Mutex::new(state)), Arc::<Mutex<Vec<Instant>>>::default());
        let (at_present, noted) = (Arc::clone(&state), Arc::clone(&dialled));
        let connect = move |_: http::Uri| -> BoxFuture<'static, io::Result<Bytes>> {
            noted.lock().unwrap().push(Instant::now());
            let (ours, theirs) = tokio::io::duplex(64 * 1024);
            let mut state = at_present.lock().unwrap();
            match *state {
                State::Down => return Box::pin(async { Err(io::ErrorKind::ConnectionRefused.into()) }),
                State::Void => *state = State::Vanished { _theirs: theirs },
                State::Up | State::Vanished { .. } => arriving.send(theirs).unwrap(),
            }
            Box::pin(async move { Ok(Box::new(ours) as Bytes) })
        };
        Self {
            state,
            dialled,
            registry: Registry::new(Settings::default(), Connector::new(connect), Arc::new(kedge_scalers::NoCluster)),
        }
    }

    pub(crate) fn scaler(&self) -> Arc<dyn Scaler> {
        ExternalTrigger::at("scaler:9090").build(&self.registry)
    }

    pub(crate) fn push_scaler(&self) -> Arc<dyn Scaler> {
        ExternalTrigger::at("scaler:9090").push().build(&self.registry)
    }

    /// When connections were opened.
    pub(crate) fn dialled(&self) -> Vec<Instant> {
        self.dialled.lock().unwrap().clone()
    }

    pub(crate) fn comes_up(&self) {
        *self.state.lock().unwrap() = State::Up;
    }
}
