//! A headless Chromium, driven over its debugging pipe: no driver program, and no port.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_test_cluster::wait::DEADLINE;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The programs that are a Chromium, in the order in which they are looked for.
const PROGRAMS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page. It ends when this value is dropped.
#[derive(Debug)]
pub struct Browser {
    program: Child,
    commands: File,
    messages: Receiver<Value>,
    /// Events that were received while an answer was waited for.
    events: VecDeque<Value>,
    session: Option<String>,
    last_id: u64,
    _folder: TempDir,
}

/// The name of a Chromium. Where there is none, Debian's is installed, if this process may; else the error says what is missing.
pub fn chromium() -> anyhow::Result<&'static str> {
    static FOUND: OnceLock<Option<&'static str>> = OnceLock::new();
    let found = FOUND.get_or_init(|| find_chromium().or_else(install_chromium));
    found.context("no Chromium is on the PATH: install it, on Debian with `apt-get install chromium`")
}

fn find_chromium() -> Option<&'static str> {
    let is_there = |program: &&&str| run(&format!("command -v {program}"));
    PROGRAMS.iter().find(is_there).copied()
}

fn install_chromium() -> Option<&'static str> {
    let is_root = run("[ \"$(id -u)\" = 0 ] && command -v apt-get");
    let install =
        "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends chromium";
    (is_root && run(install)).then(find_chromium).flatten()
}

/// Whether a command of the shell succeeds.
fn run(command: &str) -> bool {
    let quiet = || Stdio::null();
    let status = Command::new("sh").args(["-c", command]).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
    status.is_ok_and(|status| status.success())
}

impl Browser {
    /// Starts a browser whose page is this large.
    pub fn start(width: u32, height: u32) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let (input, output) = (folder.path().join("in"), folder.path().join("out"));
        let made = Command::new("mkfifo").args([&input, &output]).status().context("cannot start mkfifo")?;
        anyhow::ensure!(made.success(), "mkfifo failed");
        // The browser reads commands from file descriptor 3, and writes messages to 4.
        let script = r#"exec "$0" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
            --remote-debugging-pipe --user-data-dir="$1/profile" --window-size="$2" about:blank 3<"$1/in" 4>"$1/out""#;
        let program = Command::new("sh")
            .args(["-c", script, chromium()?])
            .arg(folder.path())
            .arg(format!("{width},{height}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the browser")?;
        // Each of these waits for the other end.
        let commands = OpenOptions::new().write(true).open(&input)?;
        let messages = read_messages(&output)?;
        let (events, last_id) = (VecDeque::new(), 0);
        let mut browser = Self { program, commands, messages, events, session: None, last_id, _folder: folder };
        browser.attach(width, height)?;
        Ok(browser)
    }

    fn attach(&mut self, width: u32, height: u32) -> anyhow::Result<()> {
        let target = self.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attached =
            self.call("Target.attachToTarget", json!({ "targetId": target["targetId"], "flatten": true }))?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({}))?;
        }
        self.resize(width, height)
    }

    /// Makes the page this large.
    pub fn resize(&mut self, width: u32, height: u32) -> anyhow::Result<()> {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.call("Emulation.setDeviceMetricsOverride", metrics).map(drop)
    }

    pub fn open(&mut self, url: &str) -> anyhow::Result<()> {
        self.call("Page.navigate", json!({ "url": url })).map(drop)
    }

    /// Evaluates an expression in the page; promises are awaited.
    pub fn evaluate(&mut self, expression: &str) -> anyhow::Result<Value> {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", parameters)?;
        if let Some(exception) = answer.get("exceptionDetails") {
            bail!("{expression}: {exception}");
        }
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str) -> anyhow::Result<()> {
        let started = Instant::now();
        loop {
            let seen = self.evaluate(expression)?;
            if seen == true {
                return Ok(());
            }
            if started.elapsed() > DEADLINE {
                let text = self.evaluate("document.body.innerText")?;
                bail!(
                    "not true within {DEADLINE:?}: {expression}\nit is {seen}; the page says:\n{}",
                    text.as_str().unwrap_or_default()
                );
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Presses and releases a key.
    pub fn press(&mut self, key: &str, code: u32) -> anyhow::Result<()> {
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event)?;
        }
        Ok(())
    }

    /// Takes a picture of the page, PNG.
    pub fn screenshot(&mut self, file: &Path) -> anyhow::Result<()> {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }))?;
        let picture = STANDARD.decode(answer["data"].as_str().unwrap_or_default())?;
        std::fs::write(file, picture).with_context(|| format!("cannot write {}", file.display()))
    }

    /// What the page requested so far, and what it complained of.
    pub fn observed(&mut self) -> anyhow::Result<Observed> {
        // All events before the answer have arrived then.
        self.evaluate("0")?;
        let mut observed = Observed::default();
        for event in &self.events {
            let parameters = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Network.requestWillBeSent" => {
                    observed.requests.push(parameters["request"]["url"].as_str().unwrap_or_default().to_owned());
                }
                "Runtime.exceptionThrown" => observed.complaints.push(parameters["exceptionDetails"].to_string()),
                "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                    observed.complaints.push(parameters["args"].to_string());
                }
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                    observed.complaints.push(parameters["entry"]["text"].to_string());
                }
                _ => {}
            }
        }
        Ok(observed)
    }

    /// Sends a command, and waits for its answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> anyhow::Result<Value> {
        self.last_id += 1;
        let mut command = json!({ "id": self.last_id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = command.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).context("the browser has gone")?;
        loop {
            let message = self.messages.recv_timeout(DEADLINE).with_context(|| format!("no answer to {method}"))?;
            if message["id"] != self.last_id {
                self.events.push_back(message);
                continue;
            }
            if let Some(error) = message.get("error") {
                bail!("{method}: {error}");
            }
            return Ok(message["result"].clone());
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The script of axe-core, which finds what keeps people with disabilities from using a page. npm fetches it once.
pub fn axe_core() -> anyhow::Result<String> {
    const PACKAGE: &str = "axe-core-4.10.3.tgz";
    const SHA_512: &str = "5e6edba515e70d25f6604d9815f064d859c5d1ea7ab661bbc4f87c88779ef0c21cae0abbeb636471ef39e9d62d2582e4b88a1866f19f4ecfcf6d986275e4dc12";
    let folder = tempfile::tempdir()?;
    let fetch = format!(
        "cd {} && npm pack axe-core@4.10.3 --silent && echo '{SHA_512}  {PACKAGE}' | sha512sum --check && \
         tar -xzf {PACKAGE} package/axe.min.js",
        folder.path().display()
    );
    anyhow::ensure!(run(&fetch), "cannot fetch axe-core with npm: install npm, on Debian with `apt-get install npm`");
    Ok(std::fs::read_to_string(folder.path().join("package/axe.min.js"))?)
}

/// What a page did.
#[derive(Debug, Default)]
pub struct Observed {
    /// The URLs of all requests.
    pub requests: Vec<String>,
    /// Errors of the console, and of scripts.
    pub complaints: Vec<String>,
}

/// Reads messages on a thread of its own.
fn read_messages(output: &Path) -> anyhow::Result<Receiver<Value>> {
    let mut reader = BufReader::new(File::open(output)?);
    let (sent, received) = channel();
    std::thread::spawn(move || {
        loop {
            let mut message = Vec::new();
            match reader.read_until(0, &mut message) {
                Ok(read) if read > 0 => {}
                _ => break,
            }
            message.pop();
            let Ok(message) = serde_json::from_slice(&message) else { continue };
            if sent.send(message).is_err() {
                break;
            }
        }
    });
    Ok(received)
}
