//! The two clusters that most tests share: one with our CRDs, one with KEDA's. They end with this process.

use std::path::Path;

use kedge_test_cluster::{Cluster, keda};
use kedge_tests::files;
use tokio::sync::OnceCell;

static OURS: OnceCell<Cluster> = OnceCell::const_new();
static KEDAS: OnceCell<Cluster> = OnceCell::const_new();

/// The cluster with our CRDs.
pub(crate) async fn ours() -> &'static Cluster {
    OURS.get_or_init(async || start("crds-ours", &files::workspace().join("crds")).await.unwrap()).await
}

/// The cluster with the CRDs that KEDA releases.
pub(crate) async fn kedas() -> &'static Cluster {
    KEDAS
        .get_or_init(async || {
            let folder = tempfile::tempdir().unwrap();
            keda::write_crds(folder.path()).unwrap();
            start("crds-kedas", folder.path()).await.unwrap()
        })
        .await
}

async fn start(name: &str, crds: &Path) -> anyhow::Result<Cluster> {
    let cluster = Cluster::builder(name).start().await?;
    cluster.install_crds(crds)?;
    Ok(cluster)
}
