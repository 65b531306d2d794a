//! Authentication: by a client certificate, or by a token.

use http::HeaderMap;
use http::header::AUTHORIZATION;
use rustls::pki_types::CertificateDer;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::api::error::ApiError;
use crate::api::identity::Identity;

/// The anonymous user.
pub(super) fn anonymous() -> Identity {
    Identity { name: "system:anonymous".to_owned(), groups: vec!["system:unauthenticated".to_owned()] }
}

/// The user of a certificate: its common name, in the groups that are its organizations.
pub(super) fn of_certificate(leaf: &CertificateDer<'_>) -> Option<Identity> {
    let (_, certificate) = X509Certificate::from_der(leaf).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().last()?.as_str().ok()?.to_owned();
    let organizations = subject.iter_organization().filter_map(|organization| organization.as_str().ok());
    let groups = organizations.chain(["system:authenticated"]).map(str::to_owned).collect();
    Some(Identity { name, groups })
}

/// The user of one request. A certificate takes precedence; an invalid token is an error.
pub(super) fn of_request(
    certified: Option<&Identity>,
    headers: &HeaderMap,
    holder: impl FnOnce(&str) -> Option<Identity>,
) -> Result<Identity, ApiError> {
    let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match (certified, shown.and_then(|shown| shown.strip_prefix("Bearer "))) {
        (Some(certified), _) => Ok(certified.clone()),
        (None, Some(token)) => holder(token).ok_or_else(|| ApiError::new(401, "Unauthorized", "Unauthorized")),
        (None, None) => Ok(anonymous()),
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

    use super::*;

    fn headers(authorization: &str) -> HeaderMap {
        HeaderMap::from_iter([(AUTHORIZATION, authorization.parse().unwrap())])
    }

    #[test]
    fn a_certificate_names_its_user_and_groups() {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "system:masters");
        params.distinguished_name.push(DnType::CommonName, "admin");
        let certificate = params.self_signed(&KeyPair::generate().unwrap()).unwrap();
        let identity = of_certificate(certificate.der()).unwrap();
        assert_eq!(
            (identity.name.as_str(), identity.groups),
            ("admin", vec!["system:masters".into(), "system:authenticated".into()])
        );
        assert_eq!(of_certificate(&CertificateDer::from(vec![1])), None);
    }

    #[test]
    fn a_certificate_comes_before_a_token_and_nothing_is_anonymous() {
        let anna = Identity::named("anna");
        let holder = |token: &str| (token == "t").then(|| Identity::named("holder"));
        let of = |certified, headers| of_request(certified, &headers, holder).map(|identity| identity.name);
        assert_eq!(of(Some(&anna), headers("Bearer t")).unwrap(), "anna");
        assert_eq!(of(None, headers("Bearer t")).unwrap(), "holder");
        assert_eq!(of(None, HeaderMap::new()).unwrap(), "system:anonymous");
        assert_eq!(of(None, headers("Bearer other")).unwrap_err().code, 401);
    }
}
