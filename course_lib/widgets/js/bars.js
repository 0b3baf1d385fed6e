// Stacked bars, a row for each state, in panels below one another. Parts differ by colour and by texture.

import { linearTicks } from "./chart.js";
import { svg } from "./dom.js";
import { numberText } from "./text.js";

const WIDTH = 640, LEFT = 34, RIGHT = 430, HEAD = 34, FOOT = 48, CHARACTER = 7.3;
const TEXTURES = {
  dots: () => svg("circle", { cx: 4, cy: 4, r: 1.3, fill: "var(--course-ink)" }),
  stripes: () => svg("path", { class: "course-hatch", d: "M-2 2L2 -2M0 8L8 0M6 10L10 6" }),
  backstripes: () => svg("path", { class: "course-hatch", d: "M-2 6L2 10M0 0L8 8M6 -2L10 2" }),
};

// styles: {part: {colour, texture}}; gives a function that draws panels with them.
// A panel: {label, rows, marked}; a row: {letter, parts: {part: size}, mark, text, strong}; names: {part: its name}.
export function stackedBars(styles) {
  const id = `course-${Math.random().toString(36).slice(2)}`, size = { width: 8, height: 8 };
  const fill = part => styles[part].texture ? `url(#${id}-${part})` : styles[part].colour;
  const definitions = () => svg("defs", {}, ...Object.entries(styles).filter(([, { texture }]) => texture)
    .map(([part, { colour, texture }]) =>
      svg("pattern", { id: `${id}-${part}`, ...size, patternUnits: "userSpaceOnUse" },
          svg("rect", { ...size, fill: colour }), TEXTURES[texture]())));
  const rect = (part, x, y, width, height) =>
    svg("rect", { class: "course-bar", x: x.toFixed(2), y, width: width.toFixed(2), height, fill: fill(part) });

  function legend(names, marked, top) {
    let x = LEFT;
    const place = (node, text) => {
      const entry = svg("g", { transform: `translate(${x} ${top + 6})` }, node, svg("text", { x: 28, y: 13 }, text));
      x += 44 + CHARACTER * text.length;
      return entry;
    };
    const entries = Object.entries(names).map(([part, name]) => place(rect(part, 0, 0, 22, 16), name));
    if (marked) entries.push(place(svg("line", { class: "course-playhead", x1: 11, x2: 11, y1: 0, y2: 16 }), marked));
    return entries;
  }

  function row({ letter, parts, mark, text, strong }, across, y, height) {
    let sum = 0;
    const bars = Object.entries(parts).map(([part, part_size]) => {
      const start = across(sum);
      sum += part_size;
      return rect(part, start, y, across(sum) - start, height);
    });
    const middle = y + height / 2 + 5, end = Math.max(sum, mark ?? 0);
    if (mark) {
      const x = across(mark).toFixed(2);
      bars.push(svg("line", { class: "course-playhead", x1: x, x2: x, y1: y - 4, y2: y + height + 4 }));
    }
    return [
      ...bars,
      svg("text", { class: "course-letter", x: LEFT - 10, y: middle, "text-anchor": "end" }, letter),
      svg("text", { class: strong ? "course-waits" : "", x: across(end) + 8, y: middle }, text),
    ];
  }

  function panel({ label, names, marked, rows }, top, height) {
    const total = ({ parts, mark }) => Math.max(mark ?? 0, Object.values(parts).reduce((sum, part) => sum + part));
    const high = Math.max(...rows.map(total)), bottom = top + HEAD + height * rows.length;
    const across = value => LEFT + (RIGHT - LEFT) * value / high;
    const ticks = linearTicks(0, high).flatMap(tick => [
      svg("line", { class: "course-grid", x1: across(tick), x2: across(tick), y1: top + HEAD - 4, y2: bottom }),
      svg("text", { x: across(tick), y: bottom + 16, "text-anchor": "middle" }, numberText(tick)),
    ]);
    return [
      ...legend(names, marked, top), ...ticks,
      ...rows.flatMap((each, index) => row(each, across, top + HEAD + height * index + 3, height - 8)),
      svg("text", { class: "course-title", x: (LEFT + RIGHT) / 2, y: bottom + 36, "text-anchor": "middle" }, label),
    ];
  }

  return (panels, described) => {
    const rows = panels[0].rows.length, height = rows > 3 ? 24 : 34, each = HEAD + height * rows + FOOT;
    return svg("svg", { class: "course-chart", viewBox: `0 0 ${WIDTH} ${panels.length * each}`, role: "img",
                        "aria-label": described },
               definitions(), ...panels.flatMap((one, index) => panel(one, index * each, height)));
  };
}
