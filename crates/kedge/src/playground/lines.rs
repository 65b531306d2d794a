//! What happens in a playground, as plain lines.

use std::convert::Infallible;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use kedge_dashboard::DashboardSource;
use kedge_dashboard::view::{LoggedStep, Step};
use kedge_playground::{Playground, Scenario};

/// How often new entries of the logs are looked for.
const EVERY: Duration = Duration::from_millis(200);

/// What is printed at the start.
pub(super) fn greeting(
    playground: &Playground,
    page: SocketAddr,
    scenario: Option<&'static Scenario>,
    speed: f64,
) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = match scenario {
        Some(scenario) => writeln!(text, "Kedge playground, scenario {}: {}", scenario.name, scenario.summary),
        None => writeln!(text, "Kedge playground with your manifests"),
    };
    for notice in &playground.notices {
        let _ = writeln!(text, "  note     {notice}");
    }
    let _ = writeln!(text, "  page     http://localhost:{}", page.port());
    let _ = writeln!(text, "  kubectl  export KUBECONFIG={}", playground.kubeconfig.display());
    let _ = writeln!(text, "           kubectl get scaledobjects,hpa,deployments");
    let _ = writeln!(text, "  speed    {speed} times the clock of this machine; times are UTC");
    let _ = writeln!(text, "  stop     Ctrl-C\n");
    text
}

/// Prints each entry of the logs until it is dropped.
pub(super) async fn print_steps(source: Arc<dyn DashboardSource>) -> Infallible {
    let mut last = 0;
    loop {
        for logged in source.steps_after(last) {
            last = logged.step.id;
            println!("{}", line(&logged));
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// `12:00:05  default/order-worker  Kedge   0 → 1   trigger active: orders is active`
fn line(logged: &LoggedStep) -> String {
    let LoggedStep { namespace, name, step: Step { at, by, change, name: what, reason, .. } } = logged;
    let at = DateTime::from_timestamp_millis(*at).unwrap_or_default().format("%H:%M:%S");
    let change = change.map(|(from, to)| format!("{from} → {to}")).unwrap_or_default();
    format!("{at}  {namespace}/{name}  {:<6}  {change:<7}  {what}: {reason}", by.name())
}

#[cfg(test)]
mod tests {
    use kedge_dashboard::view::Actor;

    use super::*;

    #[test]
    fn a_line_says_when_who_what_and_why() {
        let step = Step {
            id: 1,
            at: 1_767_614_405_000,
            by: Actor::Hpa,
            change: Some((1, 3)),
            name: "scaled out".to_owned(),
            reason: "orders is at 48.2, which needs 3".to_owned(),
        };
        let logged = LoggedStep { namespace: "shop".to_owned(), name: "web".to_owned(), step };
        let expected = "12:00:05  shop/web  HPA     1 → 3    scaled out: orders is at 48.2, which needs 3";
        assert_eq!(line(&logged), expected);
    }
}
