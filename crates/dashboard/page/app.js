// The page: a list of objects, and one object with its history.

import { draw, newChart, spark } from "./chart.js";
import { day, duration, element, number, setText, svg, time } from "./format.js";

const EVERY = 1000;
const WORDS = {
  active: "active", inactive: "inactive", unknown: "unknown", fallback: "fallback", paused: "paused", waiting: "not polled yet", problem: "problem",
};

const content = document.getElementById("content");
const banner = document.getElementById("banner");
const login = document.getElementById("login");
let view = null;

// The address that `kedge dashboard` opens has a token behind the #, which browsers do not send.
function takeToken() {
  const found = location.hash.match(/^#token=([\w-]+)$/);
  if (!found) return;
  sessionStorage.setItem("token", found[1]);
  history.replaceState(null, "", "#/");
}

// Light and dark, as the system has it or as the user chooses.
function showColours(chosen) {
  document.documentElement.dataset.colours = chosen;
  setText(document.getElementById("colours"), `Colours: ${chosen}`);
}

function nextColours() {
  const all = ["system", "light", "dark"];
  const next = all[(all.indexOf(document.documentElement.dataset.colours) + 1) % all.length];
  localStorage.setItem("colours", next);
  showColours(next);
}

function headers() {
  const token = sessionStorage.getItem("token");
  return token ? { authorization: `Bearer ${token}` } : {};
}

async function load(path) {
  const response = await fetch(path, { headers: headers() });
  const answer = await response.json();
  if (!response.ok) throw Object.assign(new Error(answer.error), { code: response.status });
  return answer;
}

async function act(object, action) {
  const path = `api/objects/${encodeURIComponent(object.namespace)}/${encodeURIComponent(object.name)}/actions`;
  const sent = { method: "POST", headers: { ...headers(), "content-type": "application/json" }, body: JSON.stringify(action) };
  const response = await fetch(`/${path}`, sent);
  if (!response.ok) fail((await response.json()).error);
  else await refresh();
}

function fail(message) {
  banner.hidden = !message;
  setText(banner, message || "");
}

function stateOf(object) {
  return object.problem ? "problem" : object.state;
}

function badge() {
  return element("span", { class: "state" });
}

function setBadge(node, object) {
  const state = stateOf(object);
  node.className = `state ${state}`;
  setText(node, WORDS[state]);
}

function replicasText(object) {
  const desired = object.replicas === null ? "unknown" : String(object.replicas);
  return object.readyReplicas === null ? desired : `${object.readyReplicas} of ${desired} ready`;
}

function metricText(metric) {
  if (metric.error) return `${metric.label}: fails`;
  return `${metric.label}: ${number(metric.value)}, ${number(metric.target)} ${metric.isPerReplica ? "per replica" : "at most"}`;
}

function changeText(step) {
  return step.change ? `${step.change[0]} → ${step.change[1]}` : "";
}

// The list.
function listView() {
  const rows = new Map();
  const body = element("tbody");
  const heads = ["Object", "State", "Replicas", "", "Metrics", "Latest"].map((name) => element("th", { scope: "col" }, name || element("span", { class: "unseen" }, "Recent replicas")));
  const table = element("table", { class: "list" }, element("thead", {}, element("tr", {}, ...heads)), body);
  const empty = element("p", { class: "faint" }, "There are no ScaledObjects.");
  content.replaceChildren(element("h1", {}, "ScaledObjects"), table, empty);
  document.title = "Kedge";

  function newRow(object) {
    const path = svg("path");
    const row = {
      link: element("a", { href: `#/${encodeURIComponent(object.namespace)}/${encodeURIComponent(object.name)}` }, `${object.namespace}/${object.name}`),
      target: element("div", { class: "faint" }), state: badge(), replicas: element("span", { class: "number" }),
      path, metrics: element("td"), latest: element("td", { class: "faint" }),
    };
    const chart = svg("svg", { class: "spark", viewBox: "0 0 110 26", "aria-hidden": "true" }, path);
    row.node = element("tr", {}, element("td", {}, row.link, row.target), element("td", {}, row.state),
      element("td", {}, row.replicas), element("td", {}, chart), row.metrics, row.latest);
    return row;
  }

  return {
    path: "/api/objects",
    show({ objects, standby }) {
      empty.hidden = objects.length > 0 && !standby;
      const leader = standby && (standby.leader ? `the leader, ${standby.leader}, shows the objects.` : "no replica leads at present.");
      setText(empty, standby ? `This replica stands by; ${leader}` : "There are no ScaledObjects.");
      const present = new Set();
      objects.forEach((object, index) => {
        const key = `${object.namespace}/${object.name}`;
        present.add(key);
        let row = rows.get(key);
        if (!row) rows.set(key, (row = newRow(object)));
        if (body.children[index] !== row.node) body.insertBefore(row.node, body.children[index] || null);
        setText(row.target, object.target);
        setBadge(row.state, object);
        setText(row.replicas, `${replicasText(object)}, ${object.idle ?? object.min} to ${object.max}`);
        setText(row.metrics, object.metrics.map(metricText).join("; "));
        setText(row.latest, object.problem || (object.latest ? `${time(object.latest.at)} ${object.latest.by} ${changeText(object.latest)} ${object.latest.name}` : ""));
        spark(row.path, object.recent, object.max);
      });
      for (const [key, row] of rows) if (!present.has(key)) { row.node.remove(); rows.delete(key); }
    },
  };
}

// What can be changed in a playground.
function controlsView(object) {
  const dials = new Map();
  const holder = element("div");
  const pause = element("button", { type: "button", "aria-pressed": "false" }, "Pause");
  const force = element("button", { type: "button", "aria-pressed": "false" }, "Force activation");
  const speed = element("select", { "aria-label": "Speed of time" }, ...[1, 2, 5, 10, 60, 600].map((factor) => element("option", { value: String(factor) }, `${factor} × speed`)));
  const node = element("section", { class: "card", "aria-labelledby": "controls" }, element("h2", { id: "controls" }, "Turn it yourself"), holder,
    element("div", { class: "buttons" }, pause, force, speed));
  let latest = object;
  pause.addEventListener("click", () => act(latest, { action: latest.state === "paused" ? "resume" : "pause" }));
  force.addEventListener("click", () => act(latest, { action: "forceActivation", isForced: force.getAttribute("aria-pressed") !== "true" }));
  speed.addEventListener("change", () => act(latest, { action: "setSpeed", speed: Number(speed.value) }));

  function newDial(dial) {
    const id = `dial-${dials.size}`;
    const input = element("input", { id, type: "range", min: "0", step: "any" });
    const shown = element("output", { for: id });
    const healths = [["works", "Works"], ["broken", "Break it"], ["hangs", "Let it hang"]].map(([health, name]) => {
      const button = element("button", { type: "button" }, name);
      button.addEventListener("click", () => act(latest, { action: "setHealth", dial: dial.id, health }));
      return { health, button };
    });
    let timer = null;
    input.addEventListener("input", () => {
      setText(shown, number(Number(input.value)));
      clearTimeout(timer);
      timer = setTimeout(() => { timer = null; act(latest, { action: "setValue", dial: dial.id, value: Number(input.value) }); }, 150);
    });
    holder.append(element("div", { class: "dial" }, element("label", { for: id }, dial.label), input, shown,
      element("div", { class: "buttons", role: "group", "aria-label": `Health of ${dial.label}` }, ...healths.map((one) => one.button))));
    return {
      set(next) {
        if (input.max !== String(next.max)) { input.max = String(next.max); input.step = String(next.max / 100); }
        // Not while a user turns it.
        if (timer === null && document.activeElement !== input) input.value = String(next.value);
        if (timer === null) setText(shown, number(next.value));
        for (const { health, button } of healths) button.setAttribute("aria-pressed", String(health === next.health));
      },
    };
  }

  return {
    node,
    show(detail) {
      latest = detail.object;
      for (const dial of detail.dials) {
        if (!dials.has(dial.id)) dials.set(dial.id, newDial(dial));
        dials.get(dial.id).set(dial);
      }
      pause.setAttribute("aria-pressed", String(latest.state === "paused"));
      const isForced = latest.isForced === true;
      force.setAttribute("aria-pressed", String(isForced));
      if (document.activeElement !== speed) {
        const value = String(detail.speed);
        if (![...speed.options].some((option) => option.value === value)) speed.append(element("option", { value }, `${value} × speed`));
        speed.value = value;
      }
    },
  };
}

function legend(...entries) {
  return element("ul", { class: "legend" }, ...entries.map(([className, name]) => element("li", { class: className }, element("i"), name)));
}

// One object.
function objectView(namespace, name) {
  const state = badge();
  const facts = element("dl", { class: "facts" });
  const problem = element("p", { class: "problem-text" });
  const charts = element("section", { class: "card", "aria-labelledby": "metrics" }, element("h2", { id: "metrics" }, "Metrics"));
  const replicas = newChart();
  const log = element("tbody");
  const heads = ["Time", "Who", "Replicas", "What and why"].map((head) => element("th", { scope: "col" }, head));
  content.replaceChildren(
    element("h1", {}, `${namespace}/${name} `, state), problem, facts,
  );
  let controls = null, metricCharts = [], newest = null;
  const logCard = element("section", { class: "card", "aria-labelledby": "log" }, element("h2", { id: "log" }, "What changed, and why"),
    element("table", { class: "log" }, element("thead", {}, element("tr", {}, ...heads)), log));
  const replicasCard = element("section", { class: "card", "aria-labelledby": "replicas" }, element("h2", { id: "replicas" }, "Replicas"), replicas,
    legend(["desired", "desired"], ["ready", "ready"], ["limit", "minimum and maximum"], ["block active", "a trigger is active"], ["block unknown", "a source fails"], ["block fallback", "fallback"], ["block paused", "paused"]));
  content.append(replicasCard, charts, logCard);
  document.title = `${namespace}/${name} · Kedge`;

  function fact(term, value) {
    return element("div", {}, element("dt", {}, term), element("dd", {}, value));
  }

  function showMetrics(object, now) {
    while (metricCharts.length < object.metrics.length) {
      const chart = newChart(), caption = element("p", { class: "number" });
      const holder = element("div", {}, caption, chart);
      charts.append(holder);
      metricCharts.push({ chart, caption, holder });
    }
    while (metricCharts.length > object.metrics.length) metricCharts.pop().holder.remove();
    object.metrics.forEach((metric, index) => {
      const values = object.samples.values[index] || [];
      const { chart, caption } = metricCharts[index];
      setText(caption, metric.error ? `${metric.label}: ${metric.error}` : metricText(metric));
      draw(chart, {
        at: object.samples.at, states: object.samples.states, end: now, label: `${metric.label} over time; ${metricText(metric)}`,
        lines: [{ values, className: "metric" }], levels: [{ value: metric.target, className: "target" }],
      });
    });
  }

  function showLog(steps) {
    const key = steps.length ? `${steps[0].at} ${steps.length} ${steps[0].reason}` : "";
    if (key === newest) return;
    if (newest !== null && steps.length) setText(document.getElementById("announcer"), `${steps[0].by}: ${changeText(steps[0])} ${steps[0].name}, ${steps[0].reason}`);
    newest = key;
    log.replaceChildren(...steps.map((step) => element("tr", {},
      element("td", { class: "number" }, time(step.at)), element("td", { class: "who" }, step.by),
      element("td", { class: "change" }, changeText(step)), element("td", {}, element("b", {}, step.name), `: ${step.reason}`))));
  }

  return {
    path: `/api/objects/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`,
    show(detail) {
      const { object, now } = detail;
      if (detail.speed !== undefined && !controls) {
        controls = controlsView(object);
        content.insertBefore(controls.node, replicasCard);
      }
      if (controls) controls.show(detail);
      setBadge(state, object);
      problem.hidden = !object.problem;
      setText(problem, object.problem || "");
      const timers = object.timers.filter((timer) => timer.endsAt >= now).map((timer) => fact(timer.name, `in ${duration(timer.endsAt - now)}`));
      facts.replaceChildren(fact("target", object.target), fact("replicas", replicasText(object)), fact("bounds", `${object.idle ?? object.min} to ${object.max}`),
        ...timers, ...(object.isStabilized ? [fact("HPA", "waits for its stabilization window")] : []));
      draw(replicas, {
        at: object.samples.at, states: object.samples.states, end: now, label: `Replicas over time; now ${replicasText(object)}`,
        lines: [{ values: object.samples.ready, className: "ready" }, { values: object.samples.replicas, className: "desired" }],
        levels: [{ value: object.max, className: "limit" }, { value: object.idle ?? object.min, className: "limit" }],
      });
      showMetrics(object, now);
      showLog(object.steps);
    },
  };
}

function route() {
  takeToken();
  const [, namespace, name] = location.hash.slice(1).split("/").map(decodeURIComponent);
  view = namespace && name ? objectView(namespace, name) : listView();
  content.focus({ preventScroll: true });
  refresh();
}

async function refresh() {
  const asked = view;
  try {
    const answer = await load(asked.path);
    if (asked !== view) return;
    login.hidden = true;
    fail("");
    const speed = answer.speed === undefined || answer.speed === 1 ? "" : `, ${answer.speed} times as fast`;
    setText(document.getElementById("clock"), `${day(answer.now)} ${time(answer.now)} UTC${speed}`);
    asked.show(answer);
  } catch (error) {
    if (asked !== view) return;
    login.hidden = error.code !== 401;
    fail(error.code ? error.message : "The server does not answer; trying again.");
  }
}

login.addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem("token", document.getElementById("token").value);
  refresh();
});
document.getElementById("colours").addEventListener("click", nextColours);
showColours(localStorage.getItem("colours") || "system");
window.addEventListener("hashchange", route);
route();
// One request at a time, and none while the page is hidden.
(async function () {
  for (;;) {
    await new Promise((done) => setTimeout(done, EVERY));
    if (!document.hidden) await refresh();
  }
})();
