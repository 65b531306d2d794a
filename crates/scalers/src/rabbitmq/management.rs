//! Questions to the management API of RabbitMQ, and what its answers mean. Everything here is pure.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;

use super::mode::QueueNumbers;
use crate::http::Address;

/// What a part of a path or of a query cannot have. As Go, which metric names depend on.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The vhost `/`, escaped.
const ROOT_VHOST: &str = "%2F";

/// Which messages count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counted {
    /// Those that are ready, and those that are delivered and not acknowledged.
    All,
    Ready,
}

/// What is made of the numbers of several queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Sum,
    Average,
    Maximum,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Queues {
    Named(String),
    /// Those whose names match, if they fit on one page.
    Matching {
        pattern: String,
        page_size: i64,
        operation: Operation,
    },
}

/// The text as part of a query: a blank becomes `+`.
pub(super) fn escape_form(text: &str) -> String {
    escape_path(text).replace("%20", "+")
}

/// The text as part of a path. KEDA writes `+` for a blank here too, which RabbitMQ takes for a plus.
fn escape_path(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// The address of a question. The path of `host` ends with the vhost as it is written there; before it, the API may have a path of its own.
pub(super) fn address(host: &str, vhost_name: Option<&str>, queues: &Queues) -> Result<Address, &'static str> {
    let (scheme, rest) = host.split_once("://").ok_or("is not a URL")?;
    let (authority, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    // The path of the question goes to the end of `host`.
    if tail.contains(['?', '#']) {
        return Err("has a query or a fragment");
    }
    if !has_usable_port(authority) {
        return Err("has no usable port");
    }
    let (base, written) = tail.rsplit_once('/').unwrap_or(("", ""));
    let vhost = match vhost_name {
        Some(name) => escape_path(name),
        None if written.is_empty() => ROOT_VHOST.to_owned(),
        None => written.to_owned(),
    };
    let queue = match queues {
        Queues::Named(name) => format!("/{}", escape_path(name)),
        Queues::Matching { pattern, page_size, .. } => {
            let pattern = escape_form(pattern);
            format!("?page=1&use_regex=true&pagination=false&name={pattern}&page_size={page_size}")
        }
    };
    Address::parse(&format!("{scheme}://{authority}{}/api/queues/{vhost}{queue}", clean(base)))
}

/// Whether what is behind the last colon of the server is a number, or nothing.
fn has_usable_port(authority: &str) -> bool {
    let server = authority.rsplit_once('@').map_or(authority, |(_, server)| server);
    // A colon in brackets is of the host.
    let port = server.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.contains(']'));
    port.is_none_or(|port| port.bytes().all(|digit| digit.is_ascii_digit()))
}

/// The path without empty segments and dots.
fn clean(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => drop(kept.pop()),
            other => kept.push(other),
        }
    }
    kept.iter().map(|segment| format!("/{segment}")).collect()
}

#[derive(Deserialize)]
struct QueuesPage {
    items: Vec<Queue>,
    page_count: u64,
}

#[derive(Deserialize)]
struct Queue {
    #[serde(default)]
    name: String,
    messages: Option<u64>,
    messages_ready: Option<u64>,
    message_stats: Option<MessageStats>,
}

#[derive(Deserialize)]
struct MessageStats {
    publish_details: Option<Details>,
    deliver_get_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    rate: Option<f64>,
}

/// Why an answer has no numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unusable {
    Malformed(String),
    NoValue(String),
}

/// The numbers in an answer.
pub(super) fn parse(body: &[u8], queues: &Queues, counted: Counted) -> Result<QueueNumbers, Unusable> {
    let foreign =
        |_| Unusable::Malformed("it is not what the management API answers; check that `host` leads there".to_owned());
    match queues {
        Queues::Named(_) => serde_json::from_slice::<Queue>(body).map_err(foreign)?.numbers(counted),
        Queues::Matching { operation, page_size, .. } => {
            let page: QueuesPage = serde_json::from_slice(body).map_err(foreign)?;
            if page.page_count > 1 {
                let problem = format!(
                    "the regular expression matches more queues than one page of {page_size} has; raise `pageSize`, or narrow `queueName`"
                );
                return Err(Unusable::NoValue(problem));
            }
            let numbers: Vec<QueueNumbers> =
                page.items.iter().map(|queue| queue.numbers(counted)).collect::<Result<_, _>>()?;
            Ok(operation.combine(&numbers))
        }
    }
}

impl Queue {
    fn numbers(&self, counted: Counted) -> Result<QueueNumbers, Unusable> {
        let messages = match counted {
            Counted::All => self.messages,
            Counted::Ready => self.messages_ready,
        };
        let Some(messages) = messages else {
            // KEDA reads 0.
            let problem = format!(
                "there are no statistics of the queue {:?}: it may be new, or on a node that is down, or the server collects none",
                self.name
            );
            return Err(Unusable::NoValue(problem));
        };
        // What has not happened for some time is left out: here, nothing means 0.
        let rate = |details: fn(&MessageStats) -> &Option<Details>| {
            self.message_stats.as_ref().and_then(|stats| details(stats).as_ref()?.rate).unwrap_or(0.0)
        };
        let publish_rate = rate(|stats| &stats.publish_details);
        let deliver_rate = rate(|stats| &stats.deliver_get_details);
        Ok(QueueNumbers { messages, publish_rate, deliver_rate })
    }
}

impl Operation {
    pub(super) const NAMES: &[&str] = &["sum", "avg", "max"];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "avg" => Self::Average,
            "max" => Self::Maximum,
            _ => return None,
        })
    }

    /// No queue has no messages.
    // KEDA: so too.
    fn combine(self, queues: &[QueueNumbers]) -> QueueNumbers {
        let sum = queues.iter().fold(QueueNumbers::default(), |sum, one| QueueNumbers {
            messages: sum.messages.saturating_add(one.messages),
            publish_rate: sum.publish_rate + one.publish_rate,
            deliver_rate: sum.deliver_rate + one.deliver_rate,
        });
        let count = queues.len();
        match self {
            Self::Average if count > 0 => QueueNumbers {
                // KEDA: whole messages.
                messages: sum.messages / count as u64,
                publish_rate: sum.publish_rate / count as f64,
                deliver_rate: sum.deliver_rate / count as f64,
            },
            Self::Sum | Self::Average => sum,
            Self::Maximum => queues.iter().fold(QueueNumbers::default(), |max, one| QueueNumbers {
                messages: max.messages.max(one.messages),
                publish_rate: max.publish_rate.max(one.publish_rate),
                deliver_rate: max.deliver_rate.max(one.deliver_rate),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Queues {
        Queues::Named(name.to_owned())
    }

    fn matching(operation: Operation) -> Queues {
        Queues::Matching { pattern: "^orders-.+$".to_owned(), page_size: 100, operation }
    }

    #[test]
    fn addresses_are_those_of_keda() {
        let rows = [
            ("no path", "http://r:15672", None, "orders", "http://r:15672/api/queues/%2F/orders"),
            ("a slash", "http://r:15672/", None, "orders", "http://r:15672/api/queues/%2F/orders"),
            ("a vhost", "http://u:p@r/shop", None, "orders", "http://r/api/queues/shop/orders"),
            ("an escaped vhost", "https://r/%2Fshop", None, "a/b", "https://r/api/queues/%2Fshop/a%2Fb"),
            ("the root", "https://r/%2F", None, "a", "https://r/api/queues/%2F/a"),
            ("a path before it", "https://r//mq/./x/../shop", None, "a", "https://r/mq/api/queues/shop/a"),
            ("a path alone", "https://r/mq/", None, "a", "https://r/mq/api/queues/%2F/a"),
            ("another vhost", "https://r/mq/shop", Some("a/b"), "a", "https://r/mq/api/queues/a%2Fb/a"),
            ("blanks", "https://r/mq/", Some("my shop"), "my queue", "https://r/mq/api/queues/my%20shop/my%20queue"),
        ];
        for (name, host, vhost, queue, expected) in rows {
            let address = address(host, vhost, &named(queue)).unwrap();
            assert_eq!(address.uri.to_string(), expected, "{name}");
            assert_eq!(address.credentials().is_some(), host.contains('@'), "{name}");
        }
        let regex = address("http://r/shop", None, &matching(Operation::Sum)).unwrap().uri.to_string();
        let query = "page=1&use_regex=true&pagination=false&name=%5Eorders-.%2B%24&page_size=100";
        assert_eq!(regex, format!("http://r/api/queues/shop?{query}"));
        for (host, problem) in [
            ("r:15672", "is not a URL"),
            ("http:///x", "has no usable host"),
            ("http://r/?x", "has a query or a fragment"),
            ("http://r/#x", "has a query or a fragment"),
            ("http://u:p@r:x/", "has no usable port"),
        ] {
            assert_eq!(address(host, None, &named("q")).unwrap_err(), problem);
        }
        assert_eq!(escape_form("a b*c~d/e%"), "a+b%2Ac~d%2Fe%25");
    }

    #[test]
    fn what_a_queue_has_is_read_and_what_it_has_not_is_no_zero() {
        let all = |body: &str| parse(body.as_bytes(), &named("q"), Counted::All);
        let numbers = |messages, publish_rate, deliver_rate| QueueNumbers { messages, publish_rate, deliver_rate };
        let busy = r#"{"name":"q","messages":7,"messages_ready":5,"message_stats":{"publish_details":{"rate":1.5},"deliver_get_details":{"rate":0.5}}}"#;
        assert_eq!(all(busy), Ok(numbers(7, 1.5, 0.5)));
        assert_eq!(parse(busy.as_bytes(), &named("q"), Counted::Ready), Ok(numbers(5, 1.5, 0.5)));
        assert_eq!(all(r#"{"messages":3}"#), Ok(numbers(3, 0.0, 0.0)), "nothing came or went");
        for absent in ["{}", r#"{"name":"q"}"#, r#"{"messages":null}"#, r#"{"messages_ready":5}"#] {
            assert!(matches!(all(absent), Err(Unusable::NoValue(_))), "{absent}");
        }
        for foreign in ["", "[]", "<html>", r#"{"messages":"7"}"#, r#"{"messages":7.5}"#, r#"{"messages":-1}"#] {
            assert!(matches!(all(foreign), Err(Unusable::Malformed(_))), "{foreign}");
        }
    }

    #[test]
    fn several_queues_are_combined_and_one_without_numbers_is_no_zero() {
        let queue = |messages: u64, publish: f64| {
            format!(r#"{{"messages":{messages},"message_stats":{{"publish_details":{{"rate":{publish}}}}}}}"#)
        };
        let page = |items: &[String], pages: u64| {
            let items = items.join(",");
            format!(r#"{{"items":[{items}],"page_count":{pages}}}"#)
        };
        let read = |body: &str, operation| parse(body.as_bytes(), &matching(operation), Counted::All);
        let three = page(&[queue(4, 1.0), queue(1, 3.5), queue(3, 0.0)], 1);
        for (operation, messages, publish_rate) in
            [(Operation::Sum, 8, 4.5), (Operation::Average, 2, 1.5), (Operation::Maximum, 4, 3.5)]
        {
            let expected = QueueNumbers { messages, publish_rate, deliver_rate: 0.0 };
            assert_eq!(read(&three, operation), Ok(expected), "{operation:?}");
            assert_eq!(read(&page(&[], 0), operation), Ok(QueueNumbers::default()), "no queue matches");
        }
        let new = page(&[queue(4, 1.0), r#"{"name":"new"}"#.to_owned()], 1);
        let Err(Unusable::NoValue(problem)) = read(&new, Operation::Sum) else { panic!("a new queue has no number") };
        assert!(problem.contains("\"new\""), "{problem}");
        let Err(Unusable::NoValue(problem)) = read(&page(&[queue(1, 1.0)], 2), Operation::Sum) else {
            panic!("two pages")
        };
        assert!(problem.contains("raise `pageSize`"), "{problem}");
        for foreign in ["{}", r#"{"items":[]}"#, r#"{"page_count":0}"#, "[]"] {
            assert!(matches!(read(foreign, Operation::Sum), Err(Unusable::Malformed(_))), "{foreign}");
        }
    }
}
