// Names can be read on every colour that a frame can have.

import assert from "node:assert/strict";
import { test } from "node:test";

let isDark = false;
globalThis.window = { matchMedia: () => ({ get matches() { return isDark; }, addEventListener() {} }) };
const { CLASSES, Colours } = await import("../../web/colours.js");

/** Red, green, blue of `#rrggbb` or `hsl(h s% l%)`, each of 1. */
function rgb(colour) {
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const [h, s, l] = /hsl\(([\d.]+) ([\d.]+)% ([\d.]+)%\)/.exec(colour).slice(1).map(Number);
  const a = (s / 100) * Math.min(l / 100, 1 - l / 100);
  return [0, 8, 4].map((n) => {
    const k = (n + h / 30) % 12;
    return l / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
  });
}

const luminance = (of) => of.map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);

function contrast(a, b) {
  const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (high + 0.05) / (low + 0.05);
}

const over = (colour, ground, alpha) => colour.map((c, i) => c * alpha + ground[i] * (1 - alpha));

for (const dark of [false, true]) {
  test(`text stands out from every frame on a ${dark ? "dark" : "light"} page`, () => {
    isDark = dark;
    const names = [];
    const sorts = [];
    for (let i = 0; i < 2_000; i += 1) {
      names.push(`com.p${i}.T.m`);
      sorts.push(i % CLASSES.length);
    }
    const colours = new Colours({ frames: { name: names, class: sorts } });
    const ground = rgb(colours.ground);
    const changes = [];
    for (const verdict of ["grew", "shrank", "noise", "same"]) {
      for (const relative of [-1, -0.5, -0.1, 0, 0.1, 0.5, 1, 30, Infinity]) changes.push(colours.ofChange({ verdict, relative }));
    }
    for (const fill of [...colours.frames, ...changes, colours.root]) {
      const full = contrast(rgb(colours.text), rgb(fill));
      assert.ok(full >= 4.5, `${fill}: ${full}`);
      // Frames on few samples, and those that a search has not found.
      for (const alpha of [0.5, 0.22]) {
        const faint = contrast(rgb(colours.faint), over(rgb(fill), ground, alpha));
        assert.ok(faint >= 4.5, `${fill} at ${alpha}: ${faint}`);
      }
    }
  });
}
