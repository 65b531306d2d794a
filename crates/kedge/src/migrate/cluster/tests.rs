//! Reads and writes of releases and shared objects, against a recorded API server.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;

use super::*;

const CRD: &str = "---\nkind: CustomResourceDefinition\nmetadata:\n  name: scaledobjects.keda.sh\n";

fn keda() -> Owner {
    Owner { release: "keda".to_owned(), namespace: "keda".to_owned() }
}

fn crd() -> Object {
    Object::new(SharedKind::Crd, "scaledobjects.keda.sh")
}

/// A revision as Helm stores it.
fn stored(revision: u32, status: &str, resource_version: &str) -> Value {
    let release = json!({ "name": "keda", "info": { "status": status }, "manifest": CRD });
    let data = STANDARD.encode(STANDARD.encode(release.to_string()));
    json!({
        "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1", "data": { "release": data },
        "metadata": {
            "name": format!("sh.helm.release.v1.keda.v{revision}"), "namespace": "keda", "resourceVersion": resource_version,
            "labels": { "owner": "helm", "name": "keda", "version": revision.to_string() },
        },
    })
}

/// An API server that answers each list with the next of these, and refuses writes of any but the last version.
#[derive(Clone)]
struct Server {
    lists: Arc<Mutex<Vec<Vec<Value>>>>,
    written: Arc<Mutex<Vec<Value>>>,
    newest: &'static str,
}

impl Server {
    fn new(lists: impl IntoIterator<Item = Vec<Value>>, newest: &'static str) -> Self {
        let mut lists: Vec<Vec<Value>> = lists.into_iter().collect();
        lists.reverse();
        Self { lists: Arc::new(Mutex::new(lists)), written: Arc::default(), newest }
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Body> {
        let (status, body) = if request.method() == Method::GET {
            let items = self.lists.lock().unwrap().pop().unwrap_or_default();
            (200, json!({ "apiVersion": "v1", "kind": "SecretList", "metadata": {}, "items": items }))
        } else {
            let body = request.into_body().collect().await.unwrap().to_bytes();
            self.write(serde_json::from_slice(&body).unwrap())
        };
        let body = Body::from(body.to_string().into_bytes());
        Response::builder().status(status).header("content-type", "application/json").body(body).unwrap()
    }

    fn write(&self, secret: Value) -> (u16, Value) {
        let conflict = secret["metadata"]["resourceVersion"] != self.newest;
        self.written.lock().unwrap().push(secret.clone());
        match conflict {
            true => (
                409,
                json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Conflict", "code": 409, "message": "changed" }),
            ),
            false => (200, secret),
        }
    }
}

async fn keep(server: &Server) -> anyhow::Result<Applied> {
    let change = Change::KeepInRelease { owner: keda(), objects: vec![crd()] };
    apply(&server.client(), &change, Mode::Write).await
}

#[tokio::test]
async fn a_release_changed_by_another_client_is_read_again() {
    let server = Server::new([vec![stored(1, "deployed", "7")], vec![stored(1, "deployed", "8")]], "8");
    assert!(matches!(keep(&server).await.unwrap(), Applied::Changed(_)));
    let written = server.written.lock().unwrap().clone();
    let versions: Vec<&Value> = written.iter().map(|secret| &secret["metadata"]["resourceVersion"]).collect();
    assert_eq!(versions, ["7", "8"]);
}

#[tokio::test]
async fn the_newest_revision_counts() {
    let both = vec![stored(10, "deployed", "2"), stored(9, "superseded", "1")];
    let server = Server::new([both], "2");
    let Applied::Changed(change) = keep(&server).await.unwrap() else { panic!("nothing was changed") };
    assert!(change.starts_with("release keda in namespace keda, revision 10: `helm uninstall` will keep "), "{change}");
    assert_eq!(server.written.lock().unwrap()[0]["metadata"]["name"], "sh.helm.release.v1.keda.v10");
}

#[tokio::test]
async fn a_release_that_helm_is_busy_with_is_left_alone() {
    let server = Server::new([vec![stored(2, "pending-upgrade", "1")]], "1");
    let error = format!("{:#}", keep(&server).await.unwrap_err());
    assert!(error.contains("revision 2: its status is pending-upgrade; wait until Helm is done"), "{error}");
    assert!(server.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_dry_run_writes_nothing() {
    let server = Server::new([vec![stored(1, "deployed", "1")]], "1");
    let change = Change::KeepInRelease { owner: keda(), objects: vec![crd()] };
    let outcome = apply(&server.client(), &change, Mode::DryRun).await.unwrap();
    assert!(matches!(outcome, Applied::Changed(_)));
    assert!(server.written.lock().unwrap().is_empty());
}

#[tokio::test]
async fn who_never_gets_to_write_says_so() {
    let server = Server::new((0..5).map(|_| vec![stored(1, "deployed", "1")]), "never");
    let error = keep(&server).await.unwrap_err().to_string();
    assert!(error.contains("another client keeps changing it"), "{error}");
}
