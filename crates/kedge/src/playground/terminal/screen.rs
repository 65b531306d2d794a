//! What is shown, as a picture of the state.

use chrono::DateTime;
use kedge_dashboard::view::{Actor, MetricView, ObjectDetail, ObjectState, ObjectSummary, Step};
use kedge_dashboard::{Controls, DashboardSource, Dial, Health};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style, Stylize};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Row, Sparkline, Table, Wrap};

/// What the keys do.
const HELP: &str =
    "↑↓ object  Tab source  ←→ load  b break  h hang  w works  p pause  f force  +- speed  o page  q quit";

/// Everything that is drawn.
#[derive(Debug, Default)]
pub(super) struct Screen {
    /// Where the page and the kubeconfig are.
    greeting: Vec<String>,
    now: i64,
    speed: f64,
    objects: Vec<ObjectSummary>,
    selected: usize,
    detail: Option<ObjectDetail>,
    dials: Vec<Dial>,
    selected_dial: usize,
    /// Why the last action was refused.
    message: Option<String>,
}

impl Screen {
    pub(super) fn new(greeting: Vec<String>) -> Self {
        Self { greeting, speed: 1.0, ..Self::default() }
    }

    /// Takes over what there is now.
    pub(super) fn update(&mut self, source: &dyn DashboardSource, controls: &dyn Controls) {
        self.now = source.now();
        self.speed = controls.speed();
        self.objects = source.objects();
        self.selected = self.selected.min(self.objects.len().saturating_sub(1));
        let chosen = self.objects.get(self.selected);
        self.dials = chosen.map(|object| controls.dials(&object.namespace, &object.name)).unwrap_or_default();
        self.selected_dial = self.selected_dial.min(self.dials.len().saturating_sub(1));
        self.detail = chosen.and_then(|object| source.object(&object.namespace, &object.name));
    }

    pub(super) fn select(&mut self, index: usize) {
        self.selected = index.min(self.objects.len().saturating_sub(1));
        self.selected_dial = 0;
    }

    pub(super) fn select_dial(&mut self, index: usize) {
        self.selected_dial = index;
    }

    pub(super) fn set_message(&mut self, message: Option<String>) {
        self.message = message;
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    pub(super) fn next_dial(&self) -> usize {
        (self.selected_dial + 1) % self.dials.len().max(1)
    }

    pub(super) fn object(&self) -> Option<&ObjectSummary> {
        self.objects.get(self.selected)
    }

    pub(super) fn dial(&self) -> Option<&Dial> {
        self.dials.get(self.selected_dial)
    }

    pub(super) fn speed(&self) -> f64 {
        self.speed
    }

    pub(super) fn draw(&self, frame: &mut Frame<'_>) {
        let list_height = u16::try_from(self.objects.len()).unwrap_or(u16::MAX).min(8) + 3;
        let greeting_height = u16::try_from(self.greeting.len()).unwrap_or(0);
        let rows = [
            Constraint::Length(greeting_height + 1),
            Constraint::Length(list_height),
            Constraint::Length(9),
            Constraint::Min(3),
            Constraint::Length(1),
        ];
        let [top, list, detail, log, bottom] = Layout::vertical(rows).areas(frame.area());
        self.draw_top(frame, top);
        self.draw_list(frame, list);
        self.draw_detail(frame, detail);
        self.draw_log(frame, log);
        let bottom_line = match &self.message {
            Some(message) => Line::from(message.as_str()).red(),
            None => Line::from(HELP).dark_gray(),
        };
        frame.render_widget(Paragraph::new(bottom_line), bottom);
    }

    fn draw_top(&self, frame: &mut Frame<'_>, area: Rect) {
        let speed = if self.speed == 1.0 { String::new() } else { format!("  {} times as fast", self.speed) };
        let mut lines = vec![Line::from(vec![
            Span::from("Kedge playground  ").bold(),
            Span::from(format!("{} UTC{speed}", clock(self.now))),
        ])];
        lines.extend(self.greeting.iter().map(|line| Line::from(line.as_str()).dark_gray()));
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect) {
        let heads = Row::new(["Object", "State", "Replicas", "Metrics"]).style(Style::new().dark_gray());
        let rows = self.objects.iter().enumerate().map(|(index, object)| {
            let row = Row::new(vec![
                Line::from(format!("{}/{}", object.namespace, object.name)),
                Line::from(Span::styled(state_name(object), Style::new().fg(state_color(object)))),
                Line::from(replicas(object)),
                Line::from(object.metrics.iter().map(metric).collect::<Vec<_>>().join("; ")),
            ]);
            if index == self.selected { row.style(Style::new().add_modifier(Modifier::REVERSED)) } else { row }
        });
        let widths = [Constraint::Length(30), Constraint::Length(10), Constraint::Length(18), Constraint::Min(20)];
        let table =
            Table::new(rows, widths).header(heads).block(Block::new().borders(Borders::TOP).title("ScaledObjects"));
        frame.render_widget(table, area);
    }

    fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect) {
        let Some(detail) = &self.detail else { return };
        let object = &detail.summary;
        let title = format!("{}/{} → {}", object.namespace, object.name, object.target);
        let block = Block::new().borders(Borders::TOP).title(title);
        let inner = block.inner(area);
        frame.render_widget(block, area);
        let [left, right] = Layout::horizontal([Constraint::Percentage(55), Constraint::Percentage(45)]).areas(inner);
        let mut lines: Vec<Line<'_>> = Vec::new();
        if let Some(problem) = &object.problem {
            lines.push(Line::from(problem.as_str()).red());
        }
        lines.extend(
            object.metrics.iter().filter_map(|metric| metric.error.as_deref()).map(|error| Line::from(error).yellow()),
        );
        lines.extend(self.dials.iter().enumerate().map(|(index, dial)| self.dial_line(index, dial)));
        for timer in detail.timers.iter().filter(|timer| timer.ends_at >= self.now) {
            lines.push(Line::from(format!("{} in {} s", timer.name, (timer.ends_at - self.now) / 1000)).dark_gray());
        }
        if object.is_stabilized {
            lines.push(Line::from("the HPA waits for its stabilization window").dark_gray());
        }
        frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: true }), left);
        let samples = &detail.samples.replicas;
        let recent = &samples[samples.len().saturating_sub(usize::from(right.width))..];
        let bars: Vec<u64> = recent.iter().map(|one| u64::try_from(one.unwrap_or(0)).unwrap_or(0)).collect();
        let bounds = format!("replicas, {} to {}", object.idle.unwrap_or(object.min), object.max);
        let most = u64::try_from(object.max).unwrap_or(1);
        let spark = Sparkline::default().data(&bars).max(most).style(Style::new().fg(Color::Green));
        frame.render_widget(spark.block(Block::new().borders(Borders::LEFT).title(bounds)), right);
    }

    /// `› orders  ━━━━━━━──────  120  works`
    fn dial_line(&self, index: usize, dial: &Dial) -> Line<'static> {
        const WIDTH: usize = 20;
        let share = if dial.max > 0.0 { dial.value / dial.max } else { 0.0 };
        let filled = ((share * WIDTH as f64).round() as usize).min(WIDTH);
        let mark = if index == self.selected_dial { "›" } else { " " };
        let health = match dial.health {
            Health::Works => Span::from("works").green(),
            Health::Broken => Span::from("broken").red(),
            Health::Hangs => Span::from("hangs").yellow(),
        };
        let bar = format!("{}{}", "━".repeat(filled), "─".repeat(WIDTH - filled));
        Line::from(vec![Span::from(format!("{mark} {:<12} {bar} {:>6} ", dial.label, number(dial.value))), health])
    }

    fn draw_log(&self, frame: &mut Frame<'_>, area: Rect) {
        let block = Block::new().borders(Borders::TOP).title("What changed, and why");
        let height = usize::from(block.inner(area).height);
        let steps = self.detail.iter().flat_map(|detail| detail.steps.iter().take(height));
        let lines: Vec<Line<'_>> = steps.map(step_line).collect();
        frame.render_widget(Paragraph::new(lines).block(block), area);
    }
}

fn step_line(step: &Step) -> Line<'static> {
    let change = step.change.map(|(from, to)| format!("{from} → {to}")).unwrap_or_default();
    let color = match step.by {
        Actor::Kedge => Color::Cyan,
        Actor::Hpa => Color::Green,
        Actor::Source => Color::Yellow,
        Actor::Other => Color::Magenta,
    };
    Line::from(vec![
        Span::from(format!("{}  ", clock(step.at))),
        Span::styled(format!("{:<6}  ", step.by.name()), Style::new().fg(color)),
        Span::from(format!("{change:<8} ")),
        Span::from(step.name.clone()).bold(),
        Span::from(format!(": {}", step.reason)),
    ])
}

fn clock(milliseconds: i64) -> String {
    DateTime::from_timestamp_millis(milliseconds).unwrap_or_default().format("%H:%M:%S").to_string()
}

fn replicas(object: &ObjectSummary) -> String {
    let desired = object.replicas.map_or_else(|| "unknown".to_owned(), |replicas| replicas.to_string());
    match object.ready_replicas {
        Some(ready) => format!("{ready} of {desired} ready"),
        None => desired,
    }
}

fn metric(metric: &MetricView) -> String {
    match (metric.value, &metric.error) {
        (_, Some(_)) => format!("{} fails", metric.label),
        (Some(value), None) => format!("{} {}/{}", metric.label, number(value), number(metric.target)),
        (None, None) => format!("{} unknown", metric.label),
    }
}

/// With one decimal at most.
fn number(value: f64) -> String {
    format!("{value:.1}").trim_end_matches(".0").to_owned()
}

fn state_name(object: &ObjectSummary) -> &'static str {
    match object.state {
        _ if object.problem.is_some() => "problem",
        ObjectState::Active => "active",
        ObjectState::Inactive => "inactive",
        ObjectState::Unknown => "unknown",
        ObjectState::Fallback => "fallback",
        ObjectState::Paused => "paused",
        ObjectState::Waiting => "waiting",
    }
}

fn state_color(object: &ObjectSummary) -> Color {
    match object.state {
        _ if object.problem.is_some() => Color::Red,
        ObjectState::Active => Color::Green,
        ObjectState::Inactive | ObjectState::Waiting => Color::DarkGray,
        ObjectState::Unknown => Color::Yellow,
        ObjectState::Fallback => Color::LightRed,
        ObjectState::Paused => Color::Magenta,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use kedge_dashboard::view::Samples;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    pub(crate) fn screen() -> Screen {
        let step = Step {
            id: 1,
            at: 43_205_000,
            by: Actor::Hpa,
            change: Some((1, 3)),
            name: "scaled out".to_owned(),
            reason: "orders is at 48.2, which needs 3".to_owned(),
        };
        let metric = MetricView {
            name: "s0-prometheus".to_owned(),
            label: "orders".to_owned(),
            target: 20.0,
            is_per_replica: true,
            value: Some(48.2),
            error: None,
            read_at: None,
        };
        let summary = ObjectSummary {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            target: "Deployment web".to_owned(),
            min: 0,
            max: 8,
            idle: None,
            replicas: Some(3),
            ready_replicas: Some(1),
            state: ObjectState::Active,
            is_stabilized: true,
            is_forced: false,
            problem: None,
            metrics: vec![metric],
            latest: Some(step.clone()),
            recent: vec![Some(1), Some(3)],
        };
        let samples = Samples { replicas: vec![Some(0), Some(1), Some(3)], ..Samples::default() };
        let dial = Dial {
            id: "d".to_owned(),
            label: "orders".to_owned(),
            value: 48.0,
            max: 200.0,
            health: Health::Works,
            is_automatic: true,
        };
        Screen {
            greeting: vec!["page http://localhost:8080".to_owned()],
            now: 43_210_000,
            speed: 10.0,
            objects: vec![summary.clone()],
            detail: Some(ObjectDetail { summary, samples, steps: vec![step], timers: Vec::new() }),
            dials: vec![dial],
            ..Screen::default()
        }
    }

    #[test]
    fn the_screen_shows_object_load_and_reason() {
        let mut terminal = Terminal::new(TestBackend::new(110, 30)).unwrap();
        terminal.draw(|frame| screen().draw(frame)).unwrap();
        let shown = terminal.backend().to_string();
        for expected in [
            "12:00:10 UTC  10 times as fast",
            "page http://localhost:8080",
            "shop/web",
            "1 of 3 ready",
            "orders 48.2/20",
            "› orders       ━━━━━───────────────     48 works",
            "12:00:05  HPA     1 → 3    scaled out: orders is at 48.2, which needs 3",
            "the HPA waits for its stabilization window",
            "q quit",
        ] {
            assert!(shown.contains(expected), "{expected}:\n{shown}");
        }
    }

    #[test]
    fn it_fits_a_small_terminal() {
        let mut terminal = Terminal::new(TestBackend::new(20, 6)).unwrap();
        terminal.draw(|frame| screen().draw(frame)).unwrap();
        terminal.draw(|frame| Screen::default().draw(frame)).unwrap();
    }
}
