//! A program in a terminal: a pseudo-terminal, its screen as text, and a keyboard.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use kedge_test_cluster::wait::DEADLINE;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// A running program. It ends when this value is dropped.
#[allow(missing_debug_implementations)] // the parser has none
pub struct TerminalProgram {
    program: Child,
    keyboard: File,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl TerminalProgram {
    /// Starts a program in a terminal of this size.
    pub fn start(program: &Path, arguments: &[&str], rows: u16, columns: u16) -> anyhow::Result<Self> {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        tcsetwinsize(&controller, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        let name = ptsname(&controller, Vec::new())?;
        let terminal = OpenOptions::new().read(true).write(true).open(OsStr::from_bytes(name.as_bytes()))?;
        // In a session of its own, so that it does not find the terminal of whoever runs the test.
        let program = Command::new("setsid")
            .arg(program)
            .args(arguments)
            .env("TERM", "xterm-256color")
            .stdin(terminal.try_clone()?)
            .stdout(terminal)
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start setsid")?;
        let keyboard = File::from(controller);
        let size = |length: u16| NonZero::new(length).context("a terminal has rows and columns");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(size(rows)?, size(columns)?, 0)));
        let (mut output, shown) = (keyboard.try_clone()?, screen.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails once the program has closed its end.
            while let Ok(read @ 1..) = output.read(&mut bytes) {
                shown.lock().expect("no holder panics").process(&bytes[..read]);
            }
        });
        Ok(Self { program, keyboard, screen })
    }

    /// The text of the screen.
    pub fn text(&self) -> String {
        self.screen.lock().expect("no holder panics").screen().contents()
    }

    /// The screen as a page, for pictures.
    pub fn html(&self) -> String {
        let parser = self.screen.lock().expect("no holder panics");
        let screen = parser.screen();
        let (rows, columns) = screen.size();
        let mut text = String::new();
        for row in 0..rows.get() {
            for cell in (0..columns.get()).filter_map(|column| screen.cell(row, column)) {
                let (mut front, mut back) = (color(cell.fgcolor(), "#d4d7dd"), color(cell.bgcolor(), "#16181d"));
                if cell.inverse() {
                    std::mem::swap(&mut front, &mut back);
                }
                let weight = if cell.bold() { "bold" } else { "normal" };
                let shown = if cell.has_contents() { cell.contents() } else { " " };
                let shown = shown.replace('&', "&amp;").replace('<', "&lt;");
                text += &format!("<span style=\"color:{front};background:{back};font-weight:{weight}\">{shown}</span>");
            }
            text.push('\n');
        }
        format!(
            "<!doctype html><meta charset=\"utf-8\"><body style=\"margin:0;background:#16181d\">\
             <pre style=\"margin:12px;font:14px/1.25 'DejaVu Sans Mono',monospace\">{text}</pre>"
        )
    }

    /// Waits until the screen has a text.
    pub fn until(&self, text: &str) -> anyhow::Result<()> {
        let started = Instant::now();
        while !self.text().contains(text) {
            if started.elapsed() > DEADLINE {
                bail!("the screen never has {text:?}:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Types keys, as the terminal sends them.
    pub fn keys(&mut self, keys: &str) -> anyhow::Result<()> {
        self.keyboard.write_all(keys.as_bytes()).context("the program has gone")
    }

    /// Waits until the program ends.
    pub fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let started = Instant::now();
        loop {
            if let Some(status) = self.program.try_wait()? {
                return Ok(status);
            }
            if started.elapsed() > DEADLINE {
                bail!("it does not end:\n{}", self.text());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The colours of a usual terminal.
fn color(color: vt100::Color, default: &str) -> String {
    const NAMED: [&str; 16] = [
        "#16181d", "#e5534b", "#57ab5a", "#c69026", "#539bf5", "#b083f0", "#39c5cf", "#d4d7dd", "#768390", "#ff938a",
        "#6bc46d", "#daaa3f", "#6cb6ff", "#dcbdfb", "#56d4dd", "#ffffff",
    ];
    match color {
        vt100::Color::Default => default.to_owned(),
        vt100::Color::Idx(index) => NAMED.get(usize::from(index)).unwrap_or(&default).to_string(),
        vt100::Color::Rgb(red, green, blue) => format!("rgb({red},{green},{blue})"),
    }
}

impl Drop for TerminalProgram {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}
