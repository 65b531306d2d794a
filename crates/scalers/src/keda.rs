//! What KEDA has beyond the trigger types of Kedge: the names of its types, and of the credentials of their parameters.

use crate::field::{Content, Field, Sensitivity};
use crate::registry;

/// Every trigger type of KEDA v2.21, in order. Types that Kedge has are among them.
const TYPES: &str = include_str!("keda/trigger-types.txt");

/// Parameters of KEDA's trigger types that are credentials, except those that a type of Kedge has.
const SECRET_PARAMETERS: &[&str] = &["accessToken", "appKey", "authToken", "personalAccessToken", "secretKey"];

/// Every trigger type of KEDA.
pub fn trigger_types() -> impl Iterator<Item = &'static str> {
    TYPES.lines()
}

/// Whether KEDA has a trigger type of this name.
pub fn has_trigger_type(name: &str) -> bool {
    trigger_types().any(|known| known == name)
}

/// Whether a parameter of this name is a credential, in a trigger of any type.
pub fn is_secret_parameter(name: &str) -> bool {
    SECRET_PARAMETERS.contains(&name) || has_field(name, |field| field.sensitivity == Sensitivity::Secret)
}

/// Whether a parameter of this name is the URL that credentials are sent to, in a trigger of any type.
pub fn is_url_parameter(name: &str) -> bool {
    has_field(name, |field| field.content == Content::Url)
}

fn has_field(name: &str, is_wanted: fn(&Field) -> bool) -> bool {
    let mut fields = registry::TRIGGER_TYPES.iter().flat_map(|known| known.fields_named(name));
    fields.any(is_wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_types_are_in_order() {
        assert!(trigger_types().is_sorted() && trigger_types().count() > 70);
        assert!(has_trigger_type("kafka") && has_trigger_type("cron") && !has_trigger_type(""));
    }

    #[test]
    fn no_parameter_of_a_type_is_listed_again() {
        for name in SECRET_PARAMETERS {
            assert!(!has_field(name, |_| true), "{name}");
        }
        assert!(is_secret_parameter("password") && is_secret_parameter("sentinelPassword"));
        assert!(!is_secret_parameter("query") && !is_secret_parameter("cert"));
        assert!(is_url_parameter("url") && is_url_parameter("serverAddress") && !is_url_parameter("query"));
    }
}
