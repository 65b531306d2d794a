//! The objects of files as an API server has them: what they do not have is read from the cluster, if there is one.
//!
//! So credentials are resolved by the code of the operator, whatever they come from.

use std::sync::Arc;

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::files::Stored;

/// A client that finds the objects of files first.
pub(super) fn client(stored: Stored, cluster: Option<Client>) -> Client {
    let stored = Arc::new(stored);
    let service = tower::service_fn(move |request: Request<Body>| {
        let (stored, cluster) = (stored.clone(), cluster.clone());
        async move {
            let found = stored.get(request.uri().path()).filter(|_| request.method() == Method::GET);
            match (found, cluster) {
                (Some(object), _) => Ok(response(StatusCode::OK, object)),
                (None, Some(cluster)) => cluster.send(request).await,
                (None, None) => Ok(response(StatusCode::NOT_IMPLEMENTED, &absence(request.method()))),
            }
        }
    });
    Client::new(service, "default")
}

/// The files alone do not show that an object does not exist.
fn absence(method: &Method) -> Value {
    let message = match *method {
        Method::GET => "it is not in the files; add it there, give its values with --auth, or add --from-cluster",
        _ => "it comes from a cluster, and none is chosen; add --from-cluster, or give the value with --auth",
    };
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 501, "reason": "NotInFiles", "message": message })
}

fn response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::Api;

    use super::*;

    fn secret(value: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" }, "data": { "token": value } })
    }

    async fn read(client: &Client, name: &str) -> Result<String, String> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), "shop");
        let secret = secrets.get(name).await.map_err(|error| error.to_string())?;
        let token = secret.data.unwrap_or_default().remove("token").unwrap_or_default();
        Ok(String::from_utf8(token.0).unwrap())
    }

    #[tokio::test]
    async fn files_come_first_and_the_cluster_has_the_rest() {
        let path = |name: &str| format!("/api/v1/namespaces/shop/secrets/{name}");
        let cluster = client([(path("a"), secret("Y2x1c3Rlcg==")), (path("b"), secret("Y2x1c3Rlcg=="))].into(), None);
        let files = Stored::from([(path("a"), secret("ZmlsZQ=="))]);
        let both = client(files.clone(), Some(cluster));
        assert_eq!(read(&both, "a").await.as_deref(), Ok("file"));
        assert_eq!(read(&both, "b").await.as_deref(), Ok("cluster"));
        let alone = client(files, None);
        assert_eq!(read(&alone, "a").await.as_deref(), Ok("file"));
        assert!(read(&alone, "b").await.unwrap_err().contains("it is not in the files"));
    }
}
