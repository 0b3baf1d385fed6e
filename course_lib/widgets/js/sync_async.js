// Ways to run SGD side by side: lanes of workers above, the loss by two counts below. Python computes, this draws.

import { assign, button, checks, geometric, linear, pinControls, select, traitSlider } from "./controls.js";
import { swatch } from "./chart.js";
import { html, root, say, svg } from "./dom.js";
import { exactText, numberText, percentText } from "./text.js";
import { markerPath, waysFigure } from "./ways_figure.js";

const MOST_PINS = 3, UNPINNED = ["target", "axis", "pins"];
const COLUMNS = ["round", "waiting", "staleness", "late", "end", "updates", "gradients", "seconds"];

function render({ model, el }) {
  const labels = model.get("labels"), styles = model.get("styles"), ways = model.get("all_ways");
  const presets = model.get("presets");
  const controls = allControls(model, labels), spread = controls[3].node;
  const shownWays = checks(model, "ways", labels.sync_async_ways,
    ways.map(way => [way, html("span", {}, waySwatch(styles[way]), ` ${labels[`way_${way}`]}`)]));
  const choose = Object.entries(presets).map(([name, state]) =>
    button(labels[`sync_async_preset_${name}`], () => assign(model, state)));

  const pinned = Object.keys(model.get("initial")).filter(name => !UNPINNED.includes(name));
  const pins = pinControls(model, pinned, MOST_PINS);

  const stage = html("div", { class: "course-stage" });
  const status = html("p", { class: "course-result", role: "status", "aria-live": "polite" });
  const heads = ["", ...COLUMNS.map(name => labels[`sync_async_column_${name}`])];
  const table = html("table", { class: "course-table" });

  function runRows({ letter, text, rows }, index) {
    const about = index ? pins.unpin(index - 1, letter) : `(${labels.widget_now})`;
    return html("tbody", {},
      html("tr", {}, html("th", { scope: "rowgroup", class: "course-run", colspan: heads.length },
                          `${letter} `, about, `: ${text}`)),
      ...rows.map(([way, ...cells]) => html("tr", {},
        html("th", { scope: "row" }, waySwatch(styles[way], index), ` ${labels[`way_${way}`]}`),
        ...cells.map(text => html("td", {}, text)))));
  }

  let drawn;
  function update() {
    [...controls, shownWays].forEach(control => control.update());
    const spreading = model.get("kinds")[model.get("kind")];
    spread.querySelectorAll("input").forEach(input => { input.disabled = !spreading; });
    pins.update();
    const shown = model.get("shown"), axis = model.get("axis");
    if (drawn?.shown === shown && drawn.axis === axis) return; // Python has not answered yet
    drawn = { shown, axis };
    say(status, shown.said);
    stage.replaceChildren(waysFigure(shown, axis, styles, labels));
    table.replaceChildren(
      html("thead", {}, html("tr", {}, ...heads.map(text => html("th", { scope: "col" }, text)))),
      ...shown.runs.map(runRows));
  }

  root(el,
    html("div", { class: "course-buttons" }, html("span", {}, labels.sync_async_presets), ...choose,
         html("span", { class: "course-space" }), ...pins.nodes),
    shownWays.node,
    html("div", { class: "course-columns" },
      html("div", { class: "course-controls course-pairs" }, ...controls.map(control => control.node)),
      html("div", { class: "course-figure" }, stage)),
    status, table);
  model.on("change", update);
  update();
  return () => model.off("change", update);
}

function waySwatch({ dash, marker, colour }, thin) {
  const line = swatch(dash, `var(--course-rank-${colour})`);
  if (!thin) line.append(svg("path", { class: "course-marker", d: markerPath(marker, 18, 4),
                                       style: `stroke: var(--course-rank-${colour})` }));
  return line;
}

function allControls(model, labels) {
  const number = (name, scale, low, high, text = exactText, whole = false) =>
    traitSlider(model, name, { label: labels[`sync_async_${name}`], scale, text, low, high, whole });
  const whole = (name, low, high, most = high) => number(name, linear(low, high, 1), low, most, numberText, true);
  const kinds = Object.keys(model.get("kinds")).map(kind => [kind, labels[`ways_kind_${kind}`]]);
  const rules = ["divided", "same"].map(rule => [rule, labels[`sync_async_${rule}`]]);
  const axes = ["updates", "gradients"].map(axis => [axis, labels[`ways_against_${axis}`]]);
  return [
    whole("workers", 2, 16),
    whole("seed", 0, 99, 1e6),
    select(model, "kind", labels.sync_async_kind, kinds),
    number("spread", linear(0, 1, 0.05), 0, 1),
    number("slow", linear(1, 10, 0.5), 1, 10),
    number("noise", linear(0, 2, 0.1), 0, 10),
    number("latency", linear(0, 1, 0.02), 0, 10),
    number("transfer", linear(0, 1, 0.02), 0, 10),
    number("rate", geometric(0.01, 3), 1e-6, 1e6),
    select(model, "rule", labels.sync_async_rule, rules),
    whole("slack", 0, 16, 100),
    whole("extra", 0, 8),
    whole("period", 1, 16),
    number("target", geometric(1e-3, 0.5), 1e-6, 0.9, percentText),
    select(model, "axis", labels.sync_async_axis, axes),
  ];
}

export default { render };
