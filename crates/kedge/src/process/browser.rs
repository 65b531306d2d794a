//! Opening a page in the user's browser. Where there is none, nothing happens: the address is printed too.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use tempfile::NamedTempFile;

/// The programs that open what they are given, each on its own systems.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

/// Opens an address that is no secret.
pub(crate) fn open(address: &str) {
    for opener in OPENERS {
        let quiet = Stdio::null;
        let mut command = Command::new(opener);
        // Ctrl-C ends this process, and no browser.
        command.process_group(0);
        if let Ok(mut child) = command.arg(address).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn() {
            std::thread::spawn(move || child.wait());
            return;
        }
    }
}

/// Opens an address that other users of the machine must not see, as they would among the arguments of a process: by a file that leads there. It
/// is there until the value is dropped.
pub(crate) fn open_privately(address: &str) -> Option<NamedTempFile> {
    let file = write_redirect(address)?;
    open(&format!("file://{}", file.path().display()));
    Some(file)
}

fn write_redirect(address: &str) -> Option<NamedTempFile> {
    let mut file = tempfile::Builder::new().prefix("kedge-dashboard-").suffix(".html").tempfile().ok()?;
    write!(
        file,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\"><a href=\"{address}\">Kedge</a>"
    )
    .ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn only_the_user_can_read_the_file_and_it_goes() {
        let file = write_redirect("http://127.0.0.1:1/#token=secret").unwrap();
        let path = file.path().to_owned();
        assert_eq!(file.as_file().metadata().unwrap().permissions().mode() & 0o077, 0);
        assert!(std::fs::read_to_string(&path).unwrap().contains("url=http://127.0.0.1:1/#token=secret"));
        drop(file);
        assert!(!path.exists());
    }
}
