// How long the spans of an endpoint took, and which of them are the slow and the fast.

import { drawing, element } from "./element.js";
import { nanos, plural } from "./figures.js";

const WIDTH = 320;
const HEIGHT = 72;

/**
 * `spread` as selection.js has it; `chosen` are the bins that are looked at, `slow` and `fast` the bounds of what is
 * compared. `onRange` hears of a bar that was chosen, `onBounds` of bounds that were moved, `onCompare` of the wish to compare.
 */
export function histogram({ model, spread, chosen, bounds, onRange, onBounds, onCompare }) {
  const { counts, first, last, ended } = spread;
  const bars = last - first + 1;
  const width = WIDTH / bars;
  const tallest = Math.max(...counts.values());
  const from = (bin) => nanos(model.binStart(bin));
  const draw = (bin) => {
    const count = counts.get(bin) ?? 0;
    // The few slow ones are what it is about, so a bar of one is seen.
    const height = count === 0 ? 0 : Math.max(3, (Math.sqrt(count) / Math.sqrt(tallest)) * HEIGHT);
    const sort = bin <= bounds.fast ? "fast" : bin >= bounds.slow ? "slow" : "between";
    const isOut = (chosen.from !== null && bin < chosen.from) || (chosen.to !== null && bin > chosen.to);
    const x = (bin - first) * width;
    const label = `${from(bin)} to ${from(bin + 1)}: ${plural(count, "span")}`;
    return drawing(
      "g",
      { class: `${sort}${isOut ? " out" : ""}`, onclick: () => onRange(bin, bin) },
      drawing("title", {}, label),
      drawing("rect", { class: "hit", x, y: 0, width, height: HEIGHT }),
      drawing("rect", { class: "bar", x: x + 0.5, y: HEIGHT - height, width: Math.max(1, width - 1), height }),
    );
  };
  const bins = Array.from({ length: bars }, (_, i) => first + i);
  const picture = drawing(
    "svg",
    {
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      preserveAspectRatio: "none",
      role: "img",
      "aria-label": `Durations of ${plural(ended, "span")}, from ${from(first)} to ${from(last + 1)}; heights are square roots`,
    },
    ...bins.map(draw),
  );
  const slider = (key, text, write) => {
    const output = element("output", {}, write(bounds[key]));
    const input = element("input", {
      type: "range",
      min: first,
      max: last,
      value: bounds[key],
      "aria-valuetext": write(bounds[key]),
      oninput: () => {
        output.textContent = write(Number(input.value));
        input.setAttribute("aria-valuetext", output.textContent);
      },
      onchange: () => onBounds({ ...bounds, [key]: Number(input.value) }, key),
    });
    input.dataset.bound = key;
    return element("label", { class: `bound ${key}` }, text, input, output);
  };
  const canCompare = bars > 1;
  return element(
    "figure",
    { class: "histogram" },
    picture,
    element("div", { class: "axis" }, element("span", {}, from(first)), element("span", {}, from(last + 1))),
    ...(canCompare
      ? [
          slider("fast", "Fast: up to", (bin) => from(bin + 1)),
          slider("slow", "Slow: from", from),
          element("button", { type: "button", class: "primary", onclick: onCompare }, "Compare slow with fast"),
        ]
      : []),
  );
}
