// Elements of a page, in one call each.

function build(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

export function html(tag, attributes = {}, ...children) {
  return build(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// A widget's root. JupyterLab binds arrows, space and Enter in outputs: keys meant for a control stay here.
// Escape leads back to the cell, where JupyterLab's keys hold; space on a slider does not scroll it out of sight.
export function root(el, ...children) {
  const keep = event => {
    if (event.key === "Escape") return el.closest(".jp-Cell")?.focus();
    if (event.key === " " && event.target.type === "range") event.preventDefault();
    if (!event.ctrlKey && !event.metaKey && !event.altKey) event.stopPropagation();
  };
  el.classList.add("course");
  el.append(html("div", { class: "course-root", onkeydown: keep }, ...children));
}

// Write an attribute, the "text", or a style ("display", "fill", "stroke", "opacity"), only where it differs from
// what was put there before: most of a picture stays as it is from one frame to the next.
const STYLES = new Set(["display", "fill", "stroke", "opacity"]), written = new WeakMap();

export function put(node, name, value) {
  if (!written.has(node)) written.set(node, {});
  const before = written.get(node);
  if (before[name] === value) return;
  before[name] = value;
  if (name === "text") node.textContent = value;
  else if (STYLES.has(name)) node.style[name] = value;
  else node.setAttribute(name, value);
}

export const show = (node, shown) => put(node, "display", shown ? "" : "none");

// Text that is written only when it differs, so that a screen reader speaks once.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
