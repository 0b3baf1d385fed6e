// How long an all-reduce takes: size, ranks, link, algorithm.

import { assign, geometric, select, slider, traitSlider } from "./controls.js";
import { chart } from "./chart.js";
import { explorer, lineStyle } from "./explorer.js";
import { allReduceTime, busBandwidth, takeoverBytes } from "./laws.js";
import { bandwidthText, bytesText, fill, numberText, percentText, secondsText } from "./text.js";

const SPANS = { nbytes: [1e3, 1e12], ranks: [2, 1024] }; // what the axes show at least
const LEAST = 1e-7; // seconds, the lower end of the time axis, at least

const time = ({ nbytes, ranks, bandwidth, latency, algorithm }) =>
  allReduceTime(nbytes, ranks, bandwidth, latency, algorithm);

function texts(state, labels) {
  const seconds = time(state), { nbytes, ranks, bandwidth, latency, algorithm, compute } = state;
  const takeover = takeoverBytes(ranks, bandwidth, latency, algorithm);
  return {
    algorithm: labels[`algorithm_${algorithm}`], ranks: numberText(ranks), nbytes: bytesText(nbytes),
    link: state.link === "custom" ? labels.ring_time_custom : state.link,
    bandwidth: bandwidthText(bandwidth), latency: secondsText(latency), compute: secondsText(compute),
    seconds: secondsText(seconds),
    bus: seconds ? bandwidthText(busBandwidth(nbytes, seconds, ranks)) : "–",
    share: percentText(seconds ? seconds / (seconds + compute) : 0),
    takeover: takeover ? bytesText(takeover) : "–",
  };
}

function spread([low, high], count, whole = false) {
  const places = Array.from({ length: count + 1 }, (_, place) => low * (high / low) ** (place / count));
  return whole ? [...new Set(places.map(Math.round))] : places;
}

function render({ model, el }) {
  const labels = model.get("labels"), links = model.get("links"), widths = model.get("precisions");
  const complete = state => ({ ...state, nbytes: state.parameters * widths[state.precision] });

  function result(state) {
    const words = texts(complete(state), labels);
    const takeover = labels[words.takeover === "–" ? "ring_time_no_takeover" : "ring_time_takeover"];
    return `${fill(labels.ring_time_result, words)} ${fill(takeover, words)}`;
  }

  function picture(states) {
    const all = states.map(complete), now = all[0], bySize = now.against === "bytes";
    const name = bySize ? "nbytes" : "ranks";
    const span = [Math.min(SPANS[name][0], now[name]), Math.max(SPANS[name][1], now[name])];
    const places = spread(span, 120, !bySize);
    const along = state => places.map(place => [place, Math.max(LEAST, time({ ...state, [name]: place }))]);
    const lines = all.map((state, index) => ({ points: along(state), ...lineStyle(index) }));
    const part = changes => ({ points: along({ ...now, ...changes }), dash: "2 3", colour: "var(--course-ink)" });
    if (now.latency && now.ranks > 1) lines.push(part({ latency: 0 }), part({ bandwidth: Infinity }));
    const times = lines.flatMap(line => line.points.map(([, seconds]) => seconds)), words = texts(now, labels);
    const low = Math.max(LEAST, Math.min(...times)), high = Math.max(...times, 10 * low);
    const guides = [], takeover = takeoverBytes(now.ranks, now.bandwidth, now.latency, now.algorithm);
    if (bySize && takeover > span[0] && takeover < span[1]) {
      guides.push({ x: takeover, text: fill(labels.ring_time_here, words) });
    }
    if (now.compute > low && now.compute < high) {
      guides.push({ y: now.compute, text: fill(labels.ring_time_rest, words) });
    }
    return chart({
      x: { low: span[0], high: span[1], log: true, text: bySize ? bytesText : numberText,
           label: labels[bySize ? "ring_time_size" : "ring_time_ranks"] },
      y: { low, high, log: true, label: labels.ring_time_time, text: secondsText },
      lines, guides, described: result(now),
      mark: now.ranks > 1 && { x: now[name], y: Math.max(low, time(now)) },
    });
  }

  // Whichever of link and bandwidth is set, the other follows.
  const setBandwidth = bandwidth => assign(model, { bandwidth, link: "custom" });
  const link = select(model, "link", labels.ring_time_link, [
    ...Object.entries(links).map(([name, bandwidth]) => [name, `${name}: ${bandwidthText(bandwidth)}`]),
    ["custom", labels.ring_time_custom],
  ]);
  link.node.addEventListener("change", () => {
    const bandwidth = links[model.get("link")];
    if (bandwidth) assign(model, { bandwidth });
  });

  const width = () => widths[model.get("precision")];
  const sizes = { scale: geometric(1e3, 1e12), low: 1, high: 1e15 };
  const algorithms = model.get("algorithms").map(name => [name, labels[`algorithm_${name}`]]);
  const axes = [["bytes", labels.ring_time_against_size], ["ranks", labels.ring_time_against_ranks]];
  const millions = labels.ring_time_parameters, nbytes = () => model.get("parameters") * width();
  return explorer({
    model, el, picture, result,
    controls: [
      traitSlider(model, "parameters", { ...sizes, label: millions, text: x => numberText(x / 1e6), unit: 1e6 }),
      select(model, "precision", labels.ring_time_precision,
             Object.entries(widths).map(([name, bytes]) => [name, `${name}: ${bytes} B`])),
      slider(nbytes, value => assign(model, { parameters: value / width() }),
             { ...sizes, label: labels.ring_time_megabytes, text: bytesText, unit: 1e6 }),
      traitSlider(model, "ranks", {
        label: labels.ring_time_ranks, scale: geometric(1, 1e4, true), text: numberText, low: 1, high: 1e6, whole: true,
      }),
      link,
      slider(() => model.get("bandwidth"), setBandwidth, {
        label: labels.ring_time_bandwidth, scale: geometric(1e6, 1e12), text: bandwidthText, unit: 1e9,
        low: 1, high: 1e15,
      }),
      traitSlider(model, "latency", {
        label: labels.ring_time_latency, scale: fromZero(geometric(1e-7, 1e-2)), text: secondsText, unit: 1e-6,
        low: 0, high: 10,
      }),
      select(model, "algorithm", labels.ring_time_algorithm, algorithms),
      traitSlider(model, "compute", {
        label: labels.ring_time_compute, scale: fromZero(geometric(1e-4, 100)), text: secondsText, unit: 1e-3,
        low: 0, high: 1e6,
      }),
      select(model, "against", labels.ring_time_against, axes),
    ],
    pinned: ["parameters", "precision", "ranks", "link", "bandwidth", "latency", "algorithm"],
    columns: ["algorithm", "size", "ranks", "link", "latency", "seconds", "bus", "share", "takeover"]
      .map(name => labels[`ring_time_column_${name}`]),
    row: state => {
      const words = texts(complete(state), labels);
      const link = state.link === "custom" ? words.bandwidth : words.link;
      return [words.algorithm, words.nbytes, words.ranks, link, words.latency, words.seconds, words.bus,
              words.share, words.takeover];
    },
  });
}

// A slider whose first position is 0, before the equal factors start.
function fromZero(scale) {
  return {
    min: 0, max: scale.max + 1, step: 1,
    valueAt: position => position ? scale.valueAt(position - 1) : 0,
    positionOf: value => value ? scale.positionOf(value) + 1 : 0,
  };
}

export default { render };
