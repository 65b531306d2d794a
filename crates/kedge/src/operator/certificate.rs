//! The certificate that everything is served with: from files, or from the Secret that replicas keep.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;

use anyhow::Context;
use kedge_certificates::Keeper;
use kedge_cluster::Clock;
use kedge_serving::ServingCertificate;

use super::settings::certificates::Source;

const REMEDY: &str = "there is no certificate to serve with; name files with --cert-dir, or with --tls-cert-file and \
                      --tls-private-key-file, or have certificates made with --enable-cert-rotation";

/// What keeps a certificate fresh, for as long as it is polled.
pub(super) type Keeping = Pin<Box<dyn Future<Output = Infallible> + Send>>;

/// The certificate, as soon as there is one, and what keeps it fresh.
pub(super) async fn open(client: kube::Client, source: &Source) -> anyhow::Result<(ServingCertificate, Keeping)> {
    match source {
        Source::Files(files) => {
            let (certificate, follower) = files.clone().open().await.context(REMEDY)?;
            Ok((certificate, Box::pin(follower.run())))
        }
        Source::Kept(kept) => {
            let (certificate, keeper) = Keeper::start(client, Clock::System, kept.clone()).await;
            Ok((certificate, Box::pin(keeper.run())))
        }
    }
}
