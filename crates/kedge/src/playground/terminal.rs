//! A playground in the terminal: the objects, one of them in detail, and what happened.
//!
//! | module | what it holds |
//! |---|---|
//! | `screen` | what is shown, as a picture of the state |
//! | `keys` | what each key does |

mod keys;
mod screen;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use kedge_dashboard::{Controls, DashboardSource};
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use tokio::sync::mpsc;

use self::keys::{Command, command_of};
use self::screen::Screen;
use crate::process::browser;

/// How often the picture is drawn.
const EVERY: Duration = Duration::from_millis(200);

/// How long the keyboard is waited for at a time.
const KEY_WAIT: Duration = Duration::from_millis(100);

/// Shows a playground until the user leaves it.
pub(super) async fn show(
    source: Arc<dyn DashboardSource>,
    controls: Arc<dyn Controls>,
    greeting: Vec<String>,
    page: &str,
    stopped: impl Future<Output = ()>,
) -> anyhow::Result<()> {
    let mut terminal = ratatui::try_init().context("the terminal cannot be used; try --plain")?;
    let (keyboard, mut keys) = Keyboard::start();
    let mut screen = Screen::new(greeting);
    let mut ticks = tokio::time::interval(EVERY);
    tokio::pin!(stopped);
    let shown = loop {
        screen.update(&*source, &*controls);
        if let Err(error) = terminal.draw(|frame| screen.draw(frame)) {
            break Err(error).context("the terminal cannot be drawn");
        }
        tokio::select! {
            () = &mut stopped => break Ok(()),
            _ = ticks.tick() => {}
            key = keys.recv() => match key.and_then(|key| command_of(key, &screen)) {
                Some(Command::Quit) => break Ok(()),
                Some(Command::OpenPage) => browser::open(page),
                Some(Command::Select(index)) => screen.select(index),
                Some(Command::SelectDial(index)) => screen.select_dial(index),
                Some(Command::Act { namespace, name, action }) => {
                    let done = controls.apply(&namespace, &name, action).await;
                    screen.set_message(done.err());
                }
                None => {}
            },
        }
    };
    drop(keyboard);
    ratatui::restore();
    shown
}

/// Reads keys on a thread of its own until it is dropped.
struct Keyboard {
    stopped: Arc<AtomicBool>,
}

impl Keyboard {
    fn start() -> (Self, mpsc::UnboundedReceiver<event::KeyEvent>) {
        let (keys, received) = mpsc::unbounded_channel();
        let stopped = Arc::new(AtomicBool::new(false));
        let is_stopped = stopped.clone();
        std::thread::spawn(move || {
            while !is_stopped.load(Ordering::Relaxed) {
                match event::poll(KEY_WAIT).and_then(|ready| if ready { event::read().map(Some) } else { Ok(None) }) {
                    Ok(Some(Event::Key(key))) if key.kind == KeyEventKind::Press => {
                        if keys.send(key).is_err() {
                            break;
                        }
                    }
                    Ok(_) => {}
                    // Without a keyboard there is nothing to read; a signal still ends the playground.
                    Err(_) => break,
                }
            }
        });
        (Self { stopped }, received)
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
    }
}
