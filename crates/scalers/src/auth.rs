//! The block of parameters by which triggers that speak HTTP sign in, shared by several trigger types.

use crate::metadata::convert::{self, Converted};
use crate::metadata::{Field, Reader, Source};
use crate::trigger::{Problem, Secret};

const METADATA_THEN_AUTH: &[Source] = &[Source::Metadata, Source::Auth];
const MODES: &[&str] = &["apiKey", "basic", "tls", "bearer", "custom", "oauth"];
/// These all want the `Authorization` header.
const ONE_OF: &[&str] = &["bearer", "basic", "oauth"];

/// How a trigger signs in. Absent parts are modes that are off.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Auth {
    pub(crate) bearer: Option<Secret>,
    pub(crate) basic: Option<Basic>,
    pub(crate) custom: Option<Custom>,
    pub(crate) tls: Option<Tls>,
    pub(crate) api_key: Option<ApiKey>,
}

/// A key, and where in the request it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiKey {
    pub(crate) key: Secret,
    pub(crate) place: KeyPlace,
    /// The name of the header or parameter, if the trigger gives one.
    pub(crate) name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Header,
    Query,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Basic {
    pub(crate) username: Secret,
    pub(crate) password: Secret,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Custom {
    pub(crate) header: Secret,
    pub(crate) value: Secret,
}

/// What the connection needs beyond the ordinary: an authority, a client certificate, or both; all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    pub(crate) ca: Option<Secret>,
    pub(crate) identity: Option<(Secret, Secret)>,
}

/// Reads the block. `None` if no mode is set: then nothing else in it counts, except that `method` must be a known one.
pub(crate) fn parse(read: &mut Reader<'_>) -> Option<Auth> {
    let modes = read.optional(Field::new(&["authModes", "authMode"], METADATA_THEN_AUTH), parse_modes);
    // KEDA: a wrong method is refused also where no mode wants it.
    let place = read.or(Field::new(&["method"], METADATA_THEN_AUTH), parse_place, KeyPlace::Header);
    let modes = modes?;
    let on = |mode| modes.contains(&mode);
    if on("oauth") {
        need(read, Field::auth(&["oauthTokenURI"]), "oauth");
        need(read, Field::auth(&["clientID"]), "oauth");
        read.optional(Field::auth(&["endpointParams"]), convert::url_values);
    }
    Some(Auth {
        bearer: on("bearer").then(|| need(read, Field::auth(&["bearerToken", "token"]), "bearer")).flatten(),
        basic: on("basic").then(|| parse_basic(read)).flatten(),
        custom: on("custom").then(|| parse_custom(read)).flatten(),
        tls: if on("tls") { parse_client_tls(read) } else { parse_ca_tls(read) },
        api_key: on("apiKey").then(|| parse_api_key(read, place)).flatten(),
    })
}

fn parse_modes(value: &str) -> Converted<Vec<&'static str>> {
    convert::exclusive(convert::members(value, MODES)?, ONE_OF)
}

fn parse_place(value: &str) -> Converted<KeyPlace> {
    Ok(if convert::one_of(value, &["header", "query"])? == "query" { KeyPlace::Query } else { KeyPlace::Header })
}

fn parse_api_key(read: &mut Reader<'_>, place: KeyPlace) -> Option<ApiKey> {
    let key = need(read, Field::new(&["apiKey"], METADATA_THEN_AUTH), "apiKey");
    let name = read.optional(Field::new(&["keyParamName"], METADATA_THEN_AUTH), convert::text);
    Some(ApiKey { key: key?, place, name })
}

fn parse_basic(read: &mut Reader<'_>) -> Option<Basic> {
    let username = need(read, Field::auth(&["username"]), "basic");
    let password = read.optional(Field::auth(&["password"]), secret).unwrap_or_else(|| Secret::new(""));
    Some(Basic { username: username?, password })
}

fn parse_custom(read: &mut Reader<'_>) -> Option<Custom> {
    let header = need(read, Field::auth(&["customAuthHeader"]), "custom");
    let value = need(read, Field::auth(&["customAuthValue"]), "custom");
    Some(Custom { header: header?, value: value? })
}

/// In mode `tls`, certificate and key must be there.
fn parse_client_tls(read: &mut Reader<'_>) -> Option<Tls> {
    let (cert, key) = (need(read, Field::auth(&["cert"]), "tls"), need(read, Field::auth(&["key"]), "tls"));
    Some(Tls { ca: read.optional(Field::auth(&["ca"]), secret), identity: cert.zip(key) })
}

/// In other modes, a CA counts, and with it certificate and key if both are there.
fn parse_ca_tls(read: &mut Reader<'_>) -> Option<Tls> {
    let ca = read.optional(Field::auth(&["ca"]), secret)?;
    let cert = read.optional(Field::auth(&["cert"]), secret);
    let key = read.optional(Field::auth(&["key"]), secret);
    Some(Tls { ca: Some(ca), identity: cert.zip(key) })
}

fn need(read: &mut Reader<'_>, field: Field<'_>, mode: &str) -> Option<Secret> {
    let value = read.optional(field, secret);
    if value.is_none() && !read.may_come(field) {
        let problem = format!("is missing, but authentication mode {mode} needs it");
        read.note(Problem::new(field.name(), problem, format!("give it in the TriggerAuthentication, or drop {mode}")));
    }
    value
}

fn secret(value: &str) -> Converted<Secret> {
    Ok(Secret::new(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;

    fn parse_sample(sample: &Sample) -> Result<Option<Auth>, String> {
        let trigger = sample.trigger();
        let mut read = Reader::new(&trigger);
        let auth = parse(&mut read);
        read.finish(Some(auth)).map_err(|error| error.to_string())
    }

    fn modes(modes: &str) -> Sample {
        Sample::new("prometheus").with("authModes", modes)
    }

    #[test]
    fn what_each_mode_needs_is_asked_for() {
        let rows: [(&str, Sample, &[&str]); 9] = [
            ("bearer", modes("bearer"), &["`bearerToken` is missing"]),
            ("basic", modes("basic"), &["`username` is missing"]),
            ("tls", modes("tls").auth("cert", "c"), &["`key` is missing"]),
            ("custom", modes("custom"), &["`customAuthHeader` is missing", "`customAuthValue` is missing"]),
            ("oauth", modes("oauth"), &["`oauthTokenURI` is missing", "`clientID` is missing"]),
            ("apiKey", modes("apiKey"), &["`apiKey` is missing"]),
            ("an unknown mode", modes("Bearer"), &["`authModes` \"Bearer\" is not among"]),
            ("two that exclude each other", modes("bearer,basic"), &["keep at most one of bearer, basic, oauth"]),
            ("a wrong method, though no mode is set", Sample::new("x").with("method", "body"), &["`method` \"body\""]),
        ];
        for (name, sample, expected) in rows {
            let text = parse_sample(&sample).unwrap_err();
            for part in expected {
                assert!(text.contains(part), "{name}: {text}");
            }
        }
    }

    #[test]
    fn modes_that_are_complete_are_accepted() {
        let bearer = parse_sample(&modes("bearer").auth("token", "t")).unwrap().unwrap();
        assert_eq!(bearer.bearer.unwrap().reveal(), "t");
        let basic = parse_sample(&modes("basic").auth("username", "u")).unwrap().unwrap().basic.unwrap();
        assert_eq!((basic.username.reveal(), basic.password.reveal()), ("u", ""));
        let keyed = modes("apiKey").with("apiKey", "k").with("method", "query").auth("keyParamName", "n");
        let keyed = parse_sample(&keyed).unwrap().unwrap().api_key.unwrap();
        assert_eq!((keyed.key.reveal(), keyed.place, keyed.name.as_deref()), ("k", KeyPlace::Query, Some("n")));
        assert_eq!(parse_sample(&modes("apiKey").with("apiKey", "k")).unwrap().unwrap().api_key.unwrap().name, None);
        let oauth = modes("oauth").auth("oauthTokenURI", "http://x").auth("clientID", "i");
        assert_eq!(parse_sample(&oauth).unwrap(), Some(Auth::default()));
    }

    #[test]
    fn without_a_mode_nothing_counts() {
        let sample = Sample::new("prometheus").auth("bearerToken", "t").auth("ca", "c").auth("endpointParams", "%");
        assert_eq!(parse_sample(&sample).unwrap(), None);
    }

    #[test]
    fn a_client_certificate_needs_both_halves_and_a_reason() {
        let bearer = modes("bearer").auth("token", "t");
        let tls = |sample: &Sample| parse_sample(sample).unwrap().unwrap().tls;
        assert_eq!(tls(&bearer.clone().auth("cert", "c").auth("key", "k")), None);
        let with_ca = tls(&bearer.clone().auth("ca", "a").auth("cert", "c").auth("key", "k")).unwrap();
        assert!(with_ca.ca.is_some() && with_ca.identity.is_some());
        let half = tls(&bearer.auth("ca", "a").auth("cert", "c")).unwrap();
        assert_eq!(half.identity, None);
    }
}
