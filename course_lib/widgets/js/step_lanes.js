// Lanes of time: all ranks' under the class, one rank's inside it. The gate is where the last gradient was ready.

import { put, svg } from "./dom.js";
import { colourOf } from "./step_parts.js";
import { secondsText } from "./text.js";

// story -> a strip of K lanes over the whole run, at (x, y).
export function classLanes(story, labels, { x, y, width, lane }) {
  const across = time => x + width * time / story.seconds, bottom = y + lane * story.ranks;
  const bars = story.phases.flatMap((phases, rank) => phases.map(phase => bar(phase, across, y + lane * rank + 1, lane - 2)));
  const every = story.ranks > 6 ? 2 : 1;
  const names = story.phases.map((_, rank) => rank % every ? "" :
    svg("text", { class: "course-tiny", x: x - 6, y: y + lane * (rank + 0.5) + 4, "text-anchor": "end" }, rank));
  const gates = story.gates.flatMap(([time]) => [
    svg("line", { class: "course-gate", x1: across(time), x2: across(time), y1: y - 4, y2: bottom + 3 }),
    svg("path", { class: "course-gate-mark", d: `M${across(time) - 4} ${y - 9}h8l-4 6z` }),
  ]);
  const head = playhead(y - 4, bottom + 3);
  const now = svg("text", { class: "course-tiny", y: bottom + 14, "text-anchor": "middle" });
  const node = svg("g", {}, ...bars, ...names, ...gates, head, now);
  function draw(time) {
    const at = across(time).toFixed(1);
    put(head, "d", `M${at} ${y - 6}V${bottom + 4}`);
    put(now, "x", Math.min(x + width - 24, Math.max(x + 20, at)));
    put(now, "text", secondsText(time));
  }
  return { node, draw, bottom };
}

export function bar([kind, , part, start, stop], across, y, height) {
  const width = Math.max(0.4, across(stop) - across(start));
  return svg("rect", { class: `course-phase course-phase-${kind}`, x: across(start), y, width, height });
}

export const playhead = (y1, y2) => svg("path", { class: "course-playhead", d: `M0 ${y1}V${y2}` });

// Waiting is hatched, also for those who see no colours; a mean has the colours of all `ranks`. Definitions with
// names of their own, and the style by which the rules find them.
export function fillings(ranks) {
  const id = `course-${Math.random().toString(36).slice(2)}`;
  const lines = svg("path", { class: "course-hatch", d: "M-2 2L2-2M0 8L8 0M6 10L10 6" });
  const ground = svg("rect", { width: 8, height: 8, fill: "var(--course-phase-wait)" });
  const pattern = svg("pattern", { id, width: 8, height: 8, patternUnits: "userSpaceOnUse" }, ground, lines);
  const stops = Array.from({ length: ranks }, (_, rank) => [rank, rank + 1].map(edge => {
    const stop = svg("stop", { offset: edge / ranks });
    stop.style.stopColor = colourOf(rank);
    return stop;
  }));
  const mean = svg("linearGradient", { id: `${id}-mean` }, ...stops.flat());
  return { definitions: svg("defs", {}, pattern, mean), style: `--course-waiting: url(#${id}); --course-mean: url(#${id}-mean)` };
}

// The phases and their names in a row.
export function legend(labels, kinds, x, y, pitch) {
  return kinds.flatMap((kind, index) => [
    svg("rect", { class: `course-phase course-phase-${kind}`, x: x + pitch * index, y: y - 9, width: 18, height: 10 }),
    svg("text", { class: "course-tiny", x: x + pitch * index + 23, y }, labels[`step_player_phase_${kind}`]),
  ]);
}
