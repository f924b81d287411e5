// How figures are written; as the terminal has them.

const UNIT_NANOS = { nanoseconds: 1, microseconds: 1e3, milliseconds: 1e6, seconds: 1e9 };
const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"];

/** A value in its unit. */
export function value(number, unit) {
  if (Object.hasOwn(UNIT_NANOS, unit)) return nanos(number * UNIT_NANOS[unit]);
  if (unit === "bytes") return bytes(number);
  return thousands(Math.round(number));
}

/** Nanoseconds. */
export function nanos(number) {
  const size = Math.abs(number);
  if (size === 0) return "0";
  if (size >= 1e9) return `${significant(number / 1e9)} s`;
  if (size >= 1e6) return `${significant(number / 1e6)} ms`;
  if (size >= 1e3) return `${significant(number / 1e3)} µs`;
  return `${significant(number)} ns`;
}

function bytes(number) {
  let unit = 0;
  while (Math.abs(number) >= 1024 && unit + 1 < BYTES.length) {
    number /= 1024;
    unit += 1;
  }
  return `${significant(number)} ${BYTES[unit]}`;
}

/** Three significant digits, more only left of the point. */
function significant(number) {
  const size = Math.abs(number);
  if (size < 9.995) return number.toFixed(2);
  if (size < 99.95) return number.toFixed(1);
  return thousands(Math.round(number));
}

/** A whole number with thousands set apart. */
export function thousands(number) {
  return String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

/** A number of things. */
export function plural(number, thing) {
  return `${thousands(number)} ${thing}${number === 1 ? "" : "s"}`;
}

/** A share as percent; a dash of nothing. */
export function percent(part, whole) {
  return whole === 0 ? "-" : `${((part / whole) * 100).toFixed(1)} %`;
}

/** The relative standard error of a figure on so many samples. */
export function plusMinus(samples) {
  if (!(samples > 0)) return "-";
  const error = 100 / Math.sqrt(samples);
  return `±${error < 10 ? error.toFixed(1) : error.toFixed(0)} %`;
}

/** A change with its sign. */
export function signed(number, write) {
  return `${number > 0 ? "+" : number < 0 ? "−" : "±"}${write(Math.abs(number))}`;
}

/** A moment of the reader's time zone. */
export function moment(millis) {
  return new Date(millis).toLocaleString(undefined, {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
}
