//! Certificates in files that somebody else keeps: a mounted Secret, cert-manager, or hands. When the files change, what is served does.

use std::convert::Infallible;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kedge_serving::{CertificateError, ServingCertificate};
use tokio::time::sleep;
use tracing::{info, warn};

/// How often the files are read. The kubelet takes up to a minute to change them, and a certificate is replaced long before its end.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);

/// Two files, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    pub chain: PathBuf,
    pub key: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("cannot read {0}")]
    Read(PathBuf, #[source] io::Error),
    #[error("{} and {} do not make a certificate", .0.chain.display(), .0.key.display())]
    Certificate(Files, #[source] CertificateError),
}

/// What is in the files.
type Pair = (Vec<u8>, Vec<u8>);

/// Follows the files.
#[derive(Debug)]
pub struct Follower {
    files: Files,
    /// What was last looked at.
    seen: Pair,
    certificate: ServingCertificate,
}

impl Files {
    /// The certificate in the files, and what follows them.
    pub async fn open(self) -> Result<(ServingCertificate, Follower), FilesError> {
        let seen = self.read().await?;
        let certificate = ServingCertificate::from_pem(&seen.0, &seen.1)
            .map_err(|error| FilesError::Certificate(self.clone(), error))?;
        Ok((certificate.clone(), Follower { files: self, seen, certificate }))
    }

    async fn read(&self) -> Result<Pair, FilesError> {
        let files = self.clone();
        // A mounted folder may hang; that must not hold anything else.
        tokio::task::spawn_blocking(move || Ok((read(files.chain)?, read(files.key)?)))
            .await
            .expect("reading does not panic")
    }
}

fn read(path: PathBuf) -> Result<Vec<u8>, FilesError> {
    fs::read(&path).map_err(|error| FilesError::Read(path, error))
}

impl Follower {
    /// Follows them for ever.
    pub async fn run(mut self) -> Infallible {
        loop {
            sleep(LOOK_INTERVAL).await;
            self.look().await;
        }
    }

    /// Shows what the files hold now. What cannot be used changes nothing: the two files are not replaced in one instant.
    async fn look(&mut self) {
        let files = &self.files;
        match files.read().await {
            Ok(pair) if pair == self.seen => {}
            Ok(pair) => {
                match self.certificate.replace_pem(&pair.0, &pair.1) {
                    Ok(()) => info!(chain = %files.chain.display(), "another certificate is served"),
                    Err(error) => {
                        let error = &FilesError::Certificate(files.clone(), error) as &dyn std::error::Error;
                        warn!(error, "the files changed and cannot be used; the last certificate stays");
                    }
                }
                self.seen = pair;
            }
            Err(error) => {
                warn!(
                    error = &error as &dyn std::error::Error,
                    "the certificate cannot be looked at; the last one stays"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contents;
    use crate::make::apply;
    use crate::plan::plan;
    use crate::wanted::{Lifetimes, Wanted};

    fn made() -> Contents {
        let wanted = Wanted { names: vec!["web".to_owned()], lifetimes: Lifetimes::default() };
        let (nothing, now) = (Contents::default(), "2026-12-01T10:00:00Z".parse().unwrap());
        apply(plan(&nothing, &wanted, now), &nothing, None, &wanted, now).unwrap()
    }

    #[tokio::test]
    async fn what_the_files_hold_is_served_once_it_can_be() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files { chain: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
        let missing = files.clone().open().await.unwrap_err().to_string();
        assert_eq!(missing, format!("cannot read {}", files.chain.display()));
        let (first, second) = (made(), made());
        fs::write(&files.chain, &first.chain).unwrap();
        fs::write(&files.key, &first.key).unwrap();
        let (certificate, mut follower) = files.clone().open().await.unwrap();
        let before = certificate.leaf();
        follower.look().await;
        assert_eq!(certificate.leaf(), before);
        fs::write(&files.chain, &second.chain).unwrap();
        follower.look().await;
        assert_eq!(certificate.leaf(), before, "half of a pair changes nothing");
        fs::write(&files.key, &second.key).unwrap();
        follower.look().await;
        assert_ne!(certificate.leaf(), before);
        fs::remove_file(&files.key).unwrap();
        follower.look().await;
        assert_ne!(certificate.leaf(), before, "nor does a missing file");
    }
}
