// Takes a guess: radio buttons, or a number with its unit. In a lecture: a show of hands.

import { html, root, say } from "./dom.js";
import { assign, button, disable, radios } from "./controls.js";
import { fill } from "./text.js";

function render({ model, el }) {
  const labels = model.get("labels"), choices = model.get("choices");
  const asked = choices.length ? radios(model, "guess", model.get("title"), choices.map(choice => [choice, choice]))
                               : number(model, labels);
  const clear = button(labels.prediction_clear, () => assign(model, { guess: null }));
  const status = html("span", { role: "status", "aria-live": "polite" });
  const counters = choices.map(choice => hands(model, labels, choice));

  function update() {
    const guess = model.get("guess"), locked = model.get("locked");
    asked.update();
    for (const input of asked.node.querySelectorAll("input")) input.disabled = locked;
    disable(clear, guess === null || locked);
    const made = locked ? labels.prediction_locked : labels.prediction_made;
    say(status, guess === null ? labels.prediction_none : fill(made, { guess: `${guess} ${model.get("unit")}`.trim() }));
    counters.forEach(counter => counter.update());
  }

  root(el, html("div", { class: "course-guess" }, asked.node, status, clear));
  if (choices.length) {
    el.firstChild.append(html("details", {}, html("summary", {}, labels.prediction_hands),
                              ...counters.map(counter => counter.node)));
  }
  model.on("change", update);
  update();
  return () => model.off("change", update);
}

function number(model, labels) {
  const field = html("input", {
    type: "number", step: "any",
    oninput: () => assign(model, { guess: Number.isFinite(field.valueAsNumber) ? field.valueAsNumber : null }),
  });
  const node = html("label", {}, html("strong", {}, model.get("title")), field,
                    model.get("unit") || labels.prediction_number);
  const update = () => {
    if (document.activeElement !== field) field.value = model.get("guess") ?? "";
  };
  return { node, update };
}

function hands(model, labels, choice) {
  const count = html("output", { "aria-live": "polite" });
  const add = by => assign(model, {
    hands: { ...model.get("hands"), [choice]: Math.max(0, model.get("hands")[choice] + by) },
  });
  const node = html("span", { class: "course-hands" }, choice,
    button("−", () => add(-1), fill(labels.prediction_fewer, { choice })), count,
    button("+", () => add(1), fill(labels.prediction_more, { choice })));
  return { node, update: () => say(count, String(model.get("hands")[choice])) };
}

export default { render };
