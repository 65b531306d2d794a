//! The API over HTTPS for kubectl: certificates that are made for one run, and a kubeconfig that names them.

use std::net::SocketAddr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_plane::serve::tls::{self, KeyedCertificate, TlsError};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose};
use rustls::ServerConfig;
use serde_json::json;

use crate::certificates::{Issued, issue, new_ca};
use crate::cluster::ADMINISTRATOR;

/// Why kubectl cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    #[error("a certificate cannot be made: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// How the API is served, and how clients find it.
pub(crate) struct KubectlAccess {
    pub(crate) tls: ServerConfig,
    pub(crate) kubeconfig: String,
    pub(crate) ca_pem: String,
}

impl KubectlAccess {
    /// Makes certificates for a server at this address and for its administrator.
    pub(crate) fn new(address: SocketAddr) -> Result<Self, AccessError> {
        let ca = new_ca("kedge-playground-ca")?;
        let ca_pem = ca.pem();
        let mut server = CertificateParams::new(vec!["localhost".to_owned(), address.ip().to_string()])?;
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let server = issue(server, "kedge-playground", &ca)?;
        let mut client = CertificateParams::default();
        client.distinguished_name.push(DnType::OrganizationName, "system:masters");
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let client = issue(client, ADMINISTRATOR, &ca)?;
        let shown = KeyedCertificate::from_pem(server.certificate.as_bytes(), server.key.as_bytes())?;
        let tls = tls::server_config(shown, ca_pem.as_bytes())?;
        Ok(Self { tls, kubeconfig: kubeconfig(address, &ca_pem, &client), ca_pem })
    }
}

/// JSON, which is YAML too.
fn kubeconfig(address: SocketAddr, ca_pem: &str, client: &Issued) -> String {
    let name = "kedge-playground";
    let cluster =
        json!({ "server": format!("https://{address}"), "certificate-authority-data": STANDARD.encode(ca_pem) });
    let user = json!({
        "client-certificate-data": STANDARD.encode(&client.certificate), "client-key-data": STANDARD.encode(&client.key),
    });
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": name,
        "clusters": [{ "name": name, "cluster": cluster }],
        "users": [{ "name": name, "user": user }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name, "namespace": "default" } }],
    });
    format!("{config:#}\n")
}
