//! The addresses of servers. Cases name them by placeholders such as `${redis}`, so that recorded ones do not change with ports.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;

use super::case::{Answer, Case};

/// A placeholder, without `${` and `}`, and what is in its place where no server is connected to.
pub type Placeholder = (&'static str, &'static str);

/// Running servers by placeholder. They end when this value is dropped.
#[derive(Default)]
pub struct Sources {
    values: Vec<(&'static str, String)>,
    _running: Vec<Box<dyn Any + Send + Sync>>,
}

impl Sources {
    /// What placeholders are for where no server runs.
    pub fn stand_ins(placeholders: &[Placeholder]) -> Self {
        let values = placeholders.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self { values, _running: Vec::new() }
    }

    #[must_use]
    pub fn with(mut self, placeholder: &'static str, value: impl Into<String>) -> Self {
        self.values.push((placeholder, value.into()));
        self
    }

    /// The address of a server, and its host and its port apart.
    #[must_use]
    pub fn with_server(self, [whole, host, port]: [&'static str; 3], address: &str) -> Self {
        let (its_host, its_port) = address.rsplit_once(':').unwrap_or((address, ""));
        self.with(whole, address).with(host, its_host).with(port, its_port)
    }

    /// Keeps servers running as long as this value.
    #[must_use]
    pub fn keeping(mut self, running: impl Any + Send + Sync) -> Self {
        self._running.push(Box::new(running));
        self
    }

    /// The case with values in place of placeholders.
    pub fn fill(&self, case: &Case) -> Case {
        let fill = |text: &str| {
            let place = |text: String, (name, value): &(&str, String)| text.replace(&format!("${{{name}}}"), value);
            self.values.iter().fold(text.to_owned(), place)
        };
        let fill_all =
            |map: &BTreeMap<String, String>| map.iter().map(|(key, text)| (key.clone(), fill(text))).collect();
        Case {
            metadata: fill_all(&case.metadata),
            auth: fill_all(&case.auth),
            env: fill_all(&case.env),
            ..case.clone()
        }
    }

    /// The answer as it is recorded: its errors on one line, short, and without what differs from run to run.
    pub fn conceal(&self, mut answer: Answer) -> Answer {
        answer.build_error = self.conceal_error(&answer.build_error);
        if let Some(reading) = &mut answer.reading {
            reading.error = self.conceal_error(&reading.error);
        }
        answer
    }

    fn conceal_error(&self, error: &str) -> String {
        let line = error.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        let named = self.values.iter().filter(|(_, value)| value.len() > LEAST_LENGTH);
        let named = named.fold(line, |text, (name, value)| text.replace(value, &format!("${{{name}}}")));
        let steady = NOT_STEADY.iter().fold(named, |text, (start, ends)| cut_after(&text, start, ends));
        match steady.char_indices().nth(ERROR_MAX) {
            Some((end, _)) => format!("{}…", &steady[..end]),
            None => steady,
        }
    }
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.values.iter().map(|(name, value)| (name, value))).finish()
    }
}

/// A host or a port alone may be anywhere in a text.
const LEAST_LENGTH: usize = 9;

const ERROR_MAX: usize = 240;

/// What is before a text that differs from run to run, and where that ends.
const NOT_STEADY: &[(&str, &[char])] =
    &[("RequestID: ", &[',', ' ']), ("tcp 127.0.0.1:", &['-', ' ']), (" port=", &[' ']), ("goroutine ", &['\u{0}'])];

/// The text without what follows each `start`, up to one of `ends`.
fn cut_after(text: &str, start: &str, ends: &[char]) -> String {
    let mut parts = text.split(start);
    let mut cut = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.find(ends).map_or("", |end| &part[end..]);
        cut.push_str(start);
        cut.push('…');
        cut.push_str(rest);
    }
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_filled_and_errors_become_steady() {
        let sources = Sources::default().with_server(["redis", "redis.host", "redis.port"], "127.0.0.1:6379");
        let case = Case::new("redis").with("address", "${redis}").auth("port", "${redis.port}");
        let filled = sources.fill(&case);
        assert_eq!((filled.metadata["address"].as_str(), filled.auth["port"].as_str()), ("127.0.0.1:6379", "6379"));
        let error = "read tcp 127.0.0.1:40000->127.0.0.1:6379: reset,\n RequestID: 5f-1, x";
        let answer = Answer { build_error: error.to_owned(), ..Answer::default() };
        assert_eq!(sources.conceal(answer).build_error, "read tcp 127.0.0.1:…->${redis}: reset,; RequestID: …, x");
    }
}
