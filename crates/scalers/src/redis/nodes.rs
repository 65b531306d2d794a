//! Which server has a key: the only one, the master that sentinels name, or the node of a cluster.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use kedge_wire::resp::Reply;
use tokio::time::Instant;

use crate::dial::Dial;
use crate::error::{Endpoint, ReadError, cut};
use crate::host_port::{HostPort, bracketed};
use crate::http::TlsProfile;
use crate::redis_session::{
    Command, Credentials, RedisPeer, RedisProtocol, RedisSessions, ServerRole, command, explain, is_denial, kind_of,
};
use crate::sessions::{Session, first_answering, first_reachable};

/// How often a cluster may redirect one question.
const REDIRECTS_MAX: usize = 5;

/// How many connections to nodes one trigger holds.
const HELD_MAX: usize = 32;

/// Servers with the same credentials.
#[derive(Debug)]
pub(super) struct Pool {
    pub(super) sessions: Arc<RedisSessions>,
    pub(super) dial: Dial,
    pub(super) security: Option<TlsProfile>,
    pub(super) credentials: Credentials,
    /// What is not held is closed.
    pub(super) held: Mutex<BTreeMap<HostPort, Arc<Session<RedisProtocol>>>>,
}

impl Pool {
    fn session(&self, server: &HostPort) -> Arc<Session<RedisProtocol>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session) = held.get(server) {
            return Arc::clone(session);
        }
        if held.len() >= HELD_MAX {
            held.clear();
        }
        let peer = RedisPeer {
            server: server.clone(),
            security: self.security.clone(),
            credentials: self.credentials.clone(),
        };
        let open = |peer: &RedisPeer| {
            let protocol = RedisProtocol { credentials: peer.credentials.clone() };
            Session::new(protocol, self.dial.clone(), peer.server.clone())
        };
        let session = self.sessions.session(peer, open);
        held.insert(server.clone(), Arc::clone(&session));
        session
    }
}

/// The servers of a trigger.
#[derive(Debug)]
pub(super) enum Nodes {
    Single {
        pool: Pool,
        server: HostPort,
    },
    Sentinel {
        pool: Pool,
        sentinels: Box<Pool>,
        addresses: Vec<HostPort>,
        master: String,
        /// The position of the sentinel that answered last.
        answered: AtomicUsize,
    },
    /// `owner` is the node that had the key last.
    Cluster {
        pool: Pool,
        seeds: Vec<HostPort>,
        owner: Mutex<Option<HostPort>>,
    },
}

/// The replies to commands, and who gave them.
#[derive(Debug)]
pub(super) struct Answered {
    pub(super) endpoint: Endpoint,
    pub(super) replies: Vec<Reply>,
}

impl Nodes {
    /// The host that is shown.
    pub(super) fn host(&self) -> String {
        let first = match self {
            Self::Single { server, .. } => Some(server),
            Self::Sentinel { addresses, .. } => addresses.first(),
            Self::Cluster { seeds, .. } => seeds.first(),
        };
        first.map(ToString::to_string).unwrap_or_default()
    }

    /// Asks the server that has the key of these commands.
    pub(super) async fn ask(&self, commands: &[Command], until: Instant) -> Result<Answered, ReadError> {
        match self {
            Self::Single { pool, server } => ask_one(pool, server, commands, until).await,
            Self::Sentinel { pool, sentinels, addresses, master, answered } => {
                let first = answered.load(Ordering::Relaxed);
                let order: Vec<HostPort> =
                    addresses.iter().cycle().skip(first).take(addresses.len()).cloned().collect();
                let (sentinel, server) = find_master(sentinels, &order, master, until).await?;
                let position = addresses.iter().position(|address| *address == sentinel);
                answered.store(position.unwrap_or_default(), Ordering::Relaxed);
                ask_one(pool, &server, commands, until).await
            }
            Self::Cluster { pool, seeds, owner } => {
                let last_owner = owner.lock().unwrap_or_else(PoisonError::into_inner).take();
                let others = seeds.iter().filter(|seed| Some(*seed) != last_owner.as_ref()).cloned();
                let candidates: Vec<HostPort> = last_owner.iter().cloned().chain(others).collect();
                let found = first_reachable(&candidates, until, |server, until| follow(pool, server, commands, until));
                let (server, answered) = found.await?;
                *owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(server);
                Ok(answered)
            }
        }
    }
}

async fn ask_one(pool: &Pool, server: &HostPort, commands: &[Command], until: Instant) -> Result<Answered, ReadError> {
    let session = pool.session(server);
    let replies = session.exchange(&commands.to_vec(), until).await?;
    Ok(Answered { endpoint: session.endpoint(), replies })
}

/// Asks the sentinels for the address of the master; returns the sentinel that knows it, too. One that was just started knows none.
async fn find_master(
    sentinels: &Pool,
    addresses: &[HostPort],
    master: &str,
    until: Instant,
) -> Result<(HostPort, HostPort), ReadError> {
    let question = [command(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", master])];
    first_answering(addresses, until, |sentinel, until| {
        let question = &question;
        async move {
            let Answered { endpoint, replies } = ask_one(sentinels, &sentinel, question, until).await?;
            match replies.first() {
                Some(Reply::Nil) => {
                    let problem = format!("the sentinel knows no master {master:?}; check `sentinelMaster`");
                    Err(ReadError::NoValue { endpoint, problem })
                }
                Some(Reply::Error(message)) => Err(refusal(endpoint, message, ServerRole::Sentinel)),
                Some(reply) => match reply.as_list() {
                    Some([host, port]) => {
                        let server = address(host.as_text(), port.as_text());
                        server.map(|server| (sentinel, server)).ok_or_else(|| malformed(endpoint, reply))
                    }
                    _ => Err(malformed(endpoint, reply)),
                },
                None => Err(malformed(endpoint, &Reply::Nil)),
            }
        }
    })
    .await
}

fn address(host: Option<&str>, port: Option<&str>) -> Option<HostPort> {
    HostPort::new(&bracketed(host?), port?).ok()
}

/// Asks a node of a cluster, and those that it names, until one has the key. Returns the node to begin with next time, too.
async fn follow(
    pool: &Pool,
    mut server: HostPort,
    commands: &[Command],
    until: Instant,
) -> Result<(HostPort, Answered), ReadError> {
    let mut asked = commands.to_vec();
    let mut owner = server.clone();
    let mut is_asking = false;
    for _ in 0..=REDIRECTS_MAX {
        let mut answered = ask_node(pool, &server, &asked, until).await?;
        if is_asking {
            // Every second reply is that of ASKING.
            answered.replies = answered.replies.into_iter().skip(1).step_by(2).collect();
        }
        match answered.replies.iter().find_map(|reply| Redirect::parse(reply, &server)) {
            None => return Ok((owner, answered)),
            Some(Redirect::Moved(next)) => {
                owner = next.clone();
                (server, asked, is_asking) = (next, commands.to_vec(), false);
            }
            Some(Redirect::Ask(next)) => {
                let asking = commands.iter().flat_map(|one| [command(["ASKING"]), one.clone()]);
                (server, asked, is_asking) = (next, asking.collect(), true);
            }
        }
    }
    Err(ReadError::Malformed {
        endpoint: server.endpoint(),
        problem: format!("the cluster redirects more than {REDIRECTS_MAX} times"),
    })
}

/// Asks a server that should be a node of a cluster, and able to answer for it. Another server may have got its address: that has no keys,
/// which is no answer.
async fn ask_node(pool: &Pool, server: &HostPort, commands: &[Command], until: Instant) -> Result<Answered, ReadError> {
    let with_check: Vec<Command> =
        std::iter::once(command(["CLUSTER", "MYID"])).chain(commands.iter().cloned()).collect();
    let Answered { endpoint, mut replies } = ask_one(pool, server, &with_check, until).await?;
    let checked = if replies.is_empty() { Reply::Nil } else { replies.remove(0) };
    let unable = |problem: String| ReadError::Malformed { endpoint: endpoint.clone(), problem };
    match &checked {
        Reply::Error(message) if message.contains("cluster support disabled") => {
            return Err(unable(
                "it is no node of a cluster; check `addresses`, or use the type for one server".to_owned(),
            ));
        }
        _ => {}
    }
    match replies.iter().find_map(|reply| node_failure(reply)) {
        Some(message) => Err(unable(cut(message))),
        None => Ok(Answered { endpoint, replies }),
    }
}

/// Why a node cannot answer for the cluster at present. Another may.
fn node_failure(reply: &Reply) -> Option<&str> {
    let Reply::Error(message) = reply else { return None };
    let code = message.split(' ').next().unwrap_or_default();
    matches!(code, "CLUSTERDOWN" | "LOADING" | "MASTERDOWN" | "TRYAGAIN").then_some(message)
}

/// Another node of a cluster has the key.
#[derive(Debug, PartialEq, Eq)]
enum Redirect {
    Moved(HostPort),
    /// For this question only: the key is being moved.
    Ask(HostPort),
}

impl Redirect {
    /// `MOVED 3999 10.0.0.1:6381`; without a host, it is that of the server which says so.
    fn parse(reply: &Reply, from: &HostPort) -> Option<Self> {
        let Reply::Error(message) = reply else { return None };
        let mut words = message.split(' ');
        let (kind, _slot, target) = (words.next()?, words.next()?, words.next()?);
        let (host, port) = target.rsplit_once(':')?;
        let host = if matches!(host, "" | "?") { &from.host } else { host };
        let server = address(Some(host), Some(port))?;
        match kind {
            "MOVED" => Some(Self::Moved(server)),
            "ASK" => Some(Self::Ask(server)),
            _ => None,
        }
    }
}

/// The error for what a server refused.
pub(super) fn refusal(endpoint: Endpoint, message: &str, role: ServerRole) -> ReadError {
    let explained = explain(message, role);
    match is_denial(message) {
        true => ReadError::Denied { endpoint, message: explained },
        false => ReadError::Refused { endpoint, message: explained },
    }
}

pub(super) fn malformed(endpoint: Endpoint, reply: &Reply) -> ReadError {
    let kind = kind_of(Some(reply));
    ReadError::Malformed { endpoint, problem: format!("{kind} is not what was asked for") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_that_cannot_answer_is_no_answer() {
        let error = |message: &str| Reply::Error(message.to_owned());
        let rows = [
            (error("CLUSTERDOWN Hash slot not served"), true),
            (error("LOADING Redis is loading the dataset in memory"), true),
            (error("TRYAGAIN Multiple keys request during rehashing of slot"), true),
            (error("WRONGTYPE Operation against a key"), false),
            (Reply::Integer(0), false),
        ];
        for (reply, expected) in rows {
            assert_eq!(node_failure(&reply).is_some(), expected, "{reply:?}");
        }
    }

    #[test]
    fn redirects_name_another_node() {
        let from = HostPort::parse("10.0.0.1:6379", "").unwrap();
        let at = |text: &str| HostPort::parse(text, "").unwrap();
        let rows = [
            ("MOVED 3999 10.0.0.2:6381", Some(Redirect::Moved(at("10.0.0.2:6381")))),
            ("ASK 3999 redis-1.redis:6381", Some(Redirect::Ask(at("redis-1.redis:6381")))),
            ("MOVED 3999 :6381", Some(Redirect::Moved(at("10.0.0.1:6381")))),
            ("MOVED 3999 ?:6381", Some(Redirect::Moved(at("10.0.0.1:6381")))),
            ("MOVED 3999 fd00::2:6381", Some(Redirect::Moved(at("[fd00::2]:6381")))),
            ("MOVED 3999 nowhere", None),
            ("CLUSTERDOWN Hash slot not served", None),
        ];
        for (message, expected) in rows {
            assert_eq!(Redirect::parse(&Reply::Error(message.to_owned()), &from), expected, "{message}");
        }
        assert_eq!(Redirect::parse(&Reply::Simple("MOVED 1 a:1".to_owned()), &from), None);
    }
}
