// The lanes of a Run under a play head; at the right what each rank does, and whom it waits for.

import { linearTicks } from "./chart.js";
import { svg } from "./dom.js";
import { player } from "./player.js";
import { numberText } from "./text.js";

const WIDTH = 900, LEFT = 70, RIGHT = 650, TOP = 34, FEW = 64; // lines of more messages would hide the lanes
// Where in its lane a kind lies, as shares of the height: so that phases differ without colour.
const PLACES = { compute: [0, 1], send: [0, 0.5], recv: [0.5, 0.5], wait: [0.25, 0.5], collective: [0, 1] };

function render({ model, el }) {
  const ranks = model.get("ranks"), axis = model.get("axis"), kinds = model.get("kinds");
  const height = ranks <= 8 ? 34 : 22, bottom = TOP + height * ranks, hatch = patterns();
  const across = seconds => LEFT + (RIGHT - LEFT) * seconds / axis.seconds;
  const middle = rank => TOP + height * (rank + 0.5);

  const bars = model.get("spans").map(([rank, kind, start, stop]) =>
    bar(kind, across(start), TOP + height * rank + 3, across(stop) - across(start), height - 6, hatch));
  const messages = model.get("messages");
  const lines = messages.map(([source, target, start, stop]) => svg("line", {
    class: "course-message", x1: across(start), y1: middle(source), x2: across(stop), y2: middle(target),
  }));
  const doing = Array.from({ length: ranks }, (_, rank) => svg("text", { x: RIGHT + 12, y: middle(rank) + 5 }));
  const names = doing.map((_, rank) => svg("text", { x: LEFT - 8, y: middle(rank) + 5, "text-anchor": "end" },
                                           model.get("labels").timeline_player_rank.replace("{rank}", rank)));
  const veil = svg("rect", { class: "course-future", y: TOP, height: bottom - TOP });
  const head = svg("line", { class: "course-playhead", y1: TOP - 6, y2: bottom + 4 });
  const picture = svg("svg", { class: "course-chart", viewBox: `0 0 ${WIDTH} ${bottom + 46}`, role: "img" },
    hatch.definitions, ...legend(kinds, hatch), ...ticks(), ...bars, veil, ...lines, head, ...names, ...doing);

  function ticks() {
    const texts = linearTicks(0, axis.seconds / axis.factor).flatMap(tick => {
      const x = across(tick * axis.factor);
      return [svg("line", { class: "course-grid", x1: x, x2: x, y1: TOP, y2: bottom }),
              svg("text", { x, y: bottom + 18, "text-anchor": "middle" }, numberText(tick))];
    });
    const x = (LEFT + RIGHT) / 2;
    return [...texts, svg("text", { class: "course-title", x, y: bottom + 38, "text-anchor": "middle" }, axis.label)];
  }

  function draw(frame, time) {
    const x = across(time), words = model.get("doing")[frame], waiting = model.get("waiting")[frame];
    head.setAttribute("x1", x);
    head.setAttribute("x2", x);
    veil.setAttribute("x", x);
    veil.setAttribute("width", Math.max(0, RIGHT - x));
    doing.forEach((text, rank) => {
      text.textContent = words[rank];
      text.setAttribute("class", waiting.includes(rank) ? "course-waits" : "");
    });
    messages.forEach(([, , start, stop], index) => {
      const flying = start <= time && time < stop, shown = flying || (messages.length <= FEW && start <= time);
      lines[index].style.display = shown ? "" : "none";
      lines[index].style.strokeWidth = flying ? 3 : 1;
    });
    picture.setAttribute("aria-label", model.get("texts")[frame]);
  }

  return player({ model, el, stage: picture, draw });
}

function bar(kind, x, y, width, height, hatch) {
  const [from, share] = PLACES[kind];
  return svg("rect", {
    class: "course-bar", x, y: y + from * height, width: Math.max(width, 0.5), height: share * height,
    fill: hatch.fill[kind] ?? `var(--course-phase-${kind})`,
  });
}

// Waiting is hatched, a collective dotted.
function patterns() {
  const id = `course-${Math.random().toString(36).slice(2)}`;
  const size = { width: 8, height: 8 };
  const pattern = (kind, shape) =>
    svg("pattern", { id: `${id}-${kind}`, ...size, patternUnits: "userSpaceOnUse" },
        svg("rect", { ...size, fill: `var(--course-phase-${kind})` }), shape);
  const stripes = svg("path", { class: "course-hatch", d: "M-2 2L2 -2M0 8L8 0M6 10L10 6" });
  const dot = svg("circle", { cx: 4, cy: 4, r: 1.3, fill: "var(--course-ink)" });
  return {
    definitions: svg("defs", {}, pattern("wait", stripes), pattern("collective", dot)),
    fill: { wait: `url(#${id}-wait)`, collective: `url(#${id}-collective)` },
  };
}

function legend(kinds, hatch) {
  return Object.entries(kinds).flatMap(([kind, name], index) => [
    bar(kind, LEFT + 120 * index, 6, 26, 16, hatch),
    svg("text", { x: LEFT + 120 * index + 32, y: 19 }, name),
  ]);
}

export default { render };
