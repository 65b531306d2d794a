//! Playing a script on one side, step by step.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::exchange::{Lines, REQUEST_DEADLINE, head, lines, request, send_request, whole};
use crate::normal::Normaliser;
use crate::script::{Script, Step, base};
use crate::server::Server;
use crate::setup;
use crate::variables::{Variables, apply_merge_patch, find, method_and_path};

/// How often a request is repeated.
const PAUSE: Duration = Duration::from_millis(50);

/// The response to one step.
#[derive(Debug)]
pub(crate) struct StepResponse {
    pub(crate) step: String,
    /// The request, for a reader.
    pub(crate) request: String,
    /// In its normal form.
    pub(crate) response: Value,
    /// The difference from what the script expects of the real API server.
    pub(crate) surprise: Option<String>,
}

/// A script being played on one side.
struct ScriptRun<'a> {
    server: &'a Server,
    variables: Variables,
    normaliser: Normaliser,
    watches: BTreeMap<String, Lines>,
    answers: Vec<StepResponse>,
}

/// Plays a script in a namespace of its own, until a step fails: then the last response holds the error.
pub(crate) async fn play(server: &Server, script: &Script, namespace: &str) -> Vec<StepResponse> {
    let mut run = ScriptRun {
        server,
        variables: Variables::new(namespace),
        normaliser: Normaliser::new(namespace),
        watches: BTreeMap::new(),
        answers: Vec::new(),
    };
    for (index, step) in script.steps.iter().enumerate() {
        let name = step.name.clone().unwrap_or_else(|| (index + 1).to_string());
        if let Err(error) = run.play_step(&name, step).await {
            let response = run.normaliser.normal(&json!(format!("{error:#}")));
            let surprise = Some(format!("the script ends here: {error:#}"));
            run.answers.push(StepResponse { step: name, request: String::new(), response, surprise });
            break;
        }
    }
    run.answers
}

impl ScriptRun<'_> {
    async fn play_step(&mut self, name: &str, step: &Step) -> anyhow::Result<()> {
        match &step.each {
            None => self.play_once(name, step).await,
            Some(each) => {
                for word in each {
                    let filled = self.variables.text(word)?;
                    self.variables.set("each", json!(filled));
                    self.play_once(&format!("{name}.{word}"), step).await?;
                }
                Ok(())
            }
        }
    }

    async fn play_once(&mut self, name: &str, step: &Step) -> anyhow::Result<()> {
        match step {
            Step { call: Some(call), .. } => self.play_call(name, step, call).await,
            Step { crd: Some(base), .. } => self.play_crd(name, step, base).await,
            Step { watch: Some(path), .. } => self.open_watch(name, step, path).await,
            Step { events: Some(watch), .. } => self.collect_events(name, step, watch).await,
            _ => bail!("step {name} is none of `call`, `crd`, `watch` and `events`"),
        }
    }

    async fn play_call(&mut self, name: &str, step: &Step, call: &str) -> anyhow::Result<()> {
        let call = self.variables.text(call)?;
        let (method, path) = method_and_path(&call)?;
        let body = self.body(step)?;
        let answer = match &step.until {
            None => send_request(self.server, step, method, path, body).await?,
            Some(wanted) => {
                let wanted = self.variables.fill(&json!(wanted))?;
                self.send_until(step, method, path, body, &wanted).await?
            }
        };
        self.note(name, step, &call, answer);
        Ok(())
    }

    /// Repeats a request until the response is as wanted. At the deadline, marks the last response as `waited`.
    async fn send_until(
        &self,
        step: &Step,
        method: &str,
        path: &str,
        body: Option<String>,
        wanted: &Value,
    ) -> anyhow::Result<Value> {
        let deadline = Instant::now() + self.server.deadline();
        loop {
            let mut answer = send_request(self.server, step, method, path, body.clone()).await?;
            if wanted.as_object().into_iter().flatten().all(|(path, value)| find(&answer, path) == Some(value)) {
                return Ok(answer);
            }
            if Instant::now() > deadline {
                answer["waited"] = json!("in vain");
                return Ok(answer);
            }
            sleep(PAUSE).await;
        }
    }

    /// Creates a CRD and waits until its objects are served. The states in between are not compared.
    async fn play_crd(&mut self, name: &str, step: &Step, base: &str) -> anyhow::Result<()> {
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let create = Step { base: Some(base.to_owned()), crd: None, ..step.clone() };
        self.play_call(name, &create, &format!("POST {crds}")).await?;
        let created = self.variables.fill(&json!(format!("${{{name}}}")))?;
        let text = |path: &str| find(&created, path).and_then(Value::as_str).with_context(|| format!("no {path}"));
        let wait =
            |path: &str, value: Value| Step { until: Some([(path.to_owned(), value)].into()), ..Step::default() };
        let established = wait("body.status.conditions[type=Established].status", json!("True"));
        let get = format!("GET {crds}/{}", text("metadata.name")?);
        self.play_call(&format!("{name}.established"), &established, &get).await?;
        setup::wait_until_served(self.server, &created).await
    }

    async fn open_watch(&mut self, name: &str, step: &Step, path: &str) -> anyhow::Result<()> {
        let path = self.variables.text(path)?;
        let answer = timeout(REQUEST_DEADLINE, self.server.send(request(step, "GET", &path, None)?)).await??;
        if answer.status().is_success() {
            let head = head(&answer);
            self.note(name, step, &format!("GET {path}"), head);
            self.watches.insert(name.to_owned(), lines(answer.into_body()));
        } else {
            let whole = whole(answer).await?;
            self.note(name, step, &format!("GET {path}"), whole);
        }
        Ok(())
    }

    async fn collect_events(&mut self, name: &str, step: &Step, watch: &str) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.server.deadline();
        let lines = self.watches.get_mut(watch).with_context(|| format!("no watch is called {watch}"))?;
        let mut events = Vec::new();
        let mut end = "";
        while step.count.is_none_or(|count| events.len() < count) {
            match timeout_at(deadline, lines.next()).await {
                // The number of consecutive bookmarks is random.
                Ok(Some(event)) if is_bookmark(&event) && events.last().is_some_and(is_bookmark) => {}
                Ok(Some(event)) => events.push(event),
                Ok(None) => {
                    end = "ended";
                    break;
                }
                Err(_) => {
                    end = "nothing more came";
                    break;
                }
            }
        }
        let surprise = (step.count.is_some() && !end.is_empty()).then(|| format!("{end}: {}", json!(events)));
        self.variables.set(name, json!(events));
        let response = self.normaliser.normal(&json!({ "events": events, "end": end }));
        self.answers.push(StepResponse {
            step: name.to_owned(),
            request: format!("events of {watch}"),
            response,
            surprise,
        });
        Ok(())
    }

    fn body(&self, step: &Step) -> anyhow::Result<Option<String>> {
        if let Some(text) = &step.text {
            return Ok(Some(self.variables.text(text)?));
        }
        let body = match (&step.base, &step.body) {
            (None, None) => return Ok(None),
            (None, Some(body)) => body.clone(),
            (Some(name), None) => base(name),
            (Some(name), Some(over)) => {
                let mut body = base(name);
                apply_merge_patch(&mut body, over);
                body
            }
        };
        Ok(Some(self.variables.fill(&body)?.to_string()))
    }

    fn note(&mut self, name: &str, step: &Step, request: &str, answer: Value) {
        let code = answer["code"].as_u64().unwrap_or_default();
        let is_expected = match step.expect {
            Some(expected) => code == u64::from(expected),
            None if step.until.is_some() => answer.get("waited").is_none(),
            None => (200..300).contains(&code),
        };
        let surprise = (!is_expected).then(|| answer.to_string());
        self.variables.set(name, answer["body"].clone());
        let response = self.normaliser.normal(&answer);
        self.answers.push(StepResponse { step: name.to_owned(), request: request.to_owned(), response, surprise });
    }
}

fn is_bookmark(event: &Value) -> bool {
    event["type"] == json!("BOOKMARK")
}
