// A line chart as SVG: axes, lines, guides, one marked point. Lines are told apart by dash and letter.

import { svg } from "./dom.js";
import { numberText } from "./text.js";

const WIDTH = 640, HEIGHT = 360, LEFT = 72, RIGHT = 24, TOP = 16, BOTTOM = 52;
export const DASHES = ["", "7 4", "2 3", "9 3 2 3", "12 4", "4 2"];

const logScale = (low, high, start, stop) =>
  value => start + (stop - start) * Math.log(value / low) / Math.log(high / low);
const linearScale = (low, high, start, stop) => value => start + (stop - start) * (value - low) / (high - low);

function logTicks(low, high) {
  const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.ceil((last - first + 1) / 8), ticks = [];
  for (let power = first; power <= last; power += every) ticks.push(Number(`1e${power}`));
  return ticks;
}

export function linearTicks(low, high) {
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough)), ticks = [];
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= rough);
  for (let tick = Math.ceil(low / step) * step; tick <= high + 1e-9 * step; tick += step) {
    ticks.push(Number(tick.toPrecision(12)));
  }
  return ticks;
}

function axis({ low, high, log }, start, stop) {
  const scale = (log ? logScale : linearScale)(low, high, start, stop);
  return { scale, ticks: (log ? logTicks : linearTicks)(low, high) };
}

// x, y: {low, high, log, label, text}; lines: {points, letter, dash, colour};
// guides: {x or y, text}; mark: {x, y}; described: the picture in words.
export function chart({ x, y, lines, guides = [], mark, described }) {
  const across = axis(x, LEFT, WIDTH - RIGHT), up = axis(y, HEIGHT - BOTTOM, TOP);
  const at = ([a, b]) => `${across.scale(a).toFixed(2)} ${up.scale(b).toFixed(2)}`;
  const parts = [
    ...across.ticks.map(tick => verticalTick(across.scale(tick), (x.text ?? numberText)(tick))),
    ...up.ticks.map(tick => horizontalTick(up.scale(tick), (y.text ?? numberText)(tick))),
    ...guides.map((guide, row) => guide.x ? verticalGuide(across.scale(guide.x), guide.text, row)
                                          : horizontalGuide(up.scale(guide.y), guide.text)),
    ...lines.map(line => curve(line.points.map(at), line)),
    ...lines.map(line => letterOf(line, at)),
  ];
  if (mark) parts.push(svg("circle", {
    class: "course-mark", cx: across.scale(mark.x).toFixed(2), cy: up.scale(mark.y).toFixed(2), r: 6,
  }));
  const titles = [
    title(`translate(${(LEFT + WIDTH - RIGHT) / 2} ${HEIGHT - 10})`, x.label),
    title(`translate(16 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)`, y.label),
  ];
  const about = { class: "course-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": described };
  return svg("svg", about, ...parts, ...titles);
}

const title = (transform, text) =>
  svg("text", { class: "course-title", transform, "text-anchor": "middle" }, text);
const line = (cls, x1, y1, x2, y2) => svg("line", { class: cls, x1, y1, x2, y2 });

function verticalTick(x, text) {
  return svg("g", {}, line("course-grid", x, TOP, x, HEIGHT - BOTTOM),
             svg("text", { x, y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, text));
}

function horizontalTick(y, text) {
  return svg("g", {}, line("course-grid", LEFT, y, WIDTH - RIGHT, y),
             svg("text", { x: LEFT - 8, y: y + 4, "text-anchor": "end" }, text));
}

// The first guide's text stands at the bottom, those of others at the top, so that none covers another.
function verticalGuide(x, text, row) {
  const left = x > WIDTH / 2;
  return svg("g", {}, line("course-guide", x, TOP, x, HEIGHT - BOTTOM),
             svg("text", { class: "course-halo", x: left ? x - 5 : x + 5, y: row ? TOP + 12 : HEIGHT - BOTTOM - 8,
                           "text-anchor": left ? "end" : "start" }, text));
}

function horizontalGuide(y, text) {
  return svg("g", {}, line("course-guide", LEFT, y, WIDTH - RIGHT, y),
             svg("text", { class: "course-halo", x: LEFT + 6, y: y - 5 }, text));
}

function curve(places, { dash, colour, letter }) {
  return svg("path", { class: letter ? "course-line" : "course-line course-thin", d: `M${places.join("L")}`,
                       "stroke-dasharray": dash, style: `stroke: ${colour}` });
}

// Letters stand at different places, so that close curves stay legible.
function letterOf({ points, letter }, at) {
  if (!letter) return "";
  const place = 0.96 - 0.1 * (letter.codePointAt(0) - "A".codePointAt(0));
  const [x, y] = at(points[Math.round(place * (points.length - 1))]).split(" ");
  return svg("text", { class: "course-halo course-letter", x, y: y - 6, "text-anchor": "middle" }, letter);
}

// The stretch of line that a table shows beside a letter.
export function swatch(dash, colour) {
  const style = `stroke: ${colour}`;
  return svg("svg", { class: "course-swatch", viewBox: "0 0 36 8", "aria-hidden": "true" },
             svg("path", { class: "course-line", d: "M0 4L36 4", "stroke-dasharray": dash, style }));
}
