//! What is read of Redis, and what its replies mean.

use kedge_wire::resp::Reply;
use tokio::time::Instant;

use super::nodes::{Answered, Nodes, malformed, refusal};
use crate::error::{Endpoint, ReadError, cut};
use crate::redis_session::{Command, ServerRole, command};

/// Redis computes the lag of a group since this version.
const LAG_MAJOR_MIN: u32 = 7;

/// What a trigger scales by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// The number of entries of a list, hash, set or sorted set.
    Length {
        key: String,
    },
    StreamLength {
        stream: String,
    },
    /// Entries that were delivered to a group and not acknowledged.
    Pending {
        stream: String,
        group: String,
    },
    /// Entries that were not delivered to a group.
    Lag {
        stream: String,
        group: String,
    },
}

impl Measure {
    pub(super) async fn read(&self, nodes: &Nodes, until: Instant) -> Result<i64, ReadError> {
        match self {
            Self::Length { key } => {
                let (endpoint, reply) = ask(nodes, command(["TYPE", key]), until).await?;
                let kind = reply.as_text().ok_or_else(|| malformed(endpoint.clone(), &reply))?;
                let Some(name) = length_command(kind) else {
                    let problem = format!(
                        "{key:?} is a {}, and none of list, hash, set and sorted set; check `listName`",
                        cut(kind)
                    );
                    return Err(ReadError::NoValue { endpoint, problem });
                };
                integer(ask(nodes, command([name, key]), until).await?)
            }
            Self::StreamLength { stream } => integer(ask(nodes, command(["XLEN", stream]), until).await?),
            Self::Pending { stream, group } => {
                let (endpoint, reply) = ask(nodes, command(["XPENDING", stream, group]), until).await?;
                let count = reply.as_list().and_then(|summary| summary.first()?.as_integer());
                count.ok_or_else(|| malformed(endpoint, &reply))
            }
            Self::Lag { stream, group } => {
                let question = [command(["INFO", "server"]), command(["XINFO", "GROUPS", stream])];
                let Answered { endpoint, replies } = nodes.ask(&question, until).await?;
                let [info, groups] = replies.as_slice() else { return Err(malformed(endpoint, &Reply::Nil)) };
                check_version(&endpoint, info)?;
                match lag(&endpoint, groups, group)? {
                    Some(lag) => Ok(lag),
                    // KEDA: without the group, all entries are yet to be delivered.
                    None => integer(ask(nodes, command(["XLEN", stream]), until).await?),
                }
            }
        }
    }
}

/// Asks one question. What the server refuses is an error.
async fn ask(nodes: &Nodes, question: Command, until: Instant) -> Result<(Endpoint, Reply), ReadError> {
    let Answered { endpoint, mut replies } = nodes.ask(&[question], until).await?;
    match replies.pop() {
        Some(Reply::Error(message)) => Err(refusal(endpoint, &message, ServerRole::Data)),
        Some(reply) => Ok((endpoint, reply)),
        None => Err(malformed(endpoint, &Reply::Nil)),
    }
}

fn integer((endpoint, reply): (Endpoint, Reply)) -> Result<i64, ReadError> {
    reply.as_integer().ok_or_else(|| malformed(endpoint, &reply))
}

/// The command that counts the entries of a key of this type. What does not exist is an empty list.
fn length_command(kind: &str) -> Option<&'static str> {
    match kind {
        "list" | "none" => Some("LLEN"),
        "hash" => Some("HLEN"),
        "set" => Some("SCARD"),
        "zset" => Some("ZCARD"),
        _ => None,
    }
}

fn check_version(endpoint: &Endpoint, info: &Reply) -> Result<(), ReadError> {
    if let Reply::Error(message) = info {
        return Err(refusal(endpoint.clone(), message, ServerRole::Data));
    }
    let no_value = |problem: String| ReadError::NoValue { endpoint: endpoint.clone(), problem };
    let version = info.as_text().and_then(|text| text.lines().find_map(|line| line.strip_prefix("redis_version:")));
    let major = version.and_then(|version| version.split('.').next()?.trim().parse::<u32>().ok());
    match major {
        Some(major) if major >= LAG_MAJOR_MIN => Ok(()),
        Some(major) => Err(no_value(format!(
            "Redis {major} does not know the lag of a group, which `lagCount` needs; use Redis {LAG_MAJOR_MIN} or newer, or leave it out"
        ))),
        None => Err(no_value("its version cannot be read, which `lagCount` needs".to_owned())),
    }
}

/// The lag of a group; none where there is no such group. A lag that Redis does not know is −1, which is published as 0.
fn lag(endpoint: &Endpoint, groups: &Reply, group: &str) -> Result<Option<i64>, ReadError> {
    let groups = match groups {
        // KEDA: a stream that does not exist has no lag.
        Reply::Error(message) if message.contains("no such key") => return Ok(Some(0)),
        Reply::Error(message) => return Err(refusal(endpoint.clone(), message, ServerRole::Data)),
        Reply::List(groups) => groups,
        other => return Err(malformed(endpoint.clone(), other)),
    };
    let wanted = |one: &&Reply| one.field("name").and_then(Reply::as_text) == Some(group);
    let Some(found) = groups.iter().find(wanted) else { return Ok(None) };
    match found.field("lag") {
        Some(Reply::Integer(lag)) => Ok(Some(*lag)),
        Some(Reply::Nil) => Ok(Some(-1)),
        _ => Err(malformed(endpoint.clone(), found)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Reply {
        Reply::Bulk(text.as_bytes().to_vec())
    }

    #[test]
    fn the_lag_is_that_of_the_group() {
        let endpoint = Endpoint::from_host("r:6379".to_owned());
        let group = |name: &str, lag: Reply| Reply::List(vec![text("name"), text(name), text("lag"), lag]);
        let groups = Reply::List(vec![group("a", Reply::Integer(3)), group("b", Reply::Nil), group("c", text("x"))]);
        let rows = [
            ("known", &groups, "a", Ok(Some(3))),
            ("not known to Redis", &groups, "b", Ok(Some(-1))),
            ("no number", &groups, "c", Err(())),
            ("another group", &groups, "d", Ok(None)),
            ("no stream", &Reply::Error("ERR no such key".to_owned()), "a", Ok(Some(0))),
            ("another error", &Reply::Error("NOPERM no permission".to_owned()), "a", Err(())),
            ("no list", &Reply::Integer(1), "a", Err(())),
        ];
        for (name, reply, group, expected) in rows {
            assert_eq!(lag(&endpoint, reply, group).map_err(drop), expected, "{name}");
        }
    }

    #[test]
    fn the_lag_needs_redis_7() {
        let endpoint = Endpoint::from_host("r:6379".to_owned());
        let info = |version: &str| text(&format!("# Server\r\nredis_version:{version}\r\nredis_mode:standalone\r\n"));
        let rows = [
            ("7.0.15", info("7.0.15"), true),
            ("10.1.0", info("10.1.0"), true),
            ("6.2.1", info("6.2.1"), false),
            ("no number", info("unstable"), false),
            ("no version", text("# Server\r\n"), false),
            ("refused", Reply::Error("NOPERM no".to_owned()), false),
        ];
        for (name, reply, expected) in rows {
            assert_eq!(check_version(&endpoint, &reply).is_ok(), expected, "{name}");
        }
    }
}
