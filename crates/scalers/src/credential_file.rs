//! Files with credentials: small ones, read outside the threads that reconcile. A disk may hang, and a trigger may name any file.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Tokens, keys and lists of parameters are a few kilobytes.
const BYTES_MAX: u64 = 256 * 1024;

/// How long a read may take.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The text of a file, or what is wrong with the file.
pub async fn read(path: impl Into<PathBuf>) -> Result<String, String> {
    outside(path.into(), read_now).await
}

/// The texts of all files of a folder, in the order of their names. What holds no text, or is hidden, is left out.
pub async fn read_folder(path: impl Into<PathBuf>) -> Result<String, String> {
    outside(path.into(), read_folder_now).await
}

async fn outside(path: PathBuf, read: fn(&Path) -> Result<String, String>) -> Result<String, String> {
    let reading = tokio::task::spawn_blocking(move || read(&path));
    match tokio::time::timeout(TIMEOUT, reading).await {
        Ok(Ok(read)) => read,
        Ok(Err(_)) => Err("it cannot be read".to_owned()),
        Err(_) => Err(format!("it was not read within {TIMEOUT:?}")),
    }
}

fn read_folder_now(path: &Path) -> Result<String, String> {
    let entries = std::fs::read_dir(path).map_err(|error| error.kind().to_string())?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|file| file.file_name().is_some_and(|name| !name.as_encoded_bytes().starts_with(b".")));
    files.sort();
    let texts: Vec<String> = files.iter().filter_map(|file| read_now(file).ok()).collect();
    Ok(texts.join("\n"))
}

/// What is no file is not opened: a pipe would never end.
fn read_now(path: &Path) -> Result<String, String> {
    let failed = |error: std::io::Error| error.kind().to_string();
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err("it is not a file".to_owned());
    }
    let mut text = String::new();
    // A byte more than is allowed shows that there is more.
    let read = std::fs::File::open(path).map_err(failed)?.take(BYTES_MAX + 1).read_to_string(&mut text);
    read.map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => "it does not hold text".to_owned(),
        kind => kind.to_string(),
    })?;
    if text.len() as u64 > BYTES_MAX { Err(format!("it is longer than {BYTES_MAX} bytes")) } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_small_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| folder.path().join(name);
        std::fs::write(place("small"), "token").unwrap();
        std::fs::write(place("large"), vec![b'x'; 300_000]).unwrap();
        std::fs::write(place("binary"), [0xff, 0xfe]).unwrap();
        assert_eq!(read(place("small")).await.as_deref(), Ok("token"));
        let rows = [
            (place("large"), "it is longer than 262144 bytes"),
            (place("binary"), "it does not hold text"),
            (folder.path().to_owned(), "it is not a file"),
            (PathBuf::from("/dev/zero"), "it is not a file"),
            (place("absent"), "entity not found"),
        ];
        for (path, expected) in rows {
            assert_eq!(read(path).await.unwrap_err(), expected);
        }
    }
}
