// What is looked at, in the part of the address behind the hash: it can be kept, shared and typed
// (`#span=00f067aa0ba902b7`). Names and ids and not numbers, which differ from one document to the next.

import { UNTAGGED, everything } from "./selection.js";

const KEYS = ["endpoint", "from", "to", "span", "side"];

/** The state as a text. */
export function toHash(model, state) {
  const params = new URLSearchParams();
  if (state.measure !== model.firstMeasure) params.set("measure", model.measures[state.measure].key);
  write(params, "", model, state.selection);
  if (state.base !== null) {
    if (state.base.mirrors) params.set("against", "base");
    else {
      params.set("against", "set");
      write(params, "against-", model, state.base.selection);
    }
    if (state.mode !== null) params.set("by", state.mode);
  } else if (model.compares) params.set("against", "none");
  if (state.tab !== "graph") params.set("view", state.tab);
  if (state.search !== "") params.set("search", state.search);
  return params.toString();
}

function write(params, prefix, model, { side, endpoint, from, to, id }) {
  if (side !== 0) params.set(`${prefix}side`, "base");
  if (id !== null) params.set(`${prefix}span`, id);
  else if (endpoint === UNTAGGED) params.set(`${prefix}untagged`, "");
  else if (endpoint !== null) params.set(`${prefix}endpoint`, model.endpointNames[endpoint]);
  if (from !== null) params.set(`${prefix}from`, String(from));
  if (to !== null) params.set(`${prefix}to`, String(to));
}

/** The state of a text; `missing` is a span that the document does not have. */
export function fromHash(model, hash) {
  const params = new URLSearchParams(hash.replace(/^#/, ""));
  const measure = model.measures.findIndex((of) => of.key === params.get("measure"));
  const shown = read(params, "", model);
  const against = params.get("against") ?? (model.compares ? "base" : "none");
  let base = null;
  if (against === "base" && model.compares) base = { mirrors: true, selection: null };
  if (against === "set") base = { mirrors: false, selection: read(params, "against-", model).selection };
  return {
    state: {
      measure: measure < 0 ? model.firstMeasure : measure,
      selection: shown.selection,
      base,
      mode: params.get("by"),
      tab: params.get("view") === "functions" ? "functions" : "graph",
      search: params.get("search") ?? "",
    },
    missing: shown.missing,
  };
}

function read(params, prefix, model) {
  const [endpoint, from, to, span, side] = KEYS.map((key) => params.get(prefix + key));
  const selection = everything(side === "base" ? 1 : 0);
  const bin = (text) => (text !== null && /^\d{1,3}$/.test(text) ? Number(text) : null);
  if (span !== null) {
    const found = model.spans.find((of) => of.id === span && of.side === selection.side);
    if (found === undefined) return { selection, missing: span };
    return { selection: { ...selection, endpoint: found.endpoint, id: found.id }, missing: null };
  }
  if (params.has(`${prefix}untagged`)) selection.endpoint = UNTAGGED;
  else if (endpoint !== null) {
    const found = model.endpointNames.indexOf(endpoint);
    if (found >= 0) Object.assign(selection, { endpoint: found, from: bin(from), to: bin(to) });
  }
  return { selection, missing: null };
}
