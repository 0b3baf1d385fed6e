// Closed forms, each as course_lib.laws has it, where sources and domains are told; tests compare the two.

export const amdahlSpeedup = (p, n) => 1 / ((1 - p) + p / n);
export const gustafsonSpeedup = (p, n) => (1 - p) + p * n;
export const amdahlLimit = p => 1 / (1 - p);

export function amdahlWorkers(p, fraction = 0.9) {
  const exact = fraction * p / ((1 - fraction) * (1 - p));
  return Math.max(1, Math.ceil(Math.round(exact * 1e9) / 1e9));
}

const levels = k => 31 - Math.clz32(k);
const folded = k => Number(k !== 2 ** levels(k));

// Messages one after another, and multiples of the array through the busiest port.
const COSTS = {
  ring: k => [2 * (k - 1), 2 * (k - 1) / k],
  tree: k => [2 * levels(k), 4 * levels(k)],
  halving_doubling(k) {
    const core = 2 ** levels(k);
    return [2 * levels(k) + 2 * folded(k), 2 * (core - 1) / core + 2.5 * folded(k)];
  },
  recursive_doubling: k => [levels(k) + 2 * folded(k), levels(k) + 2 * folded(k)],
  parameter_server: k => [2 * (k > 1), 2 * (k - 1)],
  naive: k => [Number(k > 1), k - 1],
};

export function allReduceTime(nbytes, ranks, bandwidth, latency, algorithm) {
  const [rounds, volume] = COSTS[algorithm](ranks);
  return rounds * latency + volume * nbytes / bandwidth;
}

// The size at which latency and transfer take equal shares; 0 without latency or for one rank.
export function takeoverBytes(ranks, bandwidth, latency, algorithm) {
  const [rounds, volume] = COSTS[algorithm](ranks);
  return volume ? rounds * latency * bandwidth / volume : 0;
}

export const busBandwidth = (nbytes, seconds, ranks) => nbytes / seconds * 2 * (ranks - 1) / ranks;
