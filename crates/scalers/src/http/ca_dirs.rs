//! CA certificates that an administrator puts into directories, as a ConfigMap or Secret is mounted.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// The certificates of every file in the directories, and what could not be used, in sentences to be logged.
/// A directory that does not exist is none: the usual one is optional.
pub fn read_ca_dirs(dirs: &[PathBuf]) -> (Vec<CertificateDer<'static>>, Vec<String>) {
    let (mut certificates, mut warnings) = (Vec::new(), Vec::new());
    for dir in dirs {
        match list(dir) {
            Ok(files) => files.iter().for_each(|file| match read(file) {
                Ok(found) => certificates.extend(found),
                Err(problem) => warnings.push(format!("the CAs in {} are not used: {problem}", file.display())),
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => warnings.push(format!("the CA directory {} cannot be read: {error}", dir.display())),
        }
    }
    (certificates, warnings)
}

/// The regular files, in the order of their names. Links to files count: a mounted volume consists of them.
fn list(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        // KEDA: such names belong to the machinery of mounted volumes.
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b"..");
        if !is_hidden && fs::metadata(entry.path()).is_ok_and(|found| found.is_file()) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = fs::read(file).map_err(|error| error.to_string())?;
    let found: Vec<_> = CertificateDer::pem_slice_iter(&text).filter_map(Result::ok).collect();
    if found.is_empty() { Err("there is no PEM certificate in it".to_owned()) } else { Ok(found) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_counts_and_what_is_missing_is_no_fault() {
        let root = tempfile::tempdir().unwrap();
        let pem = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap().cert.pem();
        fs::create_dir(root.path().join("..2026_08_20")).unwrap();
        fs::write(root.path().join("..2026_08_20/linked"), pem("a")).unwrap();
        fs::write(root.path().join("..hidden"), pem("b")).unwrap();
        fs::write(root.path().join("two.pem"), pem("c") + &pem("d")).unwrap();
        fs::write(root.path().join("notes.txt"), "none").unwrap();
        fs::create_dir(root.path().join("folder")).unwrap();
        std::os::unix::fs::symlink("..2026_08_20/linked", root.path().join("linked")).unwrap();
        let dirs = [root.path().to_owned(), root.path().join("absent"), root.path().join("two.pem")];
        let (certificates, warnings) = read_ca_dirs(&dirs);
        assert_eq!(certificates.len(), 3);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        assert!(warnings[0].contains("notes.txt") && warnings[0].contains("no PEM certificate"), "{warnings:?}");
        assert!(warnings[1].contains("cannot be read"), "{warnings:?}");
    }
}
