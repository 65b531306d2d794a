//! The secret between this command and the page that it opened: other users of the machine, and other pages, do not have it.

use anyhow::anyhow;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;

const BYTES: usize = 24;

pub(super) struct PageKey(String);

impl PageKey {
    pub(super) fn random() -> anyhow::Result<Self> {
        let mut bytes = [0; BYTES];
        let filled = kedge_serving::tls::provider().secure_random.fill(&mut bytes);
        filled.map_err(|_| anyhow!("the system has no random numbers"))?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// The address of the page. Browsers do not send what follows the `#`.
    pub(super) fn page(&self, address: &str) -> String {
        format!("{address}/#token={}", self.0)
    }

    /// Whether a request carries the key.
    pub(super) fn is_in(&self, headers: &HeaderMap) -> bool {
        headers.get(AUTHORIZATION).is_some_and(|value| value.as_bytes() == format!("Bearer {}", self.0).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_page_that_was_opened_has_the_key() {
        let key = PageKey::random().unwrap();
        let page = key.page("http://127.0.0.1:8080");
        let (_, secret) = page.split_once("#token=").unwrap();
        assert!(secret.len() >= 32, "{page}");
        let with = |value: &str| HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]);
        assert!(key.is_in(&with(&format!("Bearer {secret}"))));
        for other in ["Bearer ", "Bearer x", secret, &format!("Basic {secret}"), &format!("Bearer {secret}x")] {
            assert!(!key.is_in(&with(other)), "{other}");
        }
        assert!(!key.is_in(&HeaderMap::new()));
        assert_ne!(PageKey::random().unwrap().page(""), key.page(""));
    }
}
