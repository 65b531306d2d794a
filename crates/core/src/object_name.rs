//! Which texts can be the names of objects.

/// Whether an object can have this name. No other name may be requested: in the path of a request it leads elsewhere.
pub fn can_be_object_name(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':');
    name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric()) && name.bytes().all(inside)
}

/// Whether a text is a DNS label, as the names of namespaces are.
pub fn is_dns_label(text: &str) -> bool {
    text.len() <= 63 && is_dns_part(text)
}

/// Whether a text is a DNS subdomain, as the names of most objects are: parts separated by dots. Its length is not checked.
pub fn is_dns_subdomain(text: &str) -> bool {
    text.split('.').all(is_dns_part)
}

/// Lower case letters and digits, with `-` in between.
fn is_dns_part(text: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let bytes = text.as_bytes();
    is_end(bytes.first()) && is_end(bytes.last()) && text.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_kubernetes_allows_are_requested() {
        let rows = [
            ("creds", true),
            ("creds.v1-2", true),
            ("", false),
            ("..", false),
            (".", false),
            ("../../kube-system/secrets/x", false),
            ("a/b", false),
            ("other/scale?x=", false),
            ("a?watch=1", false),
            ("a,metadata.namespace=b", false),
            ("a%2fb", false),
        ];
        for (name, expected) in rows {
            assert_eq!(can_be_object_name(name), expected, "{name}");
        }
    }
}
