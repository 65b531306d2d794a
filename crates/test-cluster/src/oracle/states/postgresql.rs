//! A PostgreSQL server. Its certificate is known to no client.

use crate::oracle::sources::{Placeholder, Sources};
use crate::postgresql::PostgresServer;

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] =
    &[("postgresql", "127.0.0.1:5432"), ("postgresql.host", "127.0.0.1"), ("postgresql.port", "5432")];

pub(in crate::oracle) async fn start(name: &str) -> anyhow::Result<Sources> {
    let server = PostgresServer::start(name).await?;
    let address = format!("127.0.0.1:{}", server.port());
    let sources = Sources::default().with_server(["postgresql", "postgresql.host", "postgresql.port"], &address);
    Ok(sources.keeping(server))
}
