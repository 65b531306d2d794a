// Numbers and times as text, and elements.

export function number(value) {
  if (value === null || value === undefined) return "unknown";
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return String(Number(value.toFixed(digits)));
}

// UTC, as all times of Kedge.
export function time(milliseconds) {
  return new Date(milliseconds).toISOString().slice(11, 19);
}

export function day(milliseconds) {
  return new Date(milliseconds).toISOString().slice(0, 10);
}

export function duration(milliseconds) {
  const seconds = Math.max(0, Math.round(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

// An element with attributes and children. Texts are texts, never markup.
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Sets a text only where it differs: then nothing is laid out again.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
