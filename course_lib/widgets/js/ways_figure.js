// The figure of the ways: lanes of workers on one time axis; under them two charts of the loss.

import { linearTicks } from "./chart.js";
import { svg } from "./dom.js";
import { numberText } from "./text.js";

const WIDTH = 680, LEFT = 74, RIGHT = 668;
const LANES = { top: 24, bottom: 238, gap: 8 };
const CHART = { top: 288, bottom: 410, between: 26 };
const HEIGHT = 448, ALL = -1;

export function waysFigure(shown, axis, styles, labels) {
  return svg("svg", { class: "course-chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": shown.said },
    ...legend(labels), ...lanes(shown, styles, labels), ...charts(shown, axis, styles, labels));
}

const text = (x, y, words, anchor = "start", cls) => svg("text", { class: cls, x, y, "text-anchor": anchor }, words);
const line = (cls, x1, y1, x2, y2) => svg("line", { class: cls, x1, y1, x2, y2 });
const path = (cls, parts, style) => svg("path", { class: cls, d: parts.join(""), style });
const short = number => number.toFixed(1);

function box(x, y, width, height) {
  const wide = short(Math.max(width, 0.5));
  return `M${short(x)} ${short(y)}h${wide}v${short(height)}h-${wide}z`;
}

function legend(labels) {
  const shapes = [
    ["computes", 0, x => path("course-computes", [box(x, 4, 24, 9)])],
    ["waits", 130, x => line("course-waits-line", x, 8.5, x + 24, 8.5)],
    ["late", 230, x => path("course-late", [box(x, 4, 24, 9)])],
    ["update", 400, x => line("course-update", x + 12, 1, x + 12, 16)],
  ];
  return shapes.flatMap(([name, place, shape]) =>
    [shape(LEFT + place), text(LEFT + place + 30, 13, labels[`ways_${name}`])]);
}

function lanes({ window, groups }, styles, labels) {
  const across = seconds => LEFT + (RIGHT - LEFT) * seconds / window;
  const each = (LANES.bottom - LANES.top) / groups.length;
  return [
    ...linearTicks(0, window).flatMap(tick => [
      line("course-grid", across(tick), LANES.top, across(tick), LANES.bottom),
      text(across(tick), LANES.bottom + 15, numberText(tick), "middle"),
    ]),
    ...groups.flatMap((group, index) =>
      lanesOf(group, LANES.top + index * each, each - LANES.gap, across, styles, labels)),
    text((LEFT + RIGHT) / 2, LANES.bottom + 32, labels.ways_seconds, "middle", "course-title"),
  ];
}

function lanesOf({ way, lanes, stop, bars, updates }, top, height, across, styles, labels) {
  const step = height / lanes, thick = 0.76 * step, middle = lane => top + (lane + 0.5) * step;
  const bar = ([lane, start, end]) => box(across(start), middle(lane) - thick / 2, across(end) - across(start), thick);
  const mark = ([lane, time]) => lane === ALL
    ? `M${short(across(time))} ${short(top - 3)}V${short(top + height + 3)}`
    : `M${short(across(time))} ${short(top + lane * step)}v${short(step)}`;
  const waits = Array.from({ length: lanes }, (_, lane) => `M${LEFT} ${short(middle(lane))}H${short(across(stop))}`);
  const { marker, colour } = styles[way], centre = top + height / 2;
  const thin = `stroke-width: ${short(Math.min(0.8, 0.2 * step))}`; // else edges would fill narrow lanes
  return [
    path("course-waits-line", waits, thin),
    path("course-computes", bars.filter(each => !each[3]).map(bar), thin),
    path("course-late", bars.filter(each => each[3]).map(bar), thin),
    path("course-update", updates.map(mark)),
    text(LEFT - 20, centre + 5, labels[`way_short_${way}`], "end"),
    markerAt(marker, colour, LEFT - 10, centre),
  ];
}

function charts({ limits, target, target_text, ends, curves }, axis, styles, labels) {
  const [low, high] = limits, width = (RIGHT - LEFT - CHART.between) / 2;
  const up = loss => CHART.bottom - (CHART.bottom - CHART.top) * Math.log(loss / low) / Math.log(high / low);
  const powers = [];
  for (let power = Math.round(Math.log10(low)); power <= Math.round(Math.log10(high)); power++) powers.push(power);
  const every = Math.ceil(powers.length / 6), rows = powers.filter((_, index) => index % every === 0);
  const middle = (CHART.top + CHART.bottom) / 2;
  return [
    ...rows.map(power => text(LEFT - 6, up(10 ** power) + 4, numberText(10 ** power), "end")),
    svg("text", { class: "course-title", "text-anchor": "middle", transform: `translate(13 ${middle}) rotate(-90)` },
        labels.ways_loss),
    ...[axis, "seconds"].flatMap((against, side) => {
      const left = LEFT + side * (width + CHART.between), right = left + width;
      const across = place => left + width * place / ends[against];
      return [
        ...rows.map(power => line("course-grid", left, up(10 ** power), right, up(10 ** power))),
        ...linearTicks(0, ends[against]).flatMap(tick => [
          line("course-grid", across(tick), CHART.top, across(tick), CHART.bottom),
          text(across(tick), CHART.bottom + 15, numberText(tick), "middle"),
        ]),
        line("course-guide", left, up(target), right, up(target)),
        ...curves.flatMap(curve => curveOf(curve, curve[against].map(across), curve.losses.map(up), styles)),
        text(left + 4, up(target) + (up(target) > CHART.bottom - 20 ? -5 : 14), target_text, "start", "course-halo"),
        text((left + right) / 2, CHART.bottom + 32, labels[`ways_against_${against}`], "middle", "course-title"),
      ];
    }),
  ];
}

// Markers on the curve of what is set now, filled where it is at the target for good; on a pinned one its letter.
function curveOf({ way, letter, reached, leaves }, xs, ys, styles) {
  const { dash, marker, colour } = styles[way], now = letter === "A", last = xs.length - 1;
  const stroke = `stroke: var(--course-rank-${colour})`;
  const line = svg("path", {
    class: now ? "course-line" : "course-line course-thin", "stroke-dasharray": dash, style: stroke,
    d: `M${xs.map((x, index) => `${short(x)} ${short(ys[index])}`).join("L")}`,
  });
  const out = ys.indexOf(Math.min(...ys)), bold = "course-halo course-letter";
  const places = [1, 2, 3, 4, 5].map(fifth => Math.round(fifth * last / 5));
  const marks = now ? places.map(place => markerAt(marker, colour, xs[place], ys[place])) : [];
  if (now && reached !== null) marks.push(markerAt(marker, colour, xs[reached], ys[reached], true));
  if (leaves) marks.push(text(xs[out], CHART.top - 3, now ? "↑" : `↑ ${letter}`, "middle", bold));
  else if (!now) marks.push(text(xs[last], ys[last] - 4, letter, "middle", bold));
  return [line, ...marks];
}

function markerAt(marker, colour, x, y, filled) {
  const paint = `var(--course-rank-${colour})`;
  return svg("path", { class: "course-marker", d: markerPath(marker, x, y, filled ? 6 : 4),
                       style: `stroke: ${paint}; ${filled ? `fill: ${paint}` : ""}` });
}

const SHAPES = {
  o: [[-1, 0], [-0.7, -0.7], [0, -1], [0.7, -0.7], [1, 0], [0.7, 0.7], [0, 1], [-0.7, 0.7]],
  s: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  "^": [[0, -1.1], [1.1, 0.9], [-1.1, 0.9]],
  D: [[0, -1.3], [1.1, 0], [0, 1.3], [-1.1, 0]],
  X: [[-1, -0.5], [-0.5, -1], [0, -0.5], [0.5, -1], [1, -0.5], [0.5, 0], [1, 0.5], [0.5, 1], [0, 0.5],
      [-0.5, 1], [-1, 0.5], [-0.5, 0]],
};

// Shapes by matplotlib's names.
export function markerPath(marker, x, y, size = 4) {
  return `M${SHAPES[marker].map(([right, down]) => `${short(x + size * right)} ${short(y + size * down)}`).join("L")}z`;
}
