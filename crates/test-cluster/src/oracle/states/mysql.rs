//! A MariaDB server, with a user who may read one database. Its certificate is known to no client.

use crate::mysql::MysqlServer;
use crate::oracle::cases::mysql::{DATABASE, PASSWORD, USER};
use crate::oracle::sources::{Placeholder, Sources};

pub(in crate::oracle) const PLACEHOLDERS: &[Placeholder] =
    &[("mysql", "127.0.0.1:3306"), ("mysql.host", "127.0.0.1"), ("mysql.port", "3306")];

pub(in crate::oracle) async fn start(name: &str) -> anyhow::Result<Sources> {
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let server = MysqlServer::start(name, &certified.cert.pem(), &certified.signing_key.serialize_pem()).await?;
    let mut client = server.connect()?;
    client.run(&format!("CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'"))?;
    client.run(&format!("GRANT SELECT ON {DATABASE}.* TO {USER}@'127.0.0.1'"))?;
    let address = format!("127.0.0.1:{}", server.port());
    let sources = Sources::default().with_server(["mysql", "mysql.host", "mysql.port"], &address);
    Ok(sources.keeping(server))
}
