// What colour a frame has: by its sort and package, or by how it changed.

/** Sorts of frames, by the numbers of `cli/src/flame/class.rs`. */
export const CLASSES = ["application", "runtime library", "native", "virtual machine", "broken stack"];
export const BROKEN = 4;

// Hues from and to, saturation; packages of a sort differ by hue.
const BANDS = [
  [18, 56, 82],
  [200, 226, 48],
  [128, 166, 38],
  [268, 292, 34],
  [0, 0, 0],
];
const DARK = window.matchMedia("(prefers-color-scheme: dark)");

/** Calls back when the page turns dark or light. */
export function onTheme(react) {
  DARK.addEventListener("change", react);
}

export class Colours {
  constructor(model, { light = false } = {}) {
    this.isDark = DARK.matches && !light;
    this.text = this.isDark ? "#f1f2f5" : "#17191e";
    this.faint = this.isDark ? "#b4bac6" : "#4b515c";
    this.ground = this.isDark ? "#15171c" : "#ffffff";
    this.ring = this.isDark ? "#ffffff" : "#000000";
    this.root = this.isDark ? "#343944" : "#e3e6ec";
    this.frames = model.frames.name.map((name, i) => this.ofFrame(name, model.frames.class[i]));
  }

  ofFrame(name, sort) {
    const [from, to, saturation] = BANDS[sort] ?? BANDS[0];
    const hash = hashOf(packageOf(name));
    const hue = from + (hash % 1000) / 1000 * (to - from);
    const light = (this.isDark ? 23 : 76) + (hash >>> 10) % 7;
    return `hsl(${hue.toFixed(0)} ${this.isDark ? saturation * 0.72 : saturation}% ${light}%)`;
  }

  /** The colour of a sort, for the legend. */
  ofClass(sort) {
    const [from, to, saturation] = BANDS[sort];
    return `hsl(${(from + to) / 2} ${this.isDark ? saturation * 0.72 : saturation}% ${this.isDark ? 27 : 79}%)`;
  }

  /** Red grew, blue shrank, the more the stronger; grey is noise. */
  ofChange({ verdict, relative }) {
    if (verdict === "noise" || verdict === "same") return this.isDark ? "hsl(220 6% 30%)" : "hsl(220 10% 87%)";
    // A doubling or a halving is as strong as it gets.
    const strength = Math.min(1, Math.abs(Math.log2(Math.max(1 + relative, 2 ** -20))));
    const hue = verdict === "grew" ? 4 : 214;
    const step = 0.25 + 0.75 * strength;
    return this.isDark
      ? `hsl(${hue} ${20 + 45 * step}% ${28 + 6 * step}%)`
      : `hsl(${hue} ${30 + 55 * step}% ${89 - 20 * step}%)`;
  }
}

/** The package of a method, the crate or namespace of native code. */
export function packageOf(name) {
  const parts = name.split(/[./]|::/);
  const isType = parts.findIndex((part) => /^\p{Lu}/u.test(part));
  return parts.slice(0, Math.min(isType > 0 ? isType : parts.length - 1, 3)).join(".");
}

/** A method without its package. */
export function shortName(name) {
  if (name.startsWith("[")) return name;
  const found = /(?:^|[./])(\p{Lu}[^./]*\.[^./]+)$/u.exec(name);
  return found === null ? name : found[1];
}

// FNV-1a.
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}
