//! Requests to the services that give credentials, and the files that hold them. Errors show nothing of what was sent.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, Method, header};

use crate::cloud_environment::CloudEnvironment;
use crate::credential_file;
use crate::http::{Address, Call, HttpClient, HttpClients, TlsProfile};
use crate::trigger::FieldError;

/// Requests tokens and keys.
#[derive(Clone, Debug)]
pub(super) struct TokenClient {
    client: Arc<HttpClient>,
    /// For services of the machine, which no proxy can reach.
    direct: Arc<HttpClient>,
    pub(super) cloud_environment: Arc<CloudEnvironment>,
    /// The limit of fetching credentials, all requests included.
    pub(super) limit: Duration,
}

impl TokenClient {
    pub(super) fn new(clients: &HttpClients) -> Result<Self, FieldError> {
        let settings = clients.settings();
        Ok(Self {
            client: clients.client(&TlsProfile::default())?,
            direct: clients.direct_client()?,
            cloud_environment: Arc::new(settings.cloud_environment.clone()),
            limit: settings.limit(None),
        })
    }

    /// A form to be posted, which may still be signed.
    pub(super) fn form(&self, url: &str, fields: &[(&str, &str)]) -> Result<Call, String> {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish();
        let form = HeaderValue::from_static("application/x-www-form-urlencoded");
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, form)]);
        Ok(Call::new(Method::POST, parse(url)?, headers, body.into(), self.limit))
    }

    pub(super) async fn send(&self, call: &Call) -> Result<Bytes, String> {
        self.client.fetch(call).await.map_err(|error| error.to_string())
    }

    /// Sends a request to a service of this machine, without a proxy.
    pub(super) async fn send_direct(
        &self,
        method: Method,
        url: &str,
        (name, value): (HeaderName, &str),
    ) -> Result<Bytes, String> {
        let mut value = HeaderValue::try_from(value).map_err(|_| format!("the value for {name} cannot be a header"))?;
        value.set_sensitive(true);
        let headers = HeaderMap::from_iter([(name, value)]);
        let call = Call::new(method, parse(url)?, headers, Bytes::new(), self.limit);
        self.direct.fetch(&call).await.map_err(|error| error.to_string())
    }
}

fn parse(url: &str) -> Result<Address, String> {
    Address::parse(url).map_err(|problem| format!("the address that gives credentials {problem}"))
}

/// The text of a file with credentials.
pub(super) async fn read_file(path: &Path) -> Result<String, String> {
    let read = credential_file::read(path).await;
    read.map_err(|problem| format!("the file {} cannot be read: {problem}", path.display()))
}
