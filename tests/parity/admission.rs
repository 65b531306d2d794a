//! The webhooks held against KEDA's: requests through the API server, and what KEDA's webhooks were seen to answer.
//!
//! `keda/admission/NAME.yaml` holds requests that build on one another, `keda/golden/admission/NAME.json` the answers.

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

/// The label of the namespaces whose objects are judged.
const LABEL: &str = "parity.example.com/admission";

/// How long the webhooks may take to see what was made a moment before.
const SIGHT: Duration = Duration::from_secs(20);

/// Triggers without parameters are no mistake to KEDA's webhooks, and stand in many cases that are about something else. This
/// case is put as it is written; in all others such triggers get what they need.
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
    /// Here the webhooks are waited for instead.
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
    /// All cases, by name, with what KEDA answered in each.
    pub(crate) fn read_all() -> Vec<Self> {
        let folder = files::workspace().join("tests/parity/keda");
        let paths = files::list(&folder.join("admission"), "yaml");
        paths.iter().map(|path| Self::read(path, &folder.join("golden/admission"))).collect()
    }

    fn read(path: &Path, golden: &Path) -> Self {
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

/// Tells the API server to have objects of our namespaces judged at a port of this machine, and waits until it does.
pub(crate) async fn register(kube: &Kube, port: u16, authority: &str) -> anyhow::Result<()> {
    let mut configuration = kedge_webhooks::webhook_configuration::configuration();
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap_or_default();
        let url = format!("https://localhost:{port}{path}");
        webhook["clientConfig"] = json!({ "url": url, "caBundle": STANDARD.encode(authority) });
        webhook["failurePolicy"] = json!("Fail");
        webhook["namespaceSelector"] = json!({ "matchLabels": { LABEL: "on" } });
    }
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    kube.done(Method::POST, path, Some(&configuration)).await?;
    let namespace = create_namespace(kube, "admission").await?;
    let bad = json!({ "so": { "idleReplicaCount": 0, "triggers": [{ "type": "cron", "metadata": {} }] } });
    let bad: Entry = serde_json::from_value(bad)?;
    wait_for("the webhooks are asked", DEADLINE, async || {
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

/// Puts the requests of a case. One that breaks is different too, and says why.
pub(crate) async fn play(kube: &Kube, listed: &KnownDifferences, case: &AdmissionCase) -> Verdict {
    let began = Instant::now();
    let outcome = match put_all(kube, listed, case).await {
        Ok(requests) => Outcome::from_steps(&requests),
        Err(error) => Outcome::Different(vec![format!("broken: {error:#}")]),
    };
    Verdict { case: case.name.clone(), took: began.elapsed(), outcome }
}

type Judged<'a> = Vec<(String, Vec<Difference>, Vec<&'a Row>)>;

async fn put_all<'a>(kube: &Kube, listed: &'a KnownDifferences, case: &AdmissionCase) -> anyhow::Result<Judged<'a>> {
    let namespace = create_namespace(kube, &case.name.replace('/', "-")).await?;
    let put = Put { kube, case, namespace: &namespace };
    let put = put.put_all(listed).await;
    kube.done(Method::DELETE, &format!("/api/v1/namespaces/{namespace}"), None).await?;
    // What has no namespace is named after it.
    let cluster_wide = format!("{}/{namespace}", path_of("ClusterTriggerAuthentication", ""));
    kube.call(Method::DELETE, &cluster_wide, None).await?;
    put
}

/// A case that is being played.
struct Put<'a> {
    kube: &'a Kube,
    case: &'a AdmissionCase,
    namespace: &'a str,
}

impl Put<'_> {
    async fn put_all<'l>(&self, listed: &'l KnownDifferences) -> anyhow::Result<Judged<'l>> {
        for entry in &self.case.objects {
            let object = self.manifest(entry);
            let kind = object["kind"].as_str().unwrap_or_default();
            self.kube.done(Method::POST, &path_of(kind, self.namespace), Some(&object)).await?;
        }
        let mut judged = Vec::new();
        for (index, request) in self.case.requests.iter().enumerate() {
            let name = format!("request {}", index + 1);
            let golden = &self.case.golden[&name];
            let seen = self.put(request, golden).await?;
            let found = differences(golden, &self.with_kedas_words(seen, golden));
            judged.push((name.clone(), found, listed.for_step(&self.case.name, &name)));
        }
        Ok(judged)
    }

    /// Puts a request. Where KEDA denied it, the webhooks may first have to see why: it is tried dry until they do.
    async fn put(&self, request: &Request, golden: &Value) -> anyhow::Result<Value> {
        let deadline = Instant::now() + SIGHT;
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

    /// Triggers without parameters get what they need.
    fn completed(&self, mut object: Value) -> Value {
        let triggers = object.pointer_mut("/spec/triggers").and_then(Value::as_array_mut);
        for trigger in triggers.into_iter().flatten().filter(|_| self.case.name != AS_WRITTEN) {
            if trigger["metadata"] == json!({}) {
                trigger["metadata"] = parameters(trigger["type"].as_str().unwrap_or_default());
            }
        }
        object
    }

    /// A message that begins with KEDA's words is as good as KEDA's; more may follow.
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

/// An answer in the form in which KEDA's were recorded.
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
fn every_admission_case_can_be_read_and_has_an_answer_to_each_request() {
    let cases = AdmissionCase::read_all();
    assert_eq!(cases.len(), 34);
    for case in cases {
        assert_eq!(case.requests.len(), case.golden.len(), "{}", case.name);
    }
}
