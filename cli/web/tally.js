// Sums of a selection: for each node of the tree its own value and that of all below it.

export class Tally {
  /** `members` as selection.js has them. */
  constructor(model, measure, selection, members) {
    const { count, parent } = model.nodes;
    const rows = measure.profile.sides[selection.side];
    const values = rows.values[measure.type];
    const samples = rows.values.at(-1);
    this.self = new Float64Array(count);
    this.total = new Float64Array(count);
    this.selfSamples = new Float64Array(count);
    this.totalSamples = new Float64Array(count);
    this.counted = measure.counted;
    this.spans = members.spans;
    this.ended = members.ended;
    this.window = rows.window;
    this.files = rows.files;
    for (let row = 0; row < rows.node.length; row += 1) {
      if (!members.mask[rows.group[row]]) continue;
      this.self[rows.node[row]] += values[row];
      this.selfSamples[rows.node[row]] += samples[row];
    }
    this.total.set(this.self);
    this.totalSamples.set(this.selfSamples);
    // Parents come before their children.
    for (let i = count - 1; i > 0; i -= 1) {
      this.total[parent[i]] += this.total[i];
      this.totalSamples[parent[i]] += this.totalSamples[i];
    }
    this.whole = this.total[0];
    this.wholeSamples = this.totalSamples[0];
  }
}

/** Functions by self and total; a total counts a stack once, however often the function is in it. */
export function byFunction(model, tally) {
  const { count, depth, frame } = model.nodes;
  const functions = model.frames.name.length;
  const sums = {
    self: new Float64Array(functions),
    total: new Float64Array(functions),
    selfSamples: new Float64Array(functions),
    totalSamples: new Float64Array(functions),
  };
  const open = new Int32Array(functions);
  const path = [];
  for (let i = 1; i < count; i += 1) {
    while (path.length >= depth[i]) open[path.pop()] -= 1;
    const of = frame[i];
    sums.self[of] += tally.self[i];
    sums.selfSamples[of] += tally.selfSamples[i];
    if (open[of] === 0) {
      sums.total[of] += tally.total[i];
      sums.totalSamples[of] += tally.totalSamples[i];
    }
    open[of] += 1;
    path.push(of);
  }
  return sums;
}

/** What each group of a side costs. */
export function byGroup(model, measure, side = 0) {
  const sums = new Float64Array(model.groups.side.length);
  const samples = new Float64Array(sums.length);
  const rows = measure.profile.sides[side];
  const values = rows.values[measure.type];
  const counts = rows.values.at(-1);
  for (let row = 0; row < rows.node.length; row += 1) {
    sums[rows.group[row]] += values[row];
    samples[rows.group[row]] += counts[row];
  }
  return { sums, samples };
}
