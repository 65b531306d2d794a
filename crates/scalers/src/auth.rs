//! The block of parameters by which triggers that speak HTTP sign in, shared by several trigger types.

use crate::field::{Field, FieldGroup, Source};
use crate::http::Address;
use crate::metadata::Reader;
use crate::metadata::convert::{self, ConversionError, Converted};
use crate::oauth::OAuthClient;
use crate::trigger::{FieldError, Secret};

const METADATA_THEN_AUTH: &[Source] = &[Source::Metadata, Source::Authentication];

/// All parameters of the block.
pub(crate) const FIELDS: FieldGroup = FieldGroup {
    title: "Authentication",
    fields: &[
        AUTH_MODES,
        BEARER_TOKEN,
        USERNAME,
        PASSWORD,
        CA,
        CERT,
        KEY,
        CUSTOM_AUTH_HEADER,
        CUSTOM_AUTH_VALUE,
        API_KEY,
        METHOD,
        KEY_PARAM_NAME,
        OAUTH_TOKEN_URI,
        CLIENT_ID,
        CLIENT_SECRET,
        SCOPES,
        ENDPOINT_PARAMS,
    ],
};

/// The parameters of the block without those of the modes `custom` and `oauth`.
pub(crate) const FIELDS_WITHOUT_CUSTOM_AND_OAUTH: FieldGroup = FieldGroup {
    title: "Authentication",
    fields: &[AUTH_MODES, BEARER_TOKEN, USERNAME, PASSWORD, CA, CERT, KEY, API_KEY, METHOD, KEY_PARAM_NAME],
};

/// The parameters of OAuth, for trigger types that sign in otherwise by parameters of their own.
pub(crate) const OAUTH_FIELDS: &[Field] =
    &[AUTH_MODES_WITH_OAUTH, OAUTH_TOKEN_URI, CLIENT_ID, CLIENT_SECRET, SCOPES, ENDPOINT_PARAMS];

const AUTH_MODES_WITH_OAUTH: Field = AUTH_MODES.help(
    "A list of `basic`, `oauth`, `tls`; `basic` needs `username`, `tls` needs `cert` and `key`, and both turn nothing on. Without it, any of `oauthTokenURI`, `clientID`, `clientSecret` turns OAuth on",
);

/// The modes of authentication. Without one, the other parameters of the block have no effect.
pub const AUTH_MODES: Field = Field::optional("authModes")
    .aliases(&["authMode"])
    .sources(METADATA_THEN_AUTH)
    .help("A list of `apiKey`, `basic`, `bearer`, `custom`, `oauth`, `tls`; at most one of `basic`, `bearer`, `oauth`");
const BEARER_TOKEN: Field = Field::secret("bearerToken")
    .aliases(&["token"])
    .required_if("`authModes` has `bearer`")
    .help("The token of the `Authorization` header");
const USERNAME: Field =
    Field::authentication("username").required_if("`authModes` has `basic`").help("The user of basic authentication");
const PASSWORD: Field = Field::secret("password").help("The password of basic authentication");
const CA: Field = Field::authentication("ca").help("A CA that is trusted in addition, as PEM; any mode turns it on");
const CERT: Field =
    Field::authentication("cert").required_if("`authModes` has `tls`").help("The client certificate, as PEM");
const KEY: Field =
    Field::secret("key").required_if("`authModes` has `tls`").help("The key of the client certificate, as PEM");
const CUSTOM_AUTH_HEADER: Field = Field::authentication("customAuthHeader")
    .required_if("`authModes` has `custom`")
    .help("The name of the header that authenticates");
const CUSTOM_AUTH_VALUE: Field =
    Field::secret("customAuthValue").required_if("`authModes` has `custom`").help("The value of that header");
const API_KEY: Field =
    Field::secret("apiKey").sources(METADATA_THEN_AUTH).required_if("`authModes` has `apiKey`").help("The API key");
const METHOD: Field = Field::optional("method")
    .sources(METADATA_THEN_AUTH)
    .default("header")
    .help("Where the API key is sent: `header` or `query`");
const KEY_PARAM_NAME: Field = Field::optional("keyParamName")
    .sources(METADATA_THEN_AUTH)
    .default_of("`X-API-KEY` in a header, `api_key` in a query")
    .help("The name of the header or query parameter that holds the API key");
pub(crate) const OAUTH_TOKEN_URI: Field = Field::authentication("oauthTokenURI")
    .required_if("`authModes` has `oauth`")
    .help("The URL that tokens are requested from");
const CLIENT_ID: Field =
    Field::authentication("clientID").required_if("`authModes` has `oauth`").help("The client that tokens are for");
const CLIENT_SECRET: Field = Field::secret("clientSecret").help("The secret of the client");
const SCOPES: Field =
    Field::authentication("scopes").aliases(&["scope"]).help("The scopes of tokens, separated by commas");
const ENDPOINT_PARAMS: Field =
    Field::authentication("endpointParams").help("More parameters of the token request: `name=value&…`");

/// Every mode there is.
pub(crate) const MODES: &[&str] = &["apiKey", "basic", "tls", "bearer", "custom", "oauth"];
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
    pub(crate) oauth: Option<OAuthClient>,
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

/// What the connection needs beyond the ordinary: a CA, a client certificate, or both; all PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tls {
    pub(crate) ca: Option<Secret>,
    pub(crate) identity: Option<(Secret, Secret)>,
}

/// Reads the block, of which the trigger type takes these modes. `None` if no mode is set: then nothing else in it counts, except that
/// `method` must be a known one.
pub(crate) fn parse(read: &mut Reader<'_>, taken: &[&str]) -> Option<Auth> {
    let modes = read.optional(AUTH_MODES, |value| parse_modes(value, taken));
    // KEDA: a wrong method is rejected also where no mode wants it.
    let place = read.or_default(METHOD, parse_place);
    let modes = modes?;
    let on = |mode| modes.contains(&mode);
    Some(Auth {
        bearer: on("bearer").then(|| need(read, BEARER_TOKEN, "bearer")).flatten(),
        basic: on("basic").then(|| parse_basic(read)).flatten(),
        custom: on("custom").then(|| parse_custom(read)).flatten(),
        tls: if on("tls") { parse_client_tls(read) } else { parse_ca_tls(read) },
        api_key: on("apiKey").then(|| parse_api_key(read, place)).flatten(),
        oauth: on("oauth").then(|| parse_oauth(read)).flatten(),
    })
}

/// Reads the parameters of OAuth where the type has parameters of its own for all else. The client has a secret.
// KEDA: without a mode, OAuth is on where one of its parameters is given.
pub(crate) fn parse_oauth_client(read: &mut Reader<'_>) -> Option<OAuthClient> {
    let modes = read.optional(AUTH_MODES, |value| parse_modes(value, &["oauth", "basic", "tls"]));
    let is_given = [OAUTH_TOKEN_URI, CLIENT_ID, CLIENT_SECRET].map(|field| read.text(field).is_some()).contains(&true);
    let has = |mode| modes.as_ref().is_some_and(|modes| modes.contains(&mode));
    // KEDA: modes that turn nothing on need their parameters, too.
    if has("basic") {
        need(read, USERNAME, "basic");
    }
    if has("tls") {
        need(read, CERT, "tls");
        need(read, KEY, "tls");
    }
    if !has("oauth") && (modes.is_some() || !is_given) {
        return None;
    }
    let secret = need(read, CLIENT_SECRET, "oauth");
    let client = parse_oauth(read);
    secret.and(client)
}

fn parse_modes(value: &str, taken: &[&str]) -> Converted<Vec<&'static str>> {
    let modes = convert::exclusive(convert::members(value, MODES)?, ONE_OF)?;
    match modes.iter().find(|mode| !taken.contains(mode)) {
        None => Ok(modes),
        // KEDA: its words.
        Some(mode) => Err(ConversionError::new(
            format!("auth mode {mode:?} is not supported by this scaler; supported modes: [{}]", taken.join(" ")),
            "use one of these",
        )),
    }
}

fn parse_oauth(read: &mut Reader<'_>) -> Option<OAuthClient> {
    let token_uri = need(read, OAUTH_TOKEN_URI, "oauth");
    let client_id = need(read, CLIENT_ID, "oauth");
    let client_secret = read.optional(CLIENT_SECRET, secret);
    let scopes = read.optional(SCOPES, parse_scopes).unwrap_or_default();
    let endpoint_params = read.optional(ENDPOINT_PARAMS, convert::url_values).unwrap_or_default();
    // KEDA: its words.
    if !scopes.is_empty() && endpoint_params.iter().any(|(name, _)| name == "scope") {
        let problem = "cannot overwrite parameter \"scope\"";
        read.error(FieldError::new(ENDPOINT_PARAMS.name, problem, "give the scopes in scopes only"));
    }
    let token_uri = token_uri?;
    if let Err(problem) = Address::parse(token_uri.reveal()) {
        read.error(FieldError::new(OAUTH_TOKEN_URI.name, problem, "write it as https://login.example.com/token"));
    }
    let token_uri = token_uri.reveal().to_owned();
    Some(OAuthClient { token_uri, client_id: client_id?, client_secret, scopes, endpoint_params })
}

fn parse_scopes(value: &str) -> Converted<Vec<String>> {
    Ok(value.split(',').map(str::trim).filter(|scope| !scope.is_empty()).map(str::to_owned).collect())
}

fn parse_place(value: &str) -> Converted<KeyPlace> {
    Ok(if convert::one_of(value, &["header", "query"])? == "query" { KeyPlace::Query } else { KeyPlace::Header })
}

fn parse_api_key(read: &mut Reader<'_>, place: KeyPlace) -> Option<ApiKey> {
    let key = need(read, API_KEY, "apiKey");
    let name = read.optional(KEY_PARAM_NAME, convert::text);
    Some(ApiKey { key: key?, place, name })
}

fn parse_basic(read: &mut Reader<'_>) -> Option<Basic> {
    let username = need(read, USERNAME, "basic");
    let password = read.optional(PASSWORD, secret).unwrap_or_else(|| Secret::new(""));
    Some(Basic { username: username?, password })
}

fn parse_custom(read: &mut Reader<'_>) -> Option<Custom> {
    let header = need(read, CUSTOM_AUTH_HEADER, "custom");
    let value = need(read, CUSTOM_AUTH_VALUE, "custom");
    Some(Custom { header: header?, value: value? })
}

/// In mode `tls`, certificate and key must be there.
fn parse_client_tls(read: &mut Reader<'_>) -> Option<Tls> {
    let (cert, key) = (need(read, CERT, "tls"), need(read, KEY, "tls"));
    Some(Tls { ca: read.optional(CA, secret), identity: cert.zip(key) })
}

/// In other modes, a CA counts, and with it certificate and key if both are there.
fn parse_ca_tls(read: &mut Reader<'_>) -> Option<Tls> {
    let ca = read.optional(CA, secret)?;
    let cert = read.optional(CERT, secret);
    let key = read.optional(KEY, secret);
    Some(Tls { ca: Some(ca), identity: cert.zip(key) })
}

fn need(read: &mut Reader<'_>, field: Field, mode: &str) -> Option<Secret> {
    let value = read.optional(field, secret);
    if value.is_none() && !read.may_be_resolved_later(field) {
        let problem = format!("is missing, but authentication mode {mode} needs it");
        read.error(FieldError::new(
            field.name,
            problem,
            format!("give it in the TriggerAuthentication, or drop {mode}"),
        ));
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
        let auth = parse(&mut read, MODES);
        read.finish(Some(auth)).map_err(|error| error.to_string())
    }

    fn modes(modes: &str) -> Sample {
        Sample::new("prometheus").with("authModes", modes)
    }

    #[test]
    fn what_each_mode_needs_is_required() {
        let oauth = || modes("oauth").auth("clientID", "i").auth("oauthTokenURI", "http://x");
        let rows: [(&str, Sample, &[&str]); 11] = [
            (
                "a scope twice",
                oauth().auth("scopes", "a").auth("endpointParams", "scope=b"),
                &["`endpointParams` cannot overwrite parameter \"scope\""],
            ),
            (
                "no URL",
                modes("oauth").auth("clientID", "i").auth("oauthTokenURI", "x"),
                &["`oauthTokenURI` does not begin"],
            ),
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
        let oauth = modes("oauth").auth("oauthTokenURI", "http://x").auth("clientID", "i").auth("scope", "a, b,");
        let oauth = parse_sample(&oauth.auth("endpointParams", "audience=x")).unwrap().unwrap().oauth.unwrap();
        assert_eq!((oauth.token_uri.as_str(), oauth.client_secret), ("http://x", None));
        assert_eq!(oauth.scopes, ["a", "b"]);
        assert_eq!(oauth.endpoint_params, [("audience".to_owned(), "x".to_owned())]);
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
