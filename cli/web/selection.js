// Which spans are looked at: all, an endpoint's (of some durations), one, or what belongs to none.

import { nanos } from "./figures.js";

export const UNTAGGED = -1;

/** Everything of a side: 0 what is shown, 1 the base. */
export function everything(side = 0) {
  return { side, endpoint: null, from: null, to: null, id: null };
}

/** An endpoint by its name's number, or UNTAGGED; its spans of the bins `from` to `to`, where those are given. */
export function ofEndpoint(endpoint, from = null, to = null, side = 0) {
  return { side, endpoint, from, to, id: null };
}

/** One span. */
export function ofSpan(span) {
  return { side: span.side, endpoint: span.endpoint, from: null, to: null, id: span.id };
}

/** Whether two are the same. */
export function isSame(a, b) {
  return ["side", "endpoint", "from", "to", "id"].every((key) => a[key] === b[key]);
}

/** The span that it is of, if it is one. */
export function spanOf(model, selection) {
  if (selection.id === null) return null;
  return model.spans.find((span) => span.id === selection.id && span.side === selection.side) ?? null;
}

/** The groups in it, and how many spans those are. */
export function members(model, selection) {
  const { side, endpoint, bin, spans, ended } = model.groups;
  const mask = new Uint8Array(side.length);
  const span = spanOf(model, selection);
  let [count, done] = [0, 0];
  for (let i = 0; i < mask.length; i += 1) {
    const isIn =
      side[i] === selection.side &&
      (selection.id === null
        ? (selection.endpoint === null || endpoint[i] === selection.endpoint) &&
          (selection.from === null || bin[i] >= selection.from) &&
          (selection.to === null || (bin[i] >= 0 && bin[i] <= selection.to))
        : span !== null && span.group === i);
    if (!isIn) continue;
    mask[i] = 1;
    count += spans[i];
    done += ended[i];
  }
  return { mask, spans: count, ended: done };
}

/** What it is called. */
export function describe(model, selection) {
  const base = selection.side === 1 ? "base: " : "";
  if (selection.id !== null) return `${base}span ${selection.id}`;
  if (selection.endpoint === null) return selection.side === 1 ? "the base" : "all samples";
  if (selection.endpoint === UNTAGGED) return `${base}samples of no span`;
  return `${base}${model.endpointNames[selection.endpoint]}${range(model, selection)}`;
}

/** The durations that it is limited to. */
export function range(model, { from, to }) {
  if (from === null && to === null) return "";
  if (from === null) return ` below ${nanos(model.binStart(to + 1))}`;
  if (to === null) return ` from ${nanos(model.binStart(from))}`;
  return ` from ${nanos(model.binStart(from))} to ${nanos(model.binStart(to + 1))}`;
}

/** The spans of an endpoint by how long they took. */
export function durations(model, endpoint, side = 0) {
  const { groups } = model;
  const counts = new Map();
  let ended = 0;
  for (let i = 0; i < groups.side.length; i += 1) {
    if (groups.side[i] !== side || groups.endpoint[i] !== endpoint || groups.bin[i] < 0) continue;
    counts.set(groups.bin[i], (counts.get(groups.bin[i]) ?? 0) + groups.ended[i]);
    ended += groups.ended[i];
  }
  const bins = [...counts.keys()].sort((a, b) => a - b);
  return { counts, ended, first: bins[0] ?? 0, last: bins.at(-1) ?? 0 };
}

/** The last bin of the fastest part, and the first of the slowest: they do not meet. */
export function extremes({ counts, ended, first, last }, fastest = 0.5, slowest = 0.05) {
  let [fast, slow] = [first, last];
  let below = 0;
  for (let bin = first; bin <= last; bin += 1) {
    below += counts.get(bin) ?? 0;
    if (below >= ended * fastest) {
      fast = bin;
      break;
    }
  }
  let above = 0;
  for (let bin = last; bin >= first; bin -= 1) {
    above += counts.get(bin) ?? 0;
    if (above >= ended * slowest) {
      slow = bin;
      break;
    }
  }
  if (fast >= slow) {
    fast = Math.max(first, slow - 1);
    slow = Math.min(last, fast + 1);
  }
  return { fast, slow };
}
