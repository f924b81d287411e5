// What is said of a frame, in words: on the page, beside the pointer and to who cannot see it.

import { CLASSES } from "./colours.js";
import { percent, plural, plusMinus, signed, thousands, value } from "./figures.js";
import { describe } from "./selection.js";

const VERDICTS = { grew: "grew", shrank: "shrank", same: "the same", noise: "within noise" };

export class Telling {
  /** `comparison` is null where there is none. */
  constructor({ model, measure, selection, tally, comparison }) {
    Object.assign(this, { model, measure, selection, tally, comparison });
  }

  /** A value of one side of the comparison. */
  write(number) {
    if (this.comparison.mode === "share") return percent(number, 1);
    return value(number, this.measure.unit);
  }

  /** What it changed by: of shares that is no share. */
  change(number) {
    const write = (size) => (this.comparison.mode === "share" ? `${(size * 100).toFixed(1)} points` : value(size, this.measure.unit));
    return signed(number, write);
  }

  /** Lines about a node. */
  node(node) {
    const { model, tally, comparison } = this;
    const frame = model.nodes.frame[node];
    const name = node === 0 ? describe(model, this.selection) : model.frames.name[frame];
    const file = node === 0 ? "" : model.frames.file[frame];
    const sort = node === 0 ? "" : CLASSES[model.frames.class[frame]];
    const about = [file, sort].filter((text) => text !== "").join(", ");
    const lines = comparison === null ? this.tellValues(tally, node) : this.tellChange(comparison, node);
    return [name, ...lines, ...(about === "" ? [] : [about])];
  }

  tellValues(tally, node) {
    const { unit } = this.measure;
    const part = (word, sum, samples) => {
      const on = tally.counted ? `, ${plural(samples, "sample")}${samples > 0 ? ` ${plusMinus(samples)}` : ""}` : "";
      return `${word} ${value(sum, unit)}, ${percent(sum, tally.whole)}${on}`;
    };
    const lines = [
      part("total", tally.total[node], tally.totalSamples[node]),
      part("self", tally.self[node], tally.selfSamples[node]),
    ];
    const { few } = this.model;
    if (tally.counted && tally.totalSamples[node] < few) lines.push(`on fewer than ${few} samples`);
    return lines;
  }

  tellChange(comparison, node) {
    const { shown, base } = comparison;
    const part = (word, of, counts) => {
      const judged = comparison.judge(shown[of][node], shown[counts][node], base[of][node], base[counts][node]);
      const write = (number) => this.write(number);
      const by = Number.isFinite(judged.relative) && judged.change !== 0 ? ` (${signed(judged.relative * 100, (n) => `${n.toFixed(0)} %`)})` : "";
      return `${word} ${write(judged.shown)} against ${write(judged.base)}, ${this.change(judged.change)}${by}: ${VERDICTS[judged.verdict]}`;
    };
    const lines = [part("total", "total", "totalSamples"), part("self", "self", "selfSamples")];
    if (comparison.counted) {
      lines.push(`${plural(shown.totalSamples[node], "sample")} against ${thousands(base.totalSamples[node])}`);
    }
    return lines;
  }
}
