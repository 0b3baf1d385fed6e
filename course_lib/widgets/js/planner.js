// Will it fit, and how long does a step take? Memory of one GPU and time of a step, as stacked bars.

import { stackedBars } from "./bars.js";
import { assign, geometric, linear, listed, pair, select, slider, traitSlider } from "./controls.js";
import { explorer, lineStyle } from "./explorer.js";
import { PARTS, planMemory, planStep, transformerParameters } from "./plan.js";
import { bandwidthText, bytesText, fill, numberText, percentText, secondsText } from "./text.js";

const PHASES = ["compute", "hidden", "exposed"];
const STYLES = {
  weights: { colour: "var(--course-rank-0)" },
  gradients: { colour: "var(--course-rank-1)", texture: "dots" },
  optimiser: { colour: "var(--course-rank-2)", texture: "stripes" },
  activations: { colour: "var(--course-rank-3)", texture: "backstripes" },
  compute: { colour: "var(--course-phase-compute)" },
  hidden: { colour: "var(--course-phase-compute)", texture: "dots" },
  exposed: { colour: "var(--course-phase-collective)", texture: "dots" },
};
const OWN = "own";
const WIDTHS = listed([128, 256, 512, 768, 1024, 1600, 2048, 2560, 3072, 4096, 5120, 6144, 8192, 12288, 16384]);
const LENGTHS = listed([128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072]);

function render({ model, el }) {
  const labels = model.get("labels"), latency = model.get("latency");
  const models = model.get("models"), gpus = model.get("gpus"), links = model.get("links");
  const draw = stackedBars(STYLES);
  const named = (parts, prefix) => Object.fromEntries(parts.map(part => [part, labels[`${prefix}${part}`]]));

  function planned(state) {
    const { layers, width, vocabulary, sequence } = state;
    const parameters = state.model === OWN ? transformerParameters(layers, width, vocabulary, sequence)
                                           : models[state.model].parameters;
    const job = { ...state, parameters, headWidth: state.head_width, ...gpus[state.gpu], latency,
                  bandwidth: links[state.link] };
    const memory = planMemory(job), capacity = job.memory;
    return { parameters, memory, step: planStep(job), capacity, fits: memory.total <= capacity };
  }

  function texts(state) {
    const { parameters, memory, step, capacity, fits } = planned(state);
    const size = { layers: numberText(state.layers), width: numberText(state.width),
                   parameters: parametersText(parameters) };
    return {
      model: state.model === OWN ? fill(labels.planner_own_size, size) : state.model,
      short: state.model === OWN ? fill(labels.planner_own_short, size) : state.model,
      precision: labels[`planner_precision_${state.precision}`], optimiser: labels[`planner_${state.optimiser}`],
      strategy: labels[`planner_${state.strategy}`], ranks: numberText(state.ranks), gpu: state.gpu,
      link: state.link, total: bytesText(memory.total), capacity: bytesText(capacity), fits,
      over: bytesText(Math.max(0, memory.total - capacity)), part: labels[`plan_${memory.largest}`],
      largest: bytesText(memory[memory.largest]), seconds: secondsText(step.seconds),
      exposed: secondsText(step.exposed), communication: secondsText(step.communication),
      step: step.exposed ? "planner_step" : step.communication ? "planner_step_hidden" : "planner_step_alone",
    };
  }

  function parametersText(parameters) {
    const [unit, name] = parameters >= 1e9 ? [1e9, "planner_billion"] : [1e6, "planner_million"];
    return fill(labels[name], { number: numberText(parameters / unit) });
  }

  function result(state) {
    const words = texts(state);
    const verdict = fill(labels[words.fits ? "planner_fits" : "planner_does_not_fit"], words);
    return `${fill(labels.planner_result, words)} ${verdict} ${fill(labels[words.step], words)}`;
  }

  function picture(states) {
    const plans = states.map(planned), words = states.map(texts);
    const letter = index => lineStyle(index).letter;
    const memory = plans.map((plan, index) => ({
      letter: letter(index), parts: Object.fromEntries(PARTS.map(part => [part, plan.memory[part] / 1e9])),
      mark: plan.capacity / 1e9, strong: !plan.fits,
      text: fill(labels[plan.fits ? "planner_bar_fits" : "planner_bar_does_not_fit"], words[index]),
    }));
    const time = plans.map(({ step }, index) => ({
      letter: letter(index), text: words[index].seconds,
      parts: { compute: step.compute - step.hidden, hidden: step.hidden, exposed: step.exposed },
    }));
    return draw([
      { label: labels.planner_memory_axis, names: named(PARTS, "plan_"), marked: labels.planner_capacity, rows: memory },
      { label: labels.planner_time_axis, names: named(PHASES, "planner_phase_"), rows: time },
    ], result(states[0]));
  }

  const choices = (name, prefix) => model.get(name).map(value => [value, labels[`${prefix}${value}`]]);
  const names = table => Object.keys(table).map(name => [name, name]);
  // A preset sets the shape; another shape is the learner's own.
  const preset = select(model, "model", labels.planner_model, [...names(models), [OWN, labels.planner_own]]);
  preset.node.addEventListener("change", () => {
    const shape = models[model.get("model")];
    if (shape) assign(model, { layers: shape.layers, width: shape.width, head_width: shape.head_width });
  });
  const shape = (name, options) => slider(
    () => model.get(name), value => assign(model, { [name]: value, model: OWN }),
    { text: numberText, low: 1, whole: true, ...options });
  const count = (name, high, scale) => traitSlider(model, name, {
    label: labels[`planner_${name}`], scale: scale ?? geometric(1, high / 100, true), text: numberText, low: 1, high,
    whole: true,
  });
  const share = (name, low) => traitSlider(model, name, {
    label: labels[`planner_${name}`], scale: linear(low, 1, 0.05), text: percentText, unit: 0.01,
    low: name === "overlap" ? 0 : 1e-6, high: 1,
  });

  return explorer({
    model, el, picture, result, mark: () => "",
    controls: [
      pair(preset, select(model, "gpu", labels.planner_gpu, names(gpus))),
      pair(select(model, "precision", labels.planner_precision, choices("precisions", "planner_precision_")),
           select(model, "optimiser", labels.planner_optimiser, choices("optimisers", "planner_"))),
      pair(select(model, "strategy", labels.planner_strategy, choices("strategies", "planner_choice_")),
           select(model, "recompute", labels.planner_recompute, choices("recomputes", "planner_recompute_"))),
      select(model, "link", labels.planner_link,
             Object.entries(links).map(([name, bandwidth]) => [name, `${name}: ${bandwidthText(bandwidth)}`])),
      count("ranks", 1e6),
      shape("layers", { label: labels.planner_layers, scale: geometric(1, 200, true), high: 1e4 }),
      shape("width", { label: labels.planner_width, scale: WIDTHS, high: 1e6 }),
      count("batch", 1e5),
      count("sequence", 1e7, LENGTHS),
      share("overlap", 0),
      share("utilisation", 0.05),
    ],
    pinned: model.get("pinned"),
    columns: ["model", "numbers", "strategy", "ranks", "gpu", "link", "parts", "total", "fits", "seconds", "exposed"]
      .map(name => labels[`planner_column_${name}`]),
    row: state => {
      const words = texts(state), { memory } = planned(state);
      return [words.short, fill(labels.planner_numbers, words), words.strategy, words.ranks, words.gpu, words.link,
              PARTS.map(part => numberText(memory[part] / 1e9)).join(" + "), words.total,
              labels[words.fits ? "planner_yes" : "planner_no"], words.seconds, words.exposed];
    },
  });
}

export default { render };
