//! Serving certificates in files that another tool rotates, such as cert-manager. A change of the files replaces the served certificate.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kedge_serving::{CertificateError, ServingCertificate};
use tokio::time::sleep;
use tracing::{info, warn};

/// How often the files are read. The kubelet takes up to a minute to update them, and certificates are rotated long before they expire.
const READ_INTERVAL: Duration = Duration::from_secs(5);

/// Two PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    pub chain: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] io::Error),
    #[error("{} and {} are not a certificate with its key", .0.chain.display(), .0.key.display())]
    Certificate(Files, #[source] CertificateError),
}

/// The contents of the files.
type Pair = (Vec<u8>, Vec<u8>);

/// Watches the files.
#[derive(Debug)]
pub struct FileWatcher {
    files: Files,
    /// The contents at the last read.
    seen: Pair,
    certificate: ServingCertificate,
}

impl Files {
    /// The certificate in the files, and the watcher that keeps it current.
    pub async fn open(self) -> Result<(ServingCertificate, FileWatcher), FilesError> {
        let seen = self.read_pair().await?;
        let certificate = ServingCertificate::from_pem(&seen.0, &seen.1)
            .map_err(|error| FilesError::Certificate(self.clone(), error))?;
        Ok((certificate.clone(), FileWatcher { files: self, seen, certificate }))
    }

    async fn read_pair(&self) -> Result<Pair, FilesError> {
        let files = self.clone();
        // A mounted folder may hang, which must not block other tasks.
        tokio::task::spawn_blocking(move || Ok((read_file(files.chain)?, read_file(files.key)?)))
            .await
            .expect("reading does not panic")
    }
}

fn read_file(path: PathBuf) -> Result<Vec<u8>, FilesError> {
    fs::read(&path).map_err(|error| FilesError::Read(path, error))
}

impl FileWatcher {
    /// Watches the files for ever.
    pub async fn run(mut self) -> Infallible {
        loop {
            sleep(READ_INTERVAL).await;
            self.reload().await;
        }
    }

    /// Serves the current contents. Unusable contents change nothing: the two files are not replaced at the same instant.
    async fn reload(&mut self) {
        let files = &self.files;
        match files.read_pair().await {
            Ok(pair) if pair == self.seen => {}
            Ok(pair) => {
                match self.certificate.replace_pem(&pair.0, &pair.1) {
                    Ok(()) => info!(chain = %files.chain.display(), "serving certificate replaced"),
                    Err(error) => {
                        let error = &FilesError::Certificate(files.clone(), error) as &dyn std::error::Error;
                        warn!(error, "certificate files changed but are unusable; keeping the previous certificate");
                    }
                }
                self.seen = pair;
            }
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read the certificate files; keeping the previous certificate"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SecretContents;
    use crate::issue::apply;
    use crate::plan::plan;
    use crate::spec::{CertificateSpec, Lifetimes};

    fn made() -> SecretContents {
        let spec = CertificateSpec { names: vec!["web".to_owned()], lifetimes: Lifetimes::default() };
        let (nothing, now) = (SecretContents::default(), "2026-12-01T10:00:00Z".parse().unwrap());
        apply(plan(&nothing, &spec, now), &nothing, None, &spec, now).unwrap()
    }

    #[tokio::test]
    async fn a_change_of_the_files_is_served_once_the_pair_matches() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { chain: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
        let missing = files.clone().open().await.unwrap_err().to_string();
        assert_eq!(missing, format!("cannot read {}", files.chain.display()));
        let (first, second) = (made(), made());
        fs::write(&files.chain, &first.chain).unwrap();
        fs::write(&files.key, &first.key).unwrap();
        let (certificate, mut watcher) = files.clone().open().await.unwrap();
        let before = certificate.leaf();
        watcher.reload().await;
        assert_eq!(certificate.leaf(), before);
        fs::write(&files.chain, &second.chain).unwrap();
        watcher.reload().await;
        assert_eq!(certificate.leaf(), before, "half of a pair changes nothing");
        fs::write(&files.key, &second.key).unwrap();
        watcher.reload().await;
        assert_ne!(certificate.leaf(), before);
        fs::remove_file(&files.key).unwrap();
        watcher.reload().await;
        assert_ne!(certificate.leaf(), before, "nor does a missing file");
    }
}
