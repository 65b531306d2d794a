//! Maps a request to its route.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::page::{self, Asset};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Route {
    Asset(&'static Asset),
    Objects,
    Object { namespace: String, name: String },
    Act { namespace: String, name: String },
    NotFound,
    MethodNotAllowed,
}

pub(crate) fn parse_route(method: &Method, path: &str) -> Route {
    let parts: Vec<&str> = path.strip_prefix('/').unwrap_or(path).split('/').collect();
    let (is_read, is_post) = (matches!(*method, Method::GET | Method::HEAD), *method == Method::POST);
    let found = match parts.as_slice() {
        ["api", "objects"] => Some((Route::Objects, is_read)),
        ["api", "objects", namespace, name] => {
            decode(namespace, name).map(|(namespace, name)| (Route::Object { namespace, name }, is_read))
        }
        ["api", "objects", namespace, name, "actions"] => {
            decode(namespace, name).map(|(namespace, name)| (Route::Act { namespace, name }, is_post))
        }
        _ => page::asset(path).map(|asset| (Route::Asset(asset), is_read)),
    };
    match found {
        None => Route::NotFound,
        Some((route, true)) => route,
        Some((_, false)) => Route::MethodNotAllowed,
    }
}

fn decode(namespace: &str, name: &str) -> Option<(String, String)> {
    let decode = |part: &str| Some(percent_decode_str(part).decode_utf8().ok()?.into_owned());
    Some((decode(namespace)?, decode(name)?)).filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_map_to_routes() {
        let object = |namespace: &str, name: &str| Route::Object { namespace: namespace.into(), name: name.into() };
        let rows = [
            ("GET", "/api/objects", Route::Objects),
            ("HEAD", "/api/objects", Route::Objects),
            ("POST", "/api/objects", Route::MethodNotAllowed),
            ("GET", "/api/objects/shop/web", object("shop", "web")),
            ("GET", "/api/objects/shop/a%2Fb", object("shop", "a/b")),
            ("GET", "/api/objects/shop/%FF", Route::NotFound),
            ("GET", "/api/objects/shop/", Route::NotFound),
            ("POST", "/api/objects/shop/web/actions", Route::Act { namespace: "shop".into(), name: "web".into() }),
            ("GET", "/api/objects/shop/web/actions", Route::MethodNotAllowed),
            ("GET", "/../etc/passwd", Route::NotFound),
            ("GET", "//api/objects", Route::NotFound),
            ("GET", "", Route::Asset(page::asset("/").unwrap())),
        ];
        for (method, path, expected) in rows {
            assert_eq!(parse_route(&method.parse().unwrap(), path), expected, "{method} {path}");
        }
    }
}
