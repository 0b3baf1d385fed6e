// A puzzle class at work: the class in a ring, a panel of the mode chosen, and the lanes of the whole run.

import { html, put, show, svg } from "./dom.js";
import { assign, button, geometric, linear, radios, select, traitSlider } from "./controls.js";
import { player } from "./player.js";
import { classLanes, fillings, legend } from "./step_lanes.js";
import { panels } from "./step_panels.js";
import { digitPictures } from "./step_parts.js";
import { doingText, listed, scene } from "./step_scene.js";
import { stateAt } from "./step_state.js";
import { bandwidthText, bytesText, fill, numberText, secondsText } from "./text.js";

const WIDTH = 960, LANES = 366, KINDS = ["load", "forward", "backward", "wait", "update"];

function render({ model, el }) {
  const labels = model.get("labels"), stage = html("div", { class: "course-class" });
  const settings = controls(model, labels);
  const modes = radios(model, "mode", labels.step_player_mode, Object.keys(panels).map(mode => [mode, labels[`step_player_${mode}`]]));
  modes.node.classList.add("course-tabs");
  const worker = select(model, "worker", labels.step_player_worker, [], Number);
  let built, picture, shown, urls, said = {};

  function build(story) {
    built = story;
    urls = digitPictures(story.images);
    const lane = Math.min(10, 56 / story.ranks);
    shown = {
      scene: scene(story, labels, urls, rank => assign(model, { worker: rank, mode: "node" })),
      panels: Object.fromEntries(Object.entries(panels).map(([mode, make]) => [mode, make(story, labels, urls)])),
      lanes: classLanes(story, labels, { x: 40, y: LANES, width: WIDTH - 56, lane }),
    };
    const bottom = shown.lanes.bottom + 16;
    const filled = fillings(story.ranks);
    picture = svg("svg", { class: "course-chart course-step", viewBox: `0 0 ${WIDTH} ${bottom + 14}`, role: "img", style: filled.style },
      filled.definitions, svg("rect", { class: "course-board", x: 506, y: 2, width: 452, height: 345, rx: 8 }),
      shown.scene.node, ...Object.values(shown.panels).map(panel => panel.node), shown.lanes.node,
      ...legend(labels, KINDS, 40, bottom + 10, 104),
      svg("text", { class: "course-tiny", x: WIDTH - 16, y: bottom + 10, "text-anchor": "end" }, labels.step_player_gate_legend));
    stage.replaceChildren(picture);
    worker.list.replaceChildren(...story.phases.map((_, rank) => html("option", { value: rank }, rank)));
  }

  function draw(frame, time) {
    const story = model.get("tables"), mode = model.get("mode");
    if (story !== built) build(story);
    const state = stateAt(story, time), who = Math.min(model.get("worker"), story.ranks - 1);
    put(picture, "data-mode", mode);
    put(picture, "aria-label", textOf(frame));
    shown.scene.draw(state, mode, who);
    Object.entries(shown.panels).forEach(([name, panel]) => {
      show(panel.node, name === mode);
      if (name === mode) panel.draw(state, who);
    });
    shown.lanes.draw(time);
  }

  function textOf(frame, moving = model.get("playing")) {
    const story = model.get("tables"), time = model.get("times")[frame];
    if (said.story !== story || said.time !== time || said.moving !== moving) {
      said = { story, time, moving, text: inWords(labels, story, stateAt(story, time), moving) };
    }
    return said.text;
  }

  function update() {
    modes.update();
    show(worker.node, model.get("mode") === "node");
    settings.update();
    worker.update();
  }

  const head = html("div", { class: "course-head" }, modes.node, worker.node, html("span", { class: "course-space" }), settings.presets);
  const end = player({ model, el, stage: html("div", {}, head, stage), draw, textOf, below: settings.node });
  const names = ["mode", "worker", "ranks", "width", "bandwidth", "slow", "tables"].map(name => `change:${name}`);
  names.forEach(name => model.on(name, update));
  update();
  return () => {
    names.forEach(name => model.off(name, update));
    end();
  };
}

// What is played: a preset, or K, gradient, link and a slow worker. A story of real processes has none of it.
function controls(model, labels) {
  if (model.get("given")) {
    return { node: html("p", { class: "course-given" }, labels.step_player_given), presets: "", update() {} };
  }
  const sizes = model.get("sizes"), widths = model.get("widths");
  const parts = [
    traitSlider(model, "ranks", { label: labels.step_player_ranks, scale: linear(2, 8, 1),
                                  text: String, low: 2, high: 8, whole: true }),
    select(model, "width", labels.step_player_gradient, widths.map((width, index) => [width, bytesText(sizes[index])]), Number),
    traitSlider(model, "bandwidth", { label: labels.step_player_bandwidth, scale: geometric(0.2e6, 50e6), unit: 1e6,
                                      text: bandwidthText, low: 0.2e6, high: 50e6 }),
    select(model, "slow", labels.step_player_slow, [], Number),
  ];

  const presets = Object.entries(model.get("presets")).map(([name, values]) =>
    button(labels[`step_player_preset_${name}`], () => assign(model, values)));
  const reset = button(labels.widget_reset, () => assign(model, model.get("initial")));
  function update() {
    const ranks = model.get("ranks"), list = parts[3].list;
    if (list.length !== ranks + 1) {
      list.replaceChildren(html("option", { value: -1 }, labels.step_player_nobody),
        ...Array.from({ length: ranks }, (_, rank) => html("option", { value: rank }, rank)));
    }
    parts.forEach(part => part.update());
  }
  const node = html("div", { class: "course-settings course-row" }, ...parts.map(part => part.node), reset);
  return { node, presets: html("div", { class: "course-buttons" }, ...presets), update };
}

// As widgets/step_player.py says it; while it moves, without the time and the bytes, which the picture shows.
function inWords(labels, story, state, moving = false) {
  const groups = new Map();
  state.doing.forEach(([kind, , part], rank) => {
    const words = doingText(labels, kind, part, state.late[rank]);
    groups.set(words, [...groups.get(words) ?? [], rank]);
  });
  const doing = [...groups].map(([words, ranks]) => `${listed(ranks, 8)}: ${words}`).join("; ");
  const step = Math.min(...state.doing.map(([, step]) => step)) + 1;
  const sent = state.links.reduce((sum, [arrived]) => sum + arrived, 0);
  return fill(moving ? labels.step_player_playing : labels.step_player_said, {
    step, steps: story.steps, time: secondsText(state.time), doing,
    sent: bytesText(sent), loss: numberText(state.losses.at(-1)),
  });
}

export default { render };
