//! Why a TLS handshake failed, in words for the readers of events.

use std::error::Error;

use rustls::{AlertDescription, CertificateError, PeerIncompatible};

use crate::http::error_chain::chain;

/// The TLS failure that caused an error, if one did.
pub(crate) fn find(error: &(dyn Error + 'static)) -> Option<String> {
    chain(error).find_map(|error| error.downcast_ref::<rustls::Error>()).map(explain)
}

fn explain(error: &rustls::Error) -> String {
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage, NoCertificatesPresented, PeerIncompatible};
    match error {
        InvalidCertificate(problem) => explain_certificate(problem),
        AlertReceived(alert) => explain_alert(*alert),
        PeerIncompatible(problem) => explain_mismatch(problem),
        InvalidMessage(_) => {
            "it does not speak TLS; if it speaks plain HTTP, write http:// in place of https://".to_owned()
        }
        NoCertificatesPresented => "it shows no certificate".to_owned(),
        other => format!("the handshake failed ({other})"),
    }
}

fn explain_certificate(problem: &CertificateError) -> String {
    use CertificateError::{
        BadSignature, Expired, ExpiredContext, InvalidPurpose, InvalidPurposeContext, NotValidForName,
        NotValidForNameContext, NotValidYet, NotValidYetContext, Revoked, UnknownIssuer,
    };
    match problem {
        UnknownIssuer => {
            "its certificate is signed by a CA that is not trusted; give the certificate of that CA as `ca`".to_owned()
        }
        NotValidForName => "its certificate is for another name".to_owned(),
        NotValidForNameContext { expected, presented } => {
            let names: Vec<_> = presented.iter().map(|name| bare_name(name)).collect();
            let names = if names.is_empty() { "no name".to_owned() } else { names.join(", ") };
            format!("its certificate is not for {}, but for {names}", expected.to_str())
        }
        Expired | ExpiredContext { .. } => "its certificate has expired".to_owned(),
        NotValidYet | NotValidYetContext { .. } => {
            "its certificate is not valid yet; check the clocks of both machines".to_owned()
        }
        Revoked => "its certificate has been revoked".to_owned(),
        BadSignature => "its certificate is not signed by the trusted CA, but by another of the same name; \
             give the certificate of that CA as `ca`"
            .to_owned(),
        InvalidPurpose | InvalidPurposeContext { .. } => "its certificate is not made for servers".to_owned(),
        CertificateError::Other(other) if is_ca_as_server(other) => {
            "its certificate is a CA certificate; give this certificate itself as `ca` to trust it".to_owned()
        }
        other => format!("its certificate cannot be used ({other})"),
    }
}

/// A name as the certificate has it; rustls gives it with its kind, as in `DnsName("example.com")`.
fn bare_name(presented: &str) -> &str {
    let inner = presented.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    inner.unwrap_or(presented).trim_matches('"')
}

/// Whether a server presented a certificate that is marked as a CA.
pub(super) fn is_ca_as_server(other: &rustls::OtherError) -> bool {
    matches!(other.0.downcast_ref(), Some(webpki::Error::CaUsedAsEndEntity))
}

/// What the server objects to.
fn explain_alert(alert: AlertDescription) -> String {
    use AlertDescription::{
        AccessDenied, BadCertificate, CertificateExpired, CertificateRequired, CertificateRevoked, CertificateUnknown,
        HandshakeFailure, InsufficientSecurity, NoCertificate, ProtocolVersion, UnknownCA, UnrecognisedName,
        UnsupportedCertificate,
    };
    match alert {
        CertificateRequired | NoCertificate => {
            "it wants a client certificate; give `cert` and `key` with authentication mode tls".to_owned()
        }
        UnknownCA => "it does not trust the CA of our client certificate; check `cert`".to_owned(),
        CertificateExpired => "it says that our client certificate has expired; renew `cert`".to_owned(),
        BadCertificate | UnsupportedCertificate | CertificateRevoked | CertificateUnknown | AccessDenied => {
            "it does not accept our client certificate, or the lack of one; check `cert` and `key`".to_owned()
        }
        ProtocolVersion => "it speaks no version of TLS that is allowed here".to_owned(),
        HandshakeFailure | InsufficientSecurity => {
            "it finds no cipher suite in common, or wants a client certificate".to_owned()
        }
        UnrecognisedName => "it knows no server of this name".to_owned(),
        other => match other.as_str() {
            Some(name) => format!("it ended the handshake with the alert {name}"),
            None => format!("it ended the handshake with the alert {}", u8::from(other)),
        },
    }
}

fn explain_mismatch(problem: &PeerIncompatible) -> String {
    match problem {
        PeerIncompatible::ServerDoesNotSupportTls12Or13 | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "it speaks no version of TLS that is allowed here".to_owned()
        }
        PeerIncompatible::NoCipherSuitesInCommon => "it finds no cipher suite in common".to_owned(),
        _ => "its TLS and ours have not enough in common".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustls::pki_types::ServerName;

    use super::*;

    #[test]
    fn failures_are_sentences() {
        let name = ServerName::try_from("prometheus").unwrap();
        let other_name =
            CertificateError::NotValidForNameContext { expected: name, presented: vec!["DnsName(\"x\")".to_owned()] };
        let rows: [(rustls::Error, &str); 9] = [
            (CertificateError::UnknownIssuer.into(), "signed by a CA that is not trusted"),
            (other_name.into(), "is not for prometheus, but for x"),
            (CertificateError::Expired.into(), "has expired"),
            (CertificateError::NotValidYet.into(), "not valid yet"),
            (rustls::Error::AlertReceived(AlertDescription::CertificateRequired), "wants a client certificate"),
            (rustls::Error::AlertReceived(AlertDescription::UnknownCA), "our client certificate"),
            (rustls::Error::AlertReceived(AlertDescription::ProtocolVersion), "no version of TLS"),
            (PeerIncompatible::ServerDoesNotSupportTls12Or13.into(), "no version of TLS"),
            (rustls::Error::InvalidMessage(rustls::InvalidMessage::InvalidContentType), "does not speak TLS"),
        ];
        for (error, expected) in rows {
            let text = find(&io::Error::other(error)).unwrap();
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("Context") && !text.contains("Error"), "{text}");
        }
    }

    #[test]
    fn other_failures_are_left_to_others() {
        assert_eq!(find(&io::Error::other("refused")), None);
    }
}
