// Numbers in words, digit for digit as pictures/wording.py writes them, and templates filled in.

const TIMES = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]];
const SIZES = [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

const trimmed = text => text.includes(".") ? text.replace(/\.?0+$/, "") : text;

export function numberText(x) {
  if (!Number.isFinite(x)) return "∞";
  if (x && Math.abs(x) < 1e-3) {
    const [mantissa, exponent] = x.toExponential(2).split("e");
    return `${trimmed(mantissa)}e${Number(exponent)}`;
  }
  return Math.abs(x) < 100 ? trimmed(x.toPrecision(3)) : whole(x);
}

const whole = x => x.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",");

export const exactText = x => String(Number(x.toPrecision(6)));

const unitOf = (value, units) => units.find(([factor]) => value >= factor) ?? units.at(-1);

function withUnit(value, units) {
  const [factor, name] = unitOf(value, units);
  return `${numberText(value / factor)} ${name}`;
}

export const secondsText = seconds => withUnit(seconds, TIMES);
export const bytesText = nbytes => withUnit(nbytes, SIZES);
export const bandwidthText = bandwidth => `${bytesText(bandwidth)}/s`;
export const percentText = share => `${numberText(100 * share)} %`;

// A label with its {names} filled in.
export const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
