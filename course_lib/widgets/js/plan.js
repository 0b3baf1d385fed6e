// What a training job needs, as course_lib/planner has it, where sources are told; tests compare the two.

import { allReduceTime } from "./laws.js";

export const PARTS = ["weights", "gradients", "optimiser", "activations"];

// Bytes of weights, master weights, states.
const WIDTHS = { fp32: [4, 0, 4], autocast: [4, 0, 4], mixed: [2, 4, 4], bf16: [2, 0, 2] };
const KEPT = { sgd: 0, momentum: 1, adam: 2 };
const SHARDED = {
  ddp: [], zero1: ["optimiser"], zero2: ["optimiser", "gradients"], zero3: ["optimiser", "gradients", "weights"],
};
const ROUNDS = { ddp: [0, 2, 0], zero1: [0, 1, 1], zero2: [0, 1, 1], zero3: [1, 2, 0] };

export const transformerParameters = (layers, width, vocabulary, positions) =>
  12 * layers * width ** 2 + 13 * layers * width + (vocabulary + positions) * width;

export function planMemory(job) {
  const [wide, master, kept] = WIDTHS[job.precision], { parameters } = job;
  const memory = {
    weights: parameters * wide, gradients: parameters * wide,
    optimiser: parameters * (master + kept * KEPT[job.optimiser]), activations: activationBytes(job),
  };
  for (const part of SHARDED[job.strategy]) memory[part] /= job.ranks;
  const total = memory.weights + memory.gradients + memory.optimiser + memory.activations;
  const largest = PARTS.reduce((best, part) => memory[part] > memory[best] ? part : best);
  return { ...memory, total, largest };
}

function activationBytes({ layers, width, headWidth, sequence, batch, precision, recompute }) {
  const wide = precision === "fp32" ? 2 : 1;
  const each = 32 * wide + 2, scores = (4 * wide + 1) * sequence / headWidth;
  return layers * sequence * batch * width * { none: each + scores, attention: each, all: 2 * wide }[recompute];
}

export function planStep(job) {
  const speed = (job.precision === "fp32" ? job.peak32 : job.peak16) * job.utilisation;
  const unit = job.parameters * job.batch * job.sequence / speed;
  const forward = 2 * unit, backward = (job.recompute === "all" ? 6 : 4) * unit;
  const nbytes = job.parameters * WIDTHS[job.precision][0];
  const round = allReduceTime(nbytes, job.ranks, job.bandwidth, job.latency, "ring") / 2;
  const [inForward, inBackward, after] = ROUNDS[job.strategy].map(count => count * round);
  const hidden = Math.min(inForward, job.overlap * forward) + Math.min(inBackward, job.overlap * backward);
  const communication = inForward + inBackward + after, compute = forward + backward;
  const exposed = communication - hidden;
  return { compute, communication, hidden, exposed, seconds: compute + exposed };
}
