//! Reading the errors of calls to the API server.

/// The API server's own message where there is one, else the client's.
pub fn message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        other => other.to_string(),
    }
}

/// Whether another client wrote the object first. The caller reads the object again and decides again.
pub fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

/// Whether the API server understood the request and denied it: the same request would be denied again.
pub fn is_denied(error: &kube::Error) -> bool {
    let is_final = |code: u16| (400..500).contains(&code) && ![408, 409, 429].contains(&code);
    matches!(error, kube::Error::Api(status) if is_final(status.code))
}

/// Whether the object, or its kind, does not exist.
pub fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}
