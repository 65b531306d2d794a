//! The webhooks compared with KEDA's: requests through the API server, and the recorded responses of KEDA's webhooks.
//!
//! `keda/admission/NAME.yaml` holds consecutive requests, `keda/golden/admission/NAME.json` the responses.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Method;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::files;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::api::{HttpResponse, Kube, path_of};
use crate::case::{Entry, filled};
use kedge_tests::compare::Difference;

use crate::compare::differences;
use crate::known_differences::{KnownDifferences, Row};
use crate::verdict::{Outcome, Verdict};

/// The label of the namespaces whose objects the webhooks validate.
const LABEL: &str = "parity.example.com/admission";

/// How long the caches of the webhooks may take to hold a new object.
const CACHE_DEADLINE: Duration = Duration::from_secs(20);

/// KEDA's webhooks accept triggers without parameters, which occur in many cases about other rules. This case is sent as it is
/// written; in all others such triggers get valid parameters.
const AS_WRITTEN: &str = "admission/scaledobject-target-missing";

/// One case.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmissionCase {
    #[serde(skip)]
    pub(crate) name: String,
    #[serde(skip)]
    golden: BTreeMap<String, Value>,
    #[serde(rename = "about")]
    _about: String,
    #[serde(default)]
    free: Free,
    #[serde(default)]
    objects: Vec<Entry>,
    requests: Vec<Request>,
}

/// Whether messages may be worded otherwise.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Free {
    message: bool,
    #[serde(rename = "why")]
    _why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Request {
    create: Option<Entry>,
    /// A merge patch.
    update: Option<Value>,
    #[serde(default = "default_kind")]
    kind: String,
    #[serde(default = "default_name")]
    name: String,
    #[serde(default)]
    dry_run: bool,
    /// Not used: the test waits for the webhooks instead.
    #[serde(rename = "hold", default)]
    _hold: u64,
}

fn default_kind() -> String {
    "ScaledObject".into()
}

fn default_name() -> String {
    "so".into()
}

impl AdmissionCase {
    /// All cases, by name, with the responses of KEDA.
    pub(crate) fn read_all() -> Vec<Self> {
        let folder = files::workspace().join("tests/parity/keda");
        let paths = files::list(&folder.join("admission"), "yaml");
        paths.iter().map(|path| Self::load(path, &folder.join("golden/admission"))).collect()
    }

    fn load(path: &Path, golden: &Path) -> Self {
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a file with a name");
        let options = serde_saphyr::options! { strict_booleans: true };
        let mut case: Self = serde_saphyr::from_str_with_options(&files::read(path), options)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let golden = golden.join(name).with_extension("json");
        case.golden =
            serde_json::from_str(&files::read(&golden)).unwrap_or_else(|error| panic!("{}: {error}", golden.display()));
        case.name = format!("admission/{name}");
        case
    }
}

/// Registers the webhooks at a port of this machine for our namespaces, and waits until the API server calls them.
pub(crate) async fn register(kube: &Kube, port: u16, ca_pem: &str) -> anyhow::Result<()> {
    let mut configuration = kedge_webhooks::webhook_configuration::configuration();
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
        let url = format!("https://localhost:{port}{path}");
        webhook["clientConfig"] = json!({ "url": url, "caBundle": STANDARD.encode(ca_pem) });
        webhook["failurePolicy"] = json!("Fail");
        webhook["namespaceSelector"] = json!({ "matchLabels": { LABEL: "on" } });
    }
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    kube.done(Method::POST, path, Some(&configuration)).await?;
    let namespace = create_namespace(kube, "admission").await?;
    let bad = json!({ "so": { "idleReplicaCount": 0, "triggers": [{ "type": "cron", "metadata": {} }] } });
    let bad: Entry = serde_json::from_value(bad)?;
    wait_for("the webhooks are called", DEADLINE, async || {
        let path = format!("{}?dryRun=All", path_of("ScaledObject", &namespace));
        let answer = kube.call(Method::POST, &path, Some(&bad.with_defaults(json!({})))).await;
        match answer.map_err(|error| error.to_string())? {
            answer if answer.code == 403 => Ok(()),
            answer => Err(format!("{answer:?}")),
        }
    })
    .await
}

async fn create_namespace(kube: &Kube, name: &str) -> anyhow::Result<String> {
    let namespace = json!({ "metadata": { "name": name, "labels": { LABEL: "on" } } });
    kube.done(Method::POST, "/api/v1/namespaces", Some(&namespace)).await?;
    Ok(name.to_owned())
}

/// Plays a case. A case that fails counts as different, with its error.
pub(crate) async fn play(kube: &Kube, listed: &KnownDifferences, case: &AdmissionCase) -> Verdict {
    let began = Instant::now();
    let outcome = match play_case(kube, listed, case).await {
        Ok(requests) => Outcome::from_steps(&requests),
        Err(error) => Outcome::Different(vec![format!("broken: {error:#}")]),
    };
    Verdict { case: case.name.clone(), took: began.elapsed(), outcome }
}

type RequestResults<'a> = Vec<(String, Vec<Difference>, Vec<&'a Row>)>;

async fn play_case<'a>(
    kube: &Kube,
    listed: &'a KnownDifferences,
    case: &AdmissionCase,
) -> anyhow::Result<RequestResults<'a>> {
    let namespace = create_namespace(kube, &case.name.replace('/', "-")).await?;
    let run = AdmissionRun { kube, case, namespace: &namespace };
    let results = run.play_requests(listed).await;
    kube.done(Method::DELETE, &format!("/api/v1/namespaces/{namespace}"), None).await?;
    // Cluster-scoped objects have the name of the namespace.
    let cluster_wide = format!("{}/{namespace}", path_of("ClusterTriggerAuthentication", ""));
    kube.call(Method::DELETE, &cluster_wide, None).await?;
    results
}

/// A case that is being played.
struct AdmissionRun<'a> {
    kube: &'a Kube,
    case: &'a AdmissionCase,
    namespace: &'a str,
}

impl AdmissionRun<'_> {
    async fn play_requests<'l>(&self, listed: &'l KnownDifferences) -> anyhow::Result<RequestResults<'l>> {
        for entry in &self.case.objects {
            let object = self.manifest(entry);
            let kind = object["kind"].as_str().unwrap_or_default();
            self.kube.done(Method::POST, &path_of(kind, self.namespace), Some(&object)).await?;
        }
        let mut results = Vec::new();
        for (index, request) in self.case.requests.iter().enumerate() {
            let name = format!("request {}", index + 1);
            let golden = &self.case.golden[&name];
            let seen = self.play_request(request, golden).await?;
            let found = differences(golden, &self.with_kedas_words(seen, golden));
            results.push((name.clone(), found, listed.for_step(&self.case.name, &name)));
        }
        Ok(results)
    }

    /// Sends a request. Where KEDA denied it, sends dry runs first, until the caches of the webhooks hold the reason.
    async fn play_request(&self, request: &Request, golden: &Value) -> anyhow::Result<Value> {
        let deadline = Instant::now() + CACHE_DEADLINE;
        while golden["allowed"] == false && Instant::now() < deadline {
            if self.send(request, "?dryRun=All").await?["allowed"] == false {
                break;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        self.send(request, if request.dry_run { "?dryRun=All" } else { "" }).await
    }

    async fn send(&self, request: &Request, query: &str) -> anyhow::Result<Value> {
        let answer = match (&request.create, &request.update) {
            (Some(entry), _) => {
                let object = self.manifest(entry);
                let kind = object["kind"].as_str().unwrap_or_default();
                let path = format!("{}{query}", path_of(kind, self.namespace));
                self.kube.call(Method::POST, &path, Some(&object)).await?
            }
            (None, patch) => {
                let name = request.name.replace("${NS}", self.namespace);
                let path = format!("{}/{name}{query}", path_of(&request.kind, self.namespace));
                let patch = self.completed(filled(&json!(patch), &[("${NS}", self.namespace)]));
                self.kube.call(Method::PATCH, &path, Some(&patch)).await?
            }
        };
        Ok(seen(&answer, self.namespace))
    }

    fn manifest(&self, entry: &Entry) -> Value {
        self.completed(filled(&entry.with_defaults(json!({})), &[("${NS}", self.namespace)]))
    }

    /// Adds valid parameters to triggers without any.
    fn completed(&self, mut object: Value) -> Value {
        let triggers = object.pointer_mut("/spec/triggers").and_then(Value::as_array_mut);
        for trigger in triggers.into_iter().flatten().filter(|_| self.case.name != AS_WRITTEN) {
            if trigger["metadata"] == json!({}) {
                trigger["metadata"] = parameters(trigger["type"].as_str().unwrap_or_default());
            }
        }
        object
    }

    /// Replaces a message that begins with KEDA's by KEDA's: more text may follow.
    fn with_kedas_words(&self, mut seen: Value, golden: &Value) -> Value {
        let text = |value: &Value| value["message"].as_str().map(str::to_owned);
        if let (Some(ours), Some(kedas)) = (text(&seen), text(golden))
            && (ours.starts_with(&kedas) || self.case.free.message)
        {
            seen["message"] = json!(kedas);
        }
        seen
    }
}

fn parameters(kind: &str) -> Value {
    match kind {
        "cron" => json!({ "timezone": "Etc/UTC", "start": "0 8 * * *", "end": "0 18 * * *", "desiredReplicas": "1" }),
        "prometheus" => json!({ "serverAddress": "http://127.0.0.1:9", "query": "up", "threshold": "1" }),
        _ => json!({}),
    }
}

/// A response in the form in which KEDA's were recorded.
fn seen(answer: &HttpResponse, namespace: &str) -> Value {
    let mut seen = json!({ "allowed": answer.code.is_success(), "warnings": answer.warnings });
    if !answer.code.is_success() {
        for key in ["code", "reason", "message"] {
            seen[key] = answer.body[key].clone();
        }
        let message = seen["message"].as_str().unwrap_or_default().replace(namespace, "${NS}");
        seen["message"] = json!(message);
    }
    seen
}

#[test]
fn every_admission_case_can_be_read_and_has_a_response_to_each_request() {
    let cases = AdmissionCase::read_all();
    assert_eq!(cases.len(), 34);
    for case in cases {
        assert_eq!(case.requests.len(), case.golden.len(), "{}", case.name);
    }
}
