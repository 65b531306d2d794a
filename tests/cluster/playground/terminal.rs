//! The terminal view in a pseudo-terminal.

use kedge_tests::browser::Browser;
use kedge_tests::programs;
use kedge_tests::terminal::TerminalProgram;

const RIGHT: &str = "\u{1b}[C";

#[test]
fn keys_turn_the_load_break_the_source_and_pause_and_the_terminal_is_restored() {
    let manifest = tempfile::Builder::new().suffix(".yaml").tempfile().unwrap();
    let scenario = include_str!("../../../crates/playground/src/scenario/flaky-source.yaml");
    std::fs::write(manifest.path(), scenario).unwrap();
    let path = manifest.path().to_str().unwrap();
    let arguments = ["playground", "--port", "0", "--speed", "20", "--manifest", path];
    let mut terminal = TerminalProgram::start(&programs::kedge(), &arguments, 40, 120).unwrap();
    terminal.until("default/batch").unwrap();
    terminal.until("› jobs").unwrap();
    terminal.until("next poll in").unwrap();
    terminal.keys("f").unwrap();
    terminal.until("forced active").unwrap();
    terminal.keys("f").unwrap();
    terminal.until("cooldown in").unwrap();
    for _ in 0..6 {
        terminal.keys(RIGHT).unwrap();
    }
    terminal.until("HPA").unwrap();
    terminal.until("which needs").unwrap();
    terminal.keys("b").unwrap();
    terminal.until("broken").unwrap();
    terminal.until("fallback: a source failed too often").unwrap();
    terminal.keys("w").unwrap();
    terminal.until("fallback ended").unwrap();
    terminal.keys("p").unwrap();
    terminal.until("paused: an annotation pauses the object").unwrap();
    terminal.keys("+").unwrap();
    terminal.until("40 times as fast").unwrap();
    terminal.keys("q").unwrap();
    assert!(terminal.ended().unwrap().success());
    assert!(!terminal.text().contains("ScaledObjects"), "the terminal is as it was before:\n{}", terminal.text());
}

#[test]
fn ctrl_c_ends_it_in_a_small_terminal_too() {
    let arguments = ["playground", "--port", "0"];
    let mut terminal = TerminalProgram::start(&programs::kedge(), &arguments, 8, 40).unwrap();
    terminal.until("Kedge playground").unwrap();
    terminal.keys("\u{3}").unwrap();
    assert!(terminal.ended().unwrap().success());
}

/// `UPDATE_GOLDEN=1` renews the picture of the README.
#[test]
fn a_picture_of_the_terminal_can_be_taken() {
    let arguments = ["playground", "--port", "0", "--speed", "20", "--start", "2026-06-01T12:00:00Z"];
    let terminal = TerminalProgram::start(&programs::kedge(), &arguments, 30, 118).unwrap();
    terminal.until("7 → 8").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (page, picture) = (folder.path().join("screen.html"), folder.path().join("screen.png"));
    std::fs::write(&page, terminal.html()).unwrap();
    let mut browser = Browser::start(1024, 560).unwrap();
    browser.open(&format!("file://{}", page.display())).unwrap();
    browser.until("document.querySelector('pre')?.innerText.includes('7 → 8')").unwrap();
    browser.screenshot(&picture).unwrap();
    let bytes = std::fs::read(&picture).unwrap();
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 10_000, "{} bytes", bytes.len());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(kedge_tests::files::workspace().join("docs/playground-terminal.png"), bytes).unwrap();
    }
}
