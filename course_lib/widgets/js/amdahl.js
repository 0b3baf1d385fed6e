// Amdahl and Gustafson: the speed-up on N GPUs if a share P of the work is parallel.

import { linear, geometric, radios, traitSlider } from "./controls.js";
import { chart } from "./chart.js";
import { explorer, lineStyle } from "./explorer.js";
import { amdahlLimit, amdahlSpeedup, amdahlWorkers, gustafsonSpeedup } from "./laws.js";
import { exactText, fill, numberText } from "./text.js";

const LEAST_RIGHT = 1024; // the right end of the N axis, at least

const speedup = ({ p, scaling }, n) => (scaling === "strong" ? amdahlSpeedup : gustafsonSpeedup)(p, n);
const limited = ({ p, scaling }) => scaling === "strong" && p < 1;

function figures(state) {
  const now = speedup(state, state.n);
  const [limit, workers] = limited(state) ? [amdahlLimit(state.p), amdahlWorkers(state.p)] : [Infinity, NaN];
  return { now, limit, workers, gain: speedup(state, state.n + 1) - now };
}

function texts(state) {
  const { now, limit, workers, gain } = figures(state);
  return {
    p: exactText(state.p), n: numberText(state.n), speedup: numberText(now), gain: numberText(gain),
    limit: numberText(limit), workers: Number.isNaN(workers) ? "–" : numberText(workers),
  };
}

function powers(right) {
  const places = [];
  for (let place = 0; place <= 160; place++) places.push(right ** (place / 160));
  return places;
}

function render({ model, el }) {
  const labels = model.get("labels");
  const result = state => fill(labels[limited(state) ? "amdahl_result" : "amdahl_unlimited"], texts(state));

  function picture(states) {
    const now = states[0], right = Math.max(LEAST_RIGHT, 2 ** Math.ceil(Math.log2(2 * now.n)));
    const log = states.some(state => !limited(state));
    const places = powers(right);
    const lines = states.map((state, index) =>
      ({ points: places.map(n => [n, speedup(state, n)]), ...lineStyle(index) }));
    const high = Math.max(2, ...states.map(state => limited(state) ? amdahlLimit(state.p) : speedup(state, right)));
    const guides = [{ x: now.n, text: fill(labels.amdahl_at, texts(now)) }];
    if (limited(now)) guides.push({ y: amdahlLimit(now.p), text: fill(labels.amdahl_limit_at, texts(now)) });
    const { workers } = figures(now);
    if (workers <= right && workers > 1) guides.push({ x: workers, text: labels.amdahl_most });
    return chart({
      x: { low: 1, high: right, log: true, label: labels.amdahl_n },
      y: { low: log ? 1 : 0, high: 1.08 * high, log, label: labels.amdahl_speedup },
      lines, guides, mark: { x: now.n, y: speedup(now, now.n) }, described: result(now),
    });
  }

  const scalings = ["strong", "weak"].map(name => [name, labels[`amdahl_${name}`]]);
  return explorer({
    model, el, picture, result,
    controls: [
      traitSlider(model, "p", { label: labels.amdahl_p, scale: linear(0, 1, 0.01), text: exactText, low: 0, high: 1 }),
      traitSlider(model, "n", {
        label: labels.amdahl_n, scale: geometric(1, 1e6, true), text: numberText, low: 1, high: 1e6, whole: true,
      }),
      radios(model, "scaling", labels.amdahl_scaling, scalings),
    ],
    pinned: ["p", "scaling"],
    columns: ["p", "scaling", "speedup", "gain", "limit", "workers"].map(name => labels[`amdahl_column_${name}`]),
    row: state => {
      const { p, speedup, gain, limit, workers } = texts(state);
      return [p, labels[`amdahl_column_${state.scaling}`], speedup, gain, limit, workers];
    },
  });
}

export default { render };
