//! The serving certificate: from files, or from the Secret that the replicas maintain.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;

use anyhow::Context;
use kedge_certificates::Rotator;
use kedge_cluster::Clock;
use kedge_serving::ServingCertificate;

use crate::settings::certificates::Source;

const REMEDY: &str = "there is no certificate to serve with; name files with --cert-dir, or with --tls-cert-file and \
                      --tls-private-key-file, or generate certificates with --enable-cert-rotation";

/// Reloads or rotates the certificate while it is polled.
pub(crate) type Renewal = Pin<Box<dyn Future<Output = Infallible> + Send>>;

/// The certificate, as soon as there is one, and its renewal.
pub(crate) async fn open(client: kube::Client, source: &Source) -> anyhow::Result<(ServingCertificate, Renewal)> {
    match source {
        Source::Files(files) => {
            let (certificate, watcher) = files.clone().open().await.context(REMEDY)?;
            Ok((certificate, Box::pin(watcher.run())))
        }
        Source::Secret(settings) => {
            let (certificate, rotator) = Rotator::start(client, Clock::System, settings.clone()).await;
            Ok((certificate, Box::pin(rotator.run())))
        }
    }
}
