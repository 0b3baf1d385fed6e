// The ring as a table: a column a rank, a row a chunk; chunks travel to the right, from the last rank to the first.

import { svg } from "./dom.js";
import { player } from "./player.js";
import { fill } from "./text.js";

const ROW = 44, LEFT = 72, TOP = 34;

function render({ model, el }) {
  const ranks = model.get("ranks"), labels = model.get("labels"), times = model.get("times");
  const all = model.get("cells"), flights = model.get("flying");
  const [CELL, GAP] = ranks <= 5 ? [84, 64] : [70, 52], pitch = CELL + GAP;
  const column = rank => LEFT + GAP + pitch * rank, row = chunk => TOP + (ROW + 10) * chunk;
  const width = column(ranks) + 8, bottom = row(ranks);

  const links = Array.from({ length: ranks + 1 }, (_, index) => link(index));
  const each = make => Array.from({ length: ranks }, (_, number) => make(number));
  const grid = each(rank => each(chunk => cell(rank, chunk)));
  const moving = svg("g");
  const picture = svg("svg", { class: "course-chart", viewBox: `0 0 ${width} ${bottom + 26}`, role: "img" },
    ...links.map(({ node }) => node), ...heads(), ...grid.flat().map(({ node }) => node), moving);
  picture.style.maxWidth = `${Math.max(560, width)}px`;

  function heads() {
    const tops = each(rank => svg("text", { x: column(rank) + CELL / 2, y: 22, "text-anchor": "middle" },
                                  fill(labels.ring_player_rank, { rank })));
    const sides = each(chunk => svg("text", { x: 4, y: row(chunk) + ROW / 2 + 4 },
                                    fill(labels.ring_player_chunk, { chunk })));
    return [...tops, ...sides];
  }

  // Link `index` leads into column `index`; the last one leads back to the first.
  function link(index) {
    const x = column(index) - GAP;
    const line = svg("line", { x1: x + 3, x2: x + GAP - 3, y1: bottom + 4, y2: bottom + 4 });
    const name = svg("text", { x: x + GAP / 2, y: bottom + 20, "text-anchor": "middle" },
                     `${(index + ranks - 1) % ranks}→${index % ranks}`);
    return { node: svg("g", {}, line, name), line };
  }

  function cell(rank, chunk) {
    const x = column(rank), y = row(chunk);
    const box = svg("rect", { x, y, width: CELL, height: ROW, rx: 4 });
    const text = svg("text", { x: x + CELL / 2, y: y + 20, "text-anchor": "middle" });
    const size = (CELL - 12) / ranks;
    const parts = each(who =>
      svg("rect", { x: x + 6 + who * size + 1, y: y + 29, width: size - 2, height: 9 }));
    return { node: svg("g", {}, box, text, ...parts), box, text, parts };
  }

  function draw(frame, time) {
    const now = all[frame];
    grid.forEach((cells, rank) => cells.forEach(({ box, text, parts }, chunk) => {
      const [words, inside] = now[rank][chunk], whole = inside.length === ranks;
      box.setAttribute("class", whole ? "course-cell course-cell-done" : "course-cell");
      text.textContent = whole ? `${words} ✓` : words;
      parts.forEach((part, who) => {
        const there = inside.includes(who);
        part.setAttribute("class", there ? "course-bar" : "course-absent");
        part.style.fill = there ? `var(--course-rank-${who})` : "none";
      });
    }));
    const under = flights[frame], busy = new Set(under.map(([, target]) => target));
    links.forEach(({ line }, index) =>
      line.setAttribute("class", busy.has(index % ranks) ? "course-link-busy" : "course-link"));
    const still = time === times[frame]; // a stopped chunk is shown half-way
    moving.replaceChildren(...under.flatMap(flight => tokens(flight, still ? 0.5 : part(flight, time))));
    picture.setAttribute("aria-label", model.get("texts")[frame]);
  }

  const part = ([, , , , , start, stop], time) => Math.min(1, Math.max(0, (time - start) / (stop - start)));

  // The last rank's chunk leaves at the right edge and, at the same time, comes in at the left one.
  function tokens([source, target, chunk, words, gather], share) {
    const places = source < target ? [target] : [0, ranks];
    return places.map(index => {
      const x = column(index) - GAP + GAP * (0.15 + 0.7 * share), y = row(chunk) + ROW / 2;
      const text = `${gather ? "=" : "+"}${words}`, wide = Math.max(44, 8 * text.length + 10);
      const shape = { class: "course-flying", x: x - wide / 2, y: y - 13, width: wide, height: 26, rx: 13 };
      return svg("g", {}, svg("rect", shape), svg("text", { x, y: y + 5, "text-anchor": "middle" }, text));
    });
  }

  return player({ model, el, stage: picture, draw });
}

export default { render };
