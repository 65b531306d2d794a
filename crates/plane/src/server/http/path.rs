//! Which object a path names.

use percent_encoding::percent_decode_str;

use crate::api::resource::Gvr;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) resource: Gvr,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
    /// The deprecated prefix `/watch/`.
    pub(crate) is_watch: bool,
}

impl Target {
    /// Reads `/api/v1/…` and `/apis/GROUP/VERSION/…`; none if it names no resource.
    pub(crate) fn parse(path: &str) -> Option<Self> {
        let parts: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.as_slice() {
            ["api", version, rest @ ..] => Self::below("", version, rest),
            ["apis", group, version, rest @ ..] => Self::below(group, version, rest),
            _ => None,
        }
    }

    /// The path that names it.
    #[cfg(feature = "serve")]
    pub(crate) fn path(&self) -> String {
        let Gvr { group, version, plural } = &self.resource;
        let mut path = if group.is_empty() { format!("/api/{version}") } else { format!("/apis/{group}/{version}") };
        if let Some(namespace) = &self.namespace {
            path += &format!("/namespaces/{namespace}");
        }
        for part in [Some(plural), self.name.as_ref(), self.subresource.as_ref()].into_iter().flatten() {
            path += &format!("/{part}");
        }
        path
    }

    fn below(group: &str, version: &str, rest: &[&str]) -> Option<Self> {
        let is_watch = rest.len() > 1 && rest[0] == "watch";
        let rest = if is_watch { &rest[1..] } else { rest };
        let (namespace, rest) = match rest {
            // These are parts of the namespace itself.
            ["namespaces", _, "status" | "finalize"] if group.is_empty() => (None, rest),
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            [plural] => (plural, None, None),
            [plural, name] => (plural, Some(*name), None),
            [plural, name, subresource @ ..] if !subresource.is_empty() => {
                (plural, Some(*name), Some(subresource.join("/")))
            }
            _ => return None,
        };
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Some(Self {
            resource: Gvr::new(group, version, plural),
            namespace: owned(namespace),
            name: owned(name),
            subresource,
            is_watch,
        })
    }
}

/// The group and version of a path below `/apis`.
pub(crate) fn group_version(path: &str) -> Option<(&str, &str)> {
    let mut parts = path.strip_prefix("/apis/")?.split('/');
    Some((parts.next()?, parts.next().filter(|version| !version.is_empty())?))
}

fn decoded(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_name_objects() {
        let rows = [
            ("/api/v1/pods", "/v1/pods", None, None, None),
            ("/api/v1/namespaces/a/pods/b", "/v1/pods", Some("a"), Some("b"), None),
            ("/api/v1/namespaces/a", "/v1/namespaces", None, Some("a"), None),
            ("/api/v1/namespaces/a/status", "/v1/namespaces", None, Some("a"), Some("status")),
            (
                "/apis/apps/v1/namespaces/a/deployments/b/scale",
                "apps/v1/deployments",
                Some("a"),
                Some("b"),
                Some("scale"),
            ),
            (
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Aa",
                "rbac.authorization.k8s.io/v1/clusterroles",
                None,
                Some("system:a"),
                None,
            ),
        ];
        for (path, resource, namespace, name, subresource) in rows {
            let read = Target::parse(path).expect(path);
            assert_eq!(read.resource.to_string(), resource, "{path}");
            assert_eq!(
                (read.namespace.as_deref(), read.name.as_deref(), read.subresource.as_deref()),
                (namespace, name, subresource),
                "{path}"
            );
        }
    }
}
