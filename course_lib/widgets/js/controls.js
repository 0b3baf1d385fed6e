// Form controls bound to traits of the model. Each is {node, update}: update shows what the model has.

import { html } from "./dom.js";
import { exactText, fill } from "./text.js";

// Set a trait: the picture follows at once, the kernel when it is free.
export function assign(model, values) {
  model.set(values);
  model.save_changes();
}

// Positions of a slider that grow by equal factors: 1, 1.2, 1.5, 2 … of each decade from low to high.
export function geometric(low, high, whole = false) {
  const values = [];
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.log10(high); decade++) {
    for (const mantissa of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]) {
      const value = Number(`${mantissa}e${decade}`);
      if (value >= low && value <= high && !(whole && value % 1)) values.push(value);
    }
  }
  return listed(values);
}

export function listed(values) {
  const distance = (value, index) => Math.abs(Math.log(values[index] / value));
  const closer = value => (best, _, index) => distance(value, index) < distance(value, best) ? index : best;
  return {
    min: 0, max: values.length - 1, step: 1,
    valueAt: position => values[position],
    positionOf: value => value > 0 ? values.reduce(closer(value), 0) : 0,
  };
}

export function linear(min, max, step) {
  return { min, max, step, valueAt: position => position, positionOf: value => value };
}

// A slider for the hand beside a field for exact values. `unit` is how much of the trait is 1 in the field.
export function slider(get, set, { label, scale, text, unit = 1, low, high, whole = false }) {
  const range = html("input", {
    type: "range", min: scale.min, max: scale.max, step: scale.step,
    oninput: () => set(scale.valueAt(Number(range.value))),
  });
  const field = html("input", {
    type: "number", min: low / unit, max: high / unit, step: "any", "aria-label": label,
    onkeydown: nudge,
    oninput: () => {
      const value = Number((field.valueAsNumber * unit).toPrecision(15));
      const good = value >= low && value <= high && !(whole && value % 1);
      mark(good ? "" : `${exactText(low / unit)} … ${exactText(high / unit)}`);
      if (good) set(value);
    },
    onblur: () => update(),
  });
  // What is allowed, in the browser's own bubble; nothing if all is well.
  function mark(allowed) {
    field.setAttribute("aria-invalid", String(allowed !== ""));
    field.setCustomValidity(allowed);
    if (allowed) field.reportValidity();
  }
  function update() {
    const value = get();
    range.value = scale.positionOf(value);
    range.setAttribute("aria-valuetext", text(value));
    if (document.activeElement !== field) show(); // else somebody is typing
  }
  function show() {
    field.value = Number((get() / unit).toPrecision(6));
    mark("");
  }
  // The browser's own step is 1, more than the whole range of many a fraction: there an arrow moves the slider.
  function nudge(event) {
    const by = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (whole || !by) return;
    event.preventDefault();
    range.stepUp(by);
    range.dispatchEvent(new Event("input"));
    show();
  }
  const node = html("div", { class: "course-slider" }, html("label", {}, html("span", {}, label), range), field);
  return { node, update };
}

// A slider for one trait.
export function traitSlider(model, name, options) {
  return slider(() => model.get(name), value => assign(model, { [name]: value }), options);
}

// A drop-down list; options are [value, text]. read: the trait's value from the text that the list has.
export function select(model, name, label, options, read = text => text) {
  const entries = options.map(([value, text]) => html("option", { value }, text));
  const list = html("select", { onchange: () => assign(model, { [name]: read(list.value) }) }, ...entries);
  const node = html("label", { class: "course-select" }, html("span", {}, label), list);
  return { node, list, update: () => { list.value = model.get(name); } };
}

// Radio buttons; options are [value, text].
export function radios(model, name, label, options) {
  const group = `course-${Math.random().toString(36).slice(2)}`;
  const buttons = options.map(([value]) => html("input", {
    type: "radio", name: group, value, onchange: () => assign(model, { [name]: value }),
  }));
  const labels = options.map(([, text], index) => html("label", {}, buttons[index], html("span", {}, text)));
  const node = html("fieldset", { class: "course-radios" }, html("legend", {}, label), ...labels);
  const update = () => buttons.forEach(button => { button.checked = button.value === model.get(name); });
  return { node, update };
}

// Tick boxes for a list of some of `options`, [value, node]; the last one ticked stays.
export function checks(model, name, label, options) {
  const chosen = () => options.map(([value]) => value).filter((_, index) => boxes[index].checked);
  const boxes = options.map(() => html("input", { type: "checkbox", onchange: () => assign(model, { [name]: chosen() }) }));
  const labels = options.map(([, node], index) => html("label", {}, boxes[index], node));
  const node = html("fieldset", { class: "course-checks" }, html("legend", {}, label), ...labels);
  const update = () => options.forEach(([value], index) => {
    const ticked = model.get(name);
    boxes[index].checked = ticked.includes(value);
    boxes[index].disabled = ticked.length === 1 && ticked[0] === value;
  });
  return { node, update };
}

export function button(text, onclick, label) {
  const click = () => node.getAttribute("aria-disabled") !== "true" && onclick();
  const node = html("button", { type: "button", onclick: click, "aria-label": label, title: label }, text);
  return node;
}

// A button that cannot be used keeps its place in the order of tabs, and the focus.
export function disable(node, off) {
  node.setAttribute("aria-disabled", String(off));
}

// Buttons that pin what is set now, and that go back to the start; unpin makes the one that takes a pin away.
// names: the traits that a pin keeps. most: how many pins there may be.
export function pinControls(model, names, most) {
  const labels = model.get("labels");
  const pin = button(labels.widget_pin, () => {
    const kept = Object.fromEntries(names.map(name => [name, model.get(name)]));
    assign(model, { pins: [...model.get("pins"), kept] });
  });
  const reset = button(labels.widget_reset, () => assign(model, model.get("initial")));
  const unpin = (number, letter) => button("×", () => {
    assign(model, { pins: model.get("pins").filter((_, index) => index !== number) });
    pin.focus();
  }, fill(labels.widget_unpin, { letter }));
  return { nodes: [pin, reset], unpin, update: () => disable(pin, model.get("pins").length >= most) };
}

// Two controls side by side.
export function pair(left, right) {
  const node = html("div", { class: "course-pair" }, left.node, right.node);
  return { node, update: () => { left.update(); right.update(); } };
}
