// Two tallies against each other.

export const MODES = [
  ["share", "by share of each side"],
  ["span", "per span"],
  ["absolute", "as they are"],
];

/** Differences of less than so many standard errors are noise. */
export const ERRORS = 2;

export class Comparison {
  /** `mode` is one of MODES. */
  constructor(shown, base, mode) {
    this.shown = shown;
    this.base = base;
    this.mode = mode;
    this.counted = shown.counted && base.counted;
    this.scales = [shown, base].map((tally) => {
      const by = { share: tally.whole, span: tally.ended, absolute: 1 }[mode];
      return by > 0 ? 1 / by : 0;
    });
  }

  /** Of a value of each side, and the samples that it stands on: how much it changed, and whether that is more than noise. */
  judge(shown, shownSamples, base, baseSamples) {
    const [a, b] = [shown * this.scales[0], base * this.scales[1]];
    const change = a - b;
    const relative = b === 0 ? (a === 0 ? 0 : Infinity) : change / b;
    let verdict = change > 0 ? "grew" : change < 0 ? "shrank" : "same";
    if (this.counted && change !== 0) {
      const error = Math.hypot(
        this.error(a, shownSamples, this.shown, this.scales[0]),
        this.error(b, baseSamples, this.base, this.scales[1]),
      );
      if (Math.abs(change) <= ERRORS * error) verdict = "noise";
    }
    return { shown: a, base: b, change, relative, verdict };
  }

  /** The standard error of a value. One without a sample could have had one. */
  error(scaled, samples, tally, scale) {
    if (samples > 0) return Math.abs(scaled) / Math.sqrt(samples);
    return tally.wholeSamples > 0 ? (tally.whole / tally.wholeSamples) * scale : 0;
  }

  /** The judgement of a node with all below it. */
  node(i) {
    return this.judge(this.shown.total[i], this.shown.totalSamples[i], this.base.total[i], this.base.totalSamples[i]);
  }

  /** How wide a node is: what it has on both sides, so that what has gone is seen, too. */
  weights() {
    const weights = new Float64Array(this.shown.total.length);
    const [a, b] = this.scales;
    for (let i = 0; i < weights.length; i += 1) weights[i] = this.shown.total[i] * a + this.base.total[i] * b;
    return weights;
  }
}
