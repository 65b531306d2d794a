//! `kedge playground` as a user has it: a process, its page in a browser, and kubectl.

#[path = "playground/kubectl.rs"]
mod kubectl;
#[path = "playground/page.rs"]
mod page;
#[path = "playground/terminal.rs"]
mod terminal;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use kedge_test_cluster::usage::Usage;
use kedge_tests::programs;
use serde_json::Value;

/// How long anything may take, on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A playground that runs. It ends when this value is dropped.
struct RunningPlayground {
    program: Child,
    lines: Receiver<String>,
    /// What it has printed so far.
    printed: Vec<String>,
    page: String,
    kubeconfig: String,
}

impl RunningPlayground {
    fn start(arguments: &[&str]) -> Self {
        let mut program = Command::new(programs::kedge())
            .args(["playground", "--plain", "--port", "0"])
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(program.stdout.take().unwrap());
        let (sent, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sent.send(line).is_err() {
                    break;
                }
            }
        });
        let mut started = Self { program, lines, printed: Vec::new(), page: String::new(), kubeconfig: String::new() };
        started.until_printed("  stop ");
        let after = |mark: &str| {
            let line = started.printed.iter().find_map(|line| line.split_once(mark)).unwrap();
            line.1.trim().to_owned()
        };
        (started.page, started.kubeconfig) = (after("  page "), after("KUBECONFIG="));
        started
    }

    /// Waits for a line that has this text, and returns it.
    fn until_printed(&mut self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let left = PATIENCE.saturating_sub(started.elapsed());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|_| panic!("no line has {text:?}:\n{}", self.printed.join("\n")));
            self.printed.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends a request to the page's server, and returns the code and the answer.
    fn request(&self, line: &str, body: &str) -> (u16, Value) {
        let address = self.page.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let length = body.len();
        let head = format!(
            "Host: {address}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\nConnection: close"
        );
        write!(stream, "{line} HTTP/1.1\r\n{head}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), serde_json::from_str(body).unwrap_or_default())
    }

    /// Ends it as Ctrl-C does, and returns whether it ended well.
    fn interrupt(mut self) -> bool {
        let interrupted = Command::new("kill").args(["-INT", &self.program.id().to_string()]).status().unwrap();
        assert!(interrupted.success());
        self.program.wait().unwrap().success()
    }
}

impl Drop for RunningPlayground {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

#[test]
fn it_starts_within_seconds_scales_and_leaves_nothing_behind() {
    let started = Instant::now();
    let mut playground = RunningPlayground::start(&["--speed", "30"]);
    let took = started.elapsed();
    playground.until_printed("0 → 1    trigger active: orders is active");
    playground.until_printed("scaled out: orders is at");
    let kubeconfig = playground.kubeconfig.clone();
    assert!(std::path::Path::new(&kubeconfig).exists());
    assert!(playground.interrupt(), "Ctrl-C is no failure");
    assert!(!std::path::Path::new(&kubeconfig).exists());
    // An unoptimized program on a machine that runs other tests.
    assert!(took < Duration::from_secs(30), "{took:?}");
}

/// As docs/playground.md states.
#[test]
fn a_day_of_history_stays_within_its_bound() {
    const GROWN_MIB_MAX: f64 = 16.0;
    const DAY: i64 = 24 * 3_600_000;
    let mut playground =
        RunningPlayground::start(&["--scenario", "office-hours", "--speed", "3600", "--start", "2026-06-01T00:00:00Z"]);
    playground.until_printed("0 → ");
    let usage = |playground: &RunningPlayground| Usage::of(playground.program.id()).unwrap().resident_mib();
    let now = |playground: &RunningPlayground| playground.request("GET /api/objects", "").1["now"].as_i64().unwrap();
    let (before, started_at, started) = (usage(&playground), now(&playground), Instant::now());
    while now(&playground) < started_at + DAY {
        assert!(started.elapsed() < PATIENCE, "a day takes too long");
        std::thread::sleep(Duration::from_millis(200));
    }
    let grown = usage(&playground) - before;
    assert!(grown < GROWN_MIB_MAX, "a day takes {grown:.1} MiB on top of {before:.1}");
    eprintln!("a day takes {grown:.1} MiB on top of {before:.1}");
}
