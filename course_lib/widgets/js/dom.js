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
export function root(el, ...children) {
  const keep = event => {
    if (!event.ctrlKey && !event.metaKey && !event.altKey && event.key !== "Escape") event.stopPropagation();
  };
  el.classList.add("course");
  el.append(html("div", { class: "course-root", onkeydown: keep }, ...children));
}

// Text that is written only when it differs, so that a screen reader speaks once.
export function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
