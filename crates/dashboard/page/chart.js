// Charts of samples over time, as SVG.

import { number, svg, time } from "./format.js";

const HEIGHT = 190, LEFT = 44, RIGHT = 8, TOP = 8, BOTTOM = 20;

// The end of a scale: 1, 2 or 5 times a power of ten, not below the largest value.
export function niceEnd(largest) {
  if (!(largest > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(largest));
  return [1, 2, 5, 10].map((factor) => factor * power).find((end) => end >= largest);
}

// A path through values, in steps: a value holds until the next one. Gaps are left where there is none.
export function stepPath(at, values, x, y) {
  let path = "", before = null;
  for (let index = 0; index < at.length; index += 1) {
    const value = values[index];
    if (value === null || value === undefined) { before = null; continue; }
    const [px, py] = [x(at[index]).toFixed(1), y(value).toFixed(1)];
    if (before === null) path += `M${px} ${py}`;
    else path += before === py ? `H${px}` : `H${px}V${py}`;
    before = py;
  }
  return path;
}

// The times during which the state is the same, but for those without anything to show.
export function bands(at, states, end) {
  const found = [];
  for (let index = 0; index < at.length; index += 1) {
    const until = index + 1 < at.length ? at[index + 1] : end;
    const last = found[found.length - 1];
    if (last && last.state === states[index]) last.until = until;
    else found.push({ state: states[index], from: at[index], until });
  }
  return found.filter((band) => band.state !== "inactive" && band.state !== "waiting");
}

// Draws lines over time into an SVG element. `lines` are {name, values, className}; `levels` are {value, className}.
export function draw(chart, { at, states, end, lines, levels, label }) {
  const width = chart.clientWidth || 1000;
  const start = at.length ? at[0] : end - 60000;
  const span = Math.max(1000, end - start);
  const largest = Math.max(0, ...lines.flatMap((line) => line.values.filter((value) => value !== null)), ...levels.map((level) => level.value));
  const top = niceEnd(largest);
  const x = (moment) => LEFT + ((moment - start) / span) * (width - LEFT - RIGHT);
  const y = (value) => HEIGHT - BOTTOM - (Math.max(0, value) / top) * (HEIGHT - TOP - BOTTOM);
  const parts = [svg("title", {}, label)];
  for (const band of bands(at, states, end)) {
    const wide = Math.max(1, x(band.until) - x(band.from));
    parts.push(svg("rect", { class: `band ${band.state}`, x: x(band.from), y: TOP, width: wide, height: HEIGHT - TOP - BOTTOM }));
  }
  for (const share of [0, 0.5, 1]) {
    const value = top * share;
    parts.push(svg("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value) }));
    parts.push(svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, number(value)));
  }
  for (const [share, anchor] of [[0, "start"], [0.5, "middle"], [1, "end"]]) {
    const moment = start + span * share;
    parts.push(svg("text", { x: x(moment), y: HEIGHT - 4, "text-anchor": anchor }, time(moment)));
  }
  for (const level of levels) {
    parts.push(svg("line", { class: `line ${level.className}`, x1: LEFT, x2: width - RIGHT, y1: y(level.value), y2: y(level.value) }));
  }
  for (const line of lines) {
    // The last value holds until now.
    const values = [...line.values, line.values[line.values.length - 1]];
    parts.push(svg("path", { class: `line ${line.className}`, d: stepPath([...at, end], values, x, y) }));
  }
  chart.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`);
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", label);
  chart.replaceChildren(...parts);
}

export function newChart() {
  return svg("svg", { class: "chart" });
}

// A small line without axes.
export function spark(path, values, most) {
  const x = (index) => (values.length > 1 ? (index / (values.length - 1)) * 108 + 1 : 1);
  const y = (value) => 24 - (value / Math.max(1, most)) * 22;
  const drawn = stepPath(values.map((_, index) => index), values, x, y);
  if (path.getAttribute("d") !== drawn) path.setAttribute("d", drawn);
}
