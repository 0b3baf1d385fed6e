// Questions one at a time. What is right is known to Python alone, until an answer has been sent.

import { html, root, say } from "./dom.js";
import { button, disable } from "./controls.js";
import { fill } from "./text.js";

let groups = 0;
const drafts = new Map(); // what was chosen or typed; of the widget, whose views come and go while one scrolls

function render({ model, el }) {
  const labels = model.get("labels");
  const title = html("strong", {}, model.get("title"));
  const place = html("span", { role: "status", "aria-live": "polite" });
  const points = html("span", { class: "course-quiz-points" });
  const previous = button(labels.quiz_previous, () => go(-1)), next = button(labels.quiz_next, () => go(1));
  const restart = button(labels.quiz_restart, () => {
    forget();
    model.send({ do: "reset" });
    update();
  });
  const form = html("form", { novalidate: true, onsubmit: event => {
    event.preventDefault();
    send();
  } });
  const verdict = html("p", { class: "course-result", "aria-live": "polite", role: "status" });
  const after = html("div", { class: "course-quiz-after" });
  let asked, state, answered = 0; // the question shown, in which state; how many answers Python has graded

  const question = () => model.get("questions")[model.get("current")];
  const result = () => model.get("results")[question().id];
  const guide = () => model.get("guides")[question().id];

  function go(by) {
    model.set("current", Math.max(0, Math.min(model.get("questions").length - 1, model.get("current") + by)));
    model.save_changes();
    update();
  }

  function send() {
    const { id, kind } = question();
    if (result()) return;
    if (kind === "open" && !guide()) model.send({ do: "guide", id });
    else model.send({ do: "submit", id, answer: asked.read() });
  }

  function forget() {
    drafts.clear();
    state = undefined;
  }

  function update() {
    const before = answered;
    answered = Object.keys(model.get("results")).length;
    if (answered < before) forget();
    const { id, kind } = question(), known = result(), count = model.get("questions").length;
    say(place, fill(labels.quiz_progress, { number: model.get("current") + 1, count }));
    say(points, model.get("points"));
    disable(previous, model.get("current") === 0);
    disable(next, model.get("current") === count - 1);
    const now = JSON.stringify([id, Boolean(known), Boolean(guide())]);
    if (now !== state) {
      const had = form.contains(document.activeElement);
      state = now;
      asked = ask(question(), known, guide(), labels);
      form.replaceChildren(asked.node, ...(known ? [] : [html("button", { type: "submit" }, caption(kind))]));
      if (had) (known ? next : form.querySelector("input, textarea"))?.focus();
    }
    say(verdict, known ? known.feedback : model.get("hints")[id] ?? "");
    verdict.classList.toggle("course-quiz-hint", !known);
    after.replaceChildren(...(known ? explained(known, labels) : []));
  }

  const caption = kind => kind !== "open" ? labels.quiz_submit : guide() ? labels.quiz_mark : labels.quiz_show_guide;

  root(el, html("section", { class: "course-quiz", "aria-label": model.get("title") || undefined },
    html("div", { class: "course-buttons" }, title, place, previous, next,
         html("span", { class: "course-space" }), points, restart),
    form, verdict, after));
  model.on("change", update);
  update();
  return () => model.off("change", update);
}

function ask(question, known, guide, labels) {
  if (question.kind === "number") return number(question, known, labels);
  if (question.kind === "open") return open(question, known, guide, labels);
  return options(question, known, labels);
}

function options(question, known, labels) {
  const several = question.kind === "multiple", name = `course-quiz-${++groups}`;
  const chosen = known?.given ?? drafts.get(question.id) ?? [];
  const boxes = question.options.map(([letter]) => html("input", {
    type: several ? "checkbox" : "radio", name, value: letter, checked: chosen.includes(letter),
    disabled: Boolean(known), onchange: () => drafts.set(question.id, read()),
  }));
  const read = () => boxes.filter(box => box.checked).map(box => box.value);
  const rows = question.options.map(([letter, text], index) => {
    const marks = [known?.right.includes(letter) && labels.quiz_is_right,
                   known && chosen.includes(letter) && labels.quiz_yours].filter(Boolean);
    return html("div", { class: "course-quiz-option" },
      html("label", {}, boxes[index], html("span", {}, text)),
      ...(marks.length ? [html("em", {}, `← ${marks.join(", ")}`)] : []),
      ...(known ? [html("div", { class: "course-quiz-why" }, known.why[letter])] : []));
  });
  return { node: html("fieldset", {}, legend(question, labels, several), ...rows), read };
}

function number(question, known, labels) {
  const field = html("input", {
    type: "text", inputmode: "text", autocomplete: "off", size: 14, maxlength: 250,
    value: drafts.get(question.id) ?? known?.given ?? "", disabled: Boolean(known),
    oninput: () => drafts.set(question.id, field.value),
  });
  const label = html("label", {}, `${labels.quiz_your_number} `, field, ` ${question.unit}`);
  return { node: html("fieldset", {}, legend(question, labels), label), read: () => field.value };
}

function open(question, known, guide, labels) {
  const field = html("textarea", { rows: 5, oninput: () => drafts.set(question.id, field.value) });
  field.value = drafts.get(question.id) ?? "";
  const label = html("label", { class: "course-quiz-text" }, html("span", {}, labels.quiz_your_text), field);
  const node = html("fieldset", {}, legend(question, labels), label);
  if (!guide) return { node, read: () => [] };
  const ticked = known?.given ?? drafts.get(`${question.id} guide`) ?? [];
  const boxes = guide.map((_, index) => html("input", {
    type: "checkbox", checked: ticked.includes(index + 1), disabled: Boolean(known),
    onchange: () => drafts.set(`${question.id} guide`, read()),
  }));
  const read = () => boxes.map((box, index) => box.checked ? index + 1 : 0).filter(Boolean);
  const rows = guide.map((point, index) => html("div", { class: "course-quiz-option" },
    html("label", {}, boxes[index], html("span", {}, point))));
  node.append(html("fieldset", {}, html("legend", {}, labels.quiz_guide), ...rows));
  return { node, read };
}

function legend(question, labels, several = false) {
  return html("legend", {}, html("b", {}, `${question.id}. `), question.text, " ",
    html("small", {}, `(${question.about})`), ...(several ? [html("small", {}, ` ${labels.quiz_all}`)] : []));
}

function explained(known, labels) {
  const part = (head, ...rest) => html("p", {}, html("b", {}, head), " ", ...rest);
  const place = () => html("a", { href: known.link, target: "_blank", rel: "noopener" }, known.proof);
  return [
    ...(known.working ? [html("p", {}, known.working)] : []),
    ...(known.note ? [part(labels.quiz_arguable, known.note)] : []),
    ...(known.link ? [part(labels.quiz_where, place())] : []),
  ];
}

export default { render };
