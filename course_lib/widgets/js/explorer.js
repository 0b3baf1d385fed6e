// A law to explore: controls, a chart, the result in words, and a table of what was pinned to compare.

import { html, root, say } from "./dom.js";
import { pinControls } from "./controls.js";
import { DASHES, swatch } from "./chart.js";

const COLOURS = [0, 5, 2, 6, 3, 7]; // of ranks, those that stand out from a white page

export const lineStyle = index => ({
  letter: "ABCDEF"[index], dash: DASHES[index], colour: `var(--course-rank-${COLOURS[index]})`,
});

// controls: {node, update}. picture(states) gives a chart, result(state) a sentence, row(state) the table's
// cells. States: what is set now, then the pins. pinned: the traits that a pin keeps. mark: how a line looks.
export function explorer({ model, el, controls, picture, result, columns, row, pinned, mark = swatch }) {
  const labels = model.get("labels"), traits = Object.keys(model.get("initial"));
  const read = () => Object.fromEntries(traits.map(name => [name, model.get(name)]));

  const pins = pinControls(model, pinned, DASHES.length - 1);

  const stage = html("div", { class: "course-stage" });
  const status = html("p", { class: "course-result", role: "status", "aria-live": "polite" });
  const heads = ["", ...columns, ""].map(text => html("th", { scope: "col" }, text));
  const rows = html("tbody");

  function tableRow(state, index) {
    const { letter, dash, colour } = lineStyle(index);
    return html("tr", {},
      html("th", { scope: "row" }, letter, " ", mark(dash, colour)),
      ...row(state).map(text => html("td", {}, text)),
      html("td", {}, index ? pins.unpin(index - 1, letter) : labels.widget_now));
  }

  function update() {
    const now = read(), states = [now, ...now.pins.map(kept => ({ ...now, ...kept }))];
    controls.forEach(control => control.update());
    pins.update();
    say(status, result(now));
    stage.replaceChildren(picture(states));
    rows.replaceChildren(...states.map(tableRow));
  }

  root(el,
    html("div", { class: "course-columns" },
      html("div", { class: "course-controls" }, ...controls.map(control => control.node)),
      html("div", { class: "course-figure" }, stage, status, html("div", { class: "course-buttons" }, ...pins.nodes))),
    html("table", { class: "course-table" }, html("thead", {}, html("tr", {}, ...heads)), rows));
  model.on("change", update);
  update();
  return () => model.off("change", update);
}
