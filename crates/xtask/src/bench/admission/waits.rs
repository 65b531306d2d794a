//! How long the API server waited for the webhooks, by its own metrics.

use std::fmt::{self, Display};

use anyhow::Context;
use http::Request;
use kube::Client;

const NAME: &str = "apiserver_admission_webhook_admission_duration_seconds";

#[derive(Default)]
pub(super) struct Waits {
    count: f64,
    seconds: f64,
}

impl Waits {
    pub(super) async fn read(client: &Client) -> anyhow::Result<Self> {
        let text = client.request_text(Request::get("/metrics").body(Vec::new())?).await?;
        let sum = |what: &str| -> anyhow::Result<f64> {
            let start = format!("{NAME}_{what}{{");
            let lines = text.lines().filter(|line| line.starts_with(&start) && line.contains("vscaledobject.kb.io"));
            let values = lines.map(|line| line.rsplit(' ').next().unwrap_or_default().parse::<f64>());
            values.sum::<Result<f64, _>>().with_context(|| format!("{NAME}_{what} is no number"))
        };
        Ok(Self { count: sum("count")?, seconds: sum("sum")? })
    }

    pub(super) fn since(self, before: &Self) -> Self {
        Self { count: self.count - before.count, seconds: self.seconds - before.seconds }
    }
}

impl Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.2} ms, {} times", self.seconds / self.count.max(1.0) * 1000.0, self.count)
    }
}
