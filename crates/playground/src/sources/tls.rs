//! TLS of stand-ins: the operator trusts a CA that exists for one run, and each host gets a certificate of its own.

use std::sync::Arc;

use kedge_plane::serve::tls::KeyedCertificate;
use rcgen::{CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use tokio::io::DuplexStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::certificates::{issue, new_ca};
use crate::kubectl::AccessError;

/// The CA of the sources.
#[derive(Clone)]
pub(crate) struct SourceCa(Arc<CertifiedIssuer<'static, KeyPair>>);

impl SourceCa {
    pub(crate) fn new() -> Result<Self, AccessError> {
        Ok(Self(Arc::new(new_ca("kedge-playground-sources")?)))
    }

    /// What the operator trusts.
    pub(crate) fn certificate(&self) -> CertificateDer<'static> {
        self.0.der().clone()
    }

    /// Accepts a connection under the name of a host, for this protocol.
    pub(super) async fn accept(
        &self,
        host: &str,
        protocol: &[u8],
        stream: DuplexStream,
    ) -> Option<TlsStream<DuplexStream>> {
        let config = self.server_config(host, protocol);
        let config = config.inspect_err(|error| tracing::warn!(host, %error, "no TLS for a stand-in")).ok()?;
        // A client that does not trust the CA ends the handshake, and says so itself.
        TlsAcceptor::from(Arc::new(config)).accept(stream).await.ok()
    }

    fn server_config(&self, host: &str, protocol: &[u8]) -> Result<ServerConfig, AccessError> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let issued = issue(params, host, &self.0)?;
        let shown = KeyedCertificate::from_pem(issued.certificate.as_bytes(), issued.key.as_bytes())?;
        let mut config = kedge_plane::serve::tls::open_server_config(shown)?;
        config.alpn_protocols = vec![protocol.to_vec()];
        Ok(config)
    }
}
