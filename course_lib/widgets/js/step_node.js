// Inside one worker: its layers, the buckets that their gradients fill, and the lanes of its step.

import { put, show, svg } from "./dom.js";
import { bar, playhead } from "./step_lanes.js";
import { PANEL, colourOf, panelTitle, text } from "./step_parts.js";
import { doingText } from "./step_scene.js";
import { fill } from "./text.js";

const X = PANEL.x, WIDTH = PANEL.width;

export function nodePanel(story, labels) {
  const layers = story.bucketBytes.length, wide = 104, pitch = (WIDTH - wide) / (layers - 1), whole = 2 * (story.ranks - 1);
  const heading = panelTitle("");
  const blocks = story.bucketBytes.map((_, layer) => {
    const x = X + pitch * layer, bucket = layers - 1 - layer;
    const box = svg("rect", { x, y: 40, width: wide, height: 46, rx: 8 });
    const glow = svg("rect", { class: "course-glow", x, y: 40, width: 0, height: 46, rx: 8 });
    const pail = svg("path", { class: "course-pail", d: `M${x + 22} 122h60l-6 38h-48z` });
    const level = svg("path", { class: "course-level" });
    const words = text(x + wide / 2, 178, "", { "text-anchor": "middle" });
    const drop = svg("path", { class: "course-flow", d: `M${x + wide / 2} 90v26m-5-7l5 7l5-7` });
    const names = [text(x + wide / 2, 68, fill(labels.step_player_layer, { layer: layer + 1 }), { "text-anchor": "middle" }),
                   text(x + wide / 2, 150, bucket + 1, { class: "course-number course-halo", "text-anchor": "middle" })];
    return { x, box, glow, level, words, drop, bucket, nodes: [box, glow, drop, pail, level, ...names, words] };
  });
  const arrows = blocks.slice(1).map(({ x }) => svg("path", { class: "course-flow", d: "" }));
  const lanes = svg("g", {}), head = playhead(0, 0), left = X + 62, width = WIDTH - 70;
  let shown;

  // The lanes of one step of one rank: its work above, its buckets' all-reduces below.
  function lay(worker, step) {
    if (shown === `${worker} ${step}`) return;
    shown = `${worker} ${step}`;
    const phases = story.phases[worker].filter(phase => phase[1] === step), begin = phases[0][3];
    const across = time => left + width * (time - begin) / (phases.at(-1)[4] - begin), y = 214;
    const rings = story.ready[worker][step].map((ready, bucket) => {
      const start = Math.max(ready, bucket ? story.reduced[worker][step][bucket - 1] : ready);
      const [from, to] = [across(start), across(story.reduced[worker][step][bucket])], top = y + 26 + 27 * bucket;
      const all = across(Math.max(start, ...story.ready.map(each => each[step][bucket]))); // no mean before
      return [svg("path", { class: "course-ready", d: `M${across(ready)} ${top - 2}v26` }),
              svg("rect", { class: "course-phase course-phase-wait", x: from, y: top + 2, width: all - from, height: 18 }),
              svg("rect", { class: "course-ringing", x: all, y: top + 2, width: Math.max(1, to - all), height: 18 }),
              text(X, top + 16, fill(labels.step_player_bucket, { bucket: bucket + 1 }))];
    });
    const gate = across(story.gates[step][0]);
    lanes.replaceChildren(text(X, y + 14, labels.step_player_work),
      ...phases.map(phase => bar(phase, across, y, 20)), ...rings.flat(),
      svg("path", { class: "course-gate", d: `M${gate} ${y - 6}v114` }),
      text(Math.min(gate, X + WIDTH - 60), y + 122, labels.step_player_gate, { class: "course-tiny", "text-anchor": "middle" }));
    lanes.across = across;
  }

  function draw(state, worker) {
    const [kind, step, part, share] = state.doing[worker];
    const doing = doingText(labels, kind, part, state.late[worker]);
    put(heading, "text", fill(labels.step_player_title_node, { rank: worker, doing }));
    lay(worker, step);
    const x = Math.min(left + width, Math.max(left, lanes.across(state.time))).toFixed(1);
    put(head, "d", `M${x} 206V326`);
    const reach = kind === "forward" ? share * layers : 0;
    blocks.forEach(({ x, box, glow, level, words, drop, bucket }, layer) => {
      const here = kind === "forward" ? Math.min(1, Math.max(0, reach - layer)) : kind === "backward" && part === layer ? share : 0;
      put(box, "class", `course-layer${kind === "update" ? " course-layer-update" : ""}`);
      put(glow, "width", (104 * here).toFixed(1));
      put(glow, "x", kind === "backward" ? (x + 104 * (1 - here)).toFixed(1) : x);
      put(glow, "fill", colourOf(worker));
      const received = state.buckets[worker][bucket], filling = received < 0 ? here * (kind === "backward") : 1;
      const depth = 34 * filling, slant = 6 * (1 - depth / 38);
      put(level, "d", `M${x + 28} 160h48l${6 - slant} ${-depth}h${-60 + 2 * slant}z`);
      put(level, "fill", received === whole ? "var(--course-mean)" : colourOf(worker));
      show(level, filling);
      put(drop, "opacity", kind === "backward" && part === layer ? 1 : 0.2);
      put(words, "text", bucketText(labels, received, whole));
    });
    arrows.forEach((arrow, index) => {
      const from = X + pitch * index + wide + 6, to = X + pitch * (index + 1) - 6, back = kind === "backward";
      put(arrow, "d", back ? `M${to} 63H${from}m7-5l-7 5l7 5` : `M${from} 63H${to}m-7-5l7 5l-7 5`);
      put(arrow, "opacity", kind === "forward" || back ? 1 : 0.25);
    });
  }
  const names = [["course-phase course-phase-wait", labels.step_player_lacking], ["course-ringing", labels.step_player_ringing]];
  const about = names.flatMap(([look, words], index) => [
    svg("rect", { class: look, x: left + 170 * index, y: 193, width: 18, height: 10 }),
    text(left + 170 * index + 23, 202, words, { class: "course-tiny" }),
  ]);
  return { node: svg("g", {}, heading, ...blocks.flatMap(each => each.nodes), ...arrows, ...about, lanes, head), draw };
}

function bucketText(labels, received, whole) {
  if (received < 0) return labels.step_player_empty;
  if (received === whole) return labels.step_player_mean;
  return received ? fill(labels.step_player_chunks, { received, whole }) : labels.step_player_ready;
}
