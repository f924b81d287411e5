// What stands above the graph: what is shown, on how much, against what, in which colours.

import { BROKEN, CLASSES, Colours } from "./colours.js";
import { ERRORS } from "./comparison.js";
import { byId, element } from "./element.js";
import { moment, nanos, plural, plusMinus, thousands, value } from "./figures.js";
import { UNTAGGED, describe, durations, everything, extremes, ofEndpoint, range, spanOf } from "./selection.js";

export class Heading {
  constructor(app) {
    this.app = app;
  }

  /** Shows the state of the page; `base` is the selection that it is compared with, or null. */
  show({ model, state, measure, tally, comparison, base }) {
    Object.assign(this, { model, state, measure, tally, comparison, base });
    this.trail();
    this.summary();
    this.bar();
    this.legend();
  }

  /** Shows nothing. */
  clear() {
    this.model = null;
    for (const id of ["trail", "legend"]) byId(id).replaceChildren();
    byId("comparison").hidden = true;
    byId("summary").classList.remove("faint");
  }

  trail() {
    const { model, state } = this;
    const { selection } = state;
    const steps = [[everything(selection.side), selection.side === 1 ? "The base" : "All samples"]];
    if (selection.endpoint !== null) {
      const whole = ofEndpoint(selection.endpoint, null, null, selection.side);
      const name = selection.endpoint === UNTAGGED ? "(no span)" : model.endpointNames[selection.endpoint];
      steps.push([whole, name]);
      const limits = range(model, selection);
      if (limits !== "") steps.push([selection, limits.trim()]);
    }
    if (selection.id !== null) steps.push([selection, `span ${selection.id}`]);
    byId("trail").replaceChildren(
      ...steps.map(([to, name], i) => {
        const isLast = i === steps.length - 1;
        return element(
          "li",
          {},
          isLast
            ? element("span", { "aria-current": "page", title: name }, name)
            : element("button", { type: "button", title: name, onclick: () => this.app.set({ selection: to }) }, name),
        );
      }),
      element("li", { class: "actions" }, ...this.actions()),
    );
  }

  /** What can be done with what is chosen. */
  actions() {
    const { model, state } = this;
    const { selection } = state;
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    const actions = [];
    if (selection.id !== null && state.base === null) {
      const spread = durations(model, selection.endpoint, selection.side);
      if (spread.ended > 1) {
        const { fast } = extremes(spread);
        actions.push(
          button("Compare with the fast half", "Against the faster half of this endpoint's spans", () =>
            this.app.set({ base: { mirrors: false, selection: ofEndpoint(selection.endpoint, null, fast, selection.side) }, mode: null }),
          ),
        );
      }
    }
    if (state.base === null) {
      actions.push(
        button("Use as base", "What is chosen next is compared with this", () =>
          this.app.set({ base: { mirrors: false, selection }, mode: null }),
        ),
      );
      if (model.compares && selection.side === 0) {
        actions.push(button("Compare with the base", "Against the other files or spans given", () => this.app.set({ base: { mirrors: true, selection: null }, mode: null })));
      }
    }
    return actions;
  }

  summary() {
    const { base } = this;
    const { tally, measure } = this;
    const part = (of) => {
      const parts = [value(of.whole, measure.unit)];
      if (measure.counted) parts.push(`${plural(of.wholeSamples, "sample")}${of.wholeSamples > 0 ? ` ${plusMinus(of.wholeSamples)}` : ""}`);
      if (of.spans > 0) parts.push(`${plural(of.spans, "span")}${of.ended === of.spans ? "" : ` (${of.ended === 0 ? "none" : thousands(of.ended)} ended)`}`);
      return parts.join(", ");
    };
    const lines = [`${measure.label}: ${part(tally)}`];
    if (base === null) {
      const [start, end] = tally.window ?? [0, 0];
      const over = end > start ? ` over ${nanos((end - start) * 1e6)} from ${moment(start)}` : "";
      lines.push(`${plural(tally.files, "file")}${over}`);
    } else lines.push(`base: ${part(this.comparison.base)}`);
    const summary = byId("summary");
    summary.replaceChildren(...lines.map((line) => element("span", {}, line)));
    summary.classList.toggle("faint", measure.counted && tally.wholeSamples < this.model.few);
    const { id } = this.state.selection;
    if (tally.wholeSamples === 0 && measure.counted) {
      summary.append(element("span", {}, id === null ? "no sample" : "no sample: shorter than the period, or it waited all the time (other measures tell)"));
    }
    const span = spanOf(this.model, this.state.selection);
    if (span) {
      const known = [
        span.duration === null ? "not ended" : `took ${nanos(span.duration)}`,
        span.startMillis < 0 ? null : `began ${moment(span.startMillis)}`,
        span.status === null || span.status === "unset" ? null : `status ${span.status}`,
        span.trace === null ? null : `trace ${span.trace}`,
      ];
      summary.append(element("span", {}, known.filter((text) => text !== null).join(", ")));
    }
  }

  bar() {
    const { base } = this;
    const bar = byId("comparison");
    const { state, model } = this;
    bar.hidden = state.base === null;
    if (bar.hidden) return;
    const end = element("button", { type: "button", onclick: () => this.app.set({ base: null, mode: null }) }, "End comparison");
    if (base === null) {
      const name = state.base.mirrors ? "the base" : describe(model, state.base.selection);
      bar.replaceChildren(element("span", {}, `Base: ${name}. What is chosen next is compared with it.`), end);
      return;
    }
    const modes = element(
      "select",
      { "aria-label": "How sides are compared", onchange: (event) => this.app.set({ mode: event.target.value }) },
      ...this.app.modes.map(([mode, text]) => element("option", { value: mode, selected: mode === this.comparison.mode }, text)),
    );
    const swap = () =>
      this.app.set({ selection: base, base: { mirrors: false, selection: state.selection }, mode: this.comparison.mode });
    const noise = this.comparison.counted
      ? `Grey, ≈: less than ${ERRORS} standard errors, which is noise.`
      : "How many samples stand behind these values is not known, so noise is not told from change.";
    bar.replaceChildren(
      element("span", {}, "Against ", element("strong", {}, describe(model, base)), " "),
      modes,
      element("button", { type: "button", onclick: swap }, "Swap"),
      end,
      element("span", { class: "hint" }, noise),
    );
  }

  legend() {
    if (!this.model) return;
    const colours = new Colours(this.model);
    const chip = (colour, text, sort = "") => {
      const swatch = element("span", { class: `swatch ${sort}`, "aria-hidden": "true" });
      swatch.style.setProperty("--colour", colour);
      return element("li", {}, swatch, text);
    };
    const change = (verdict, relative) => colours.ofChange({ verdict, relative });
    const isThere = (sort) => this.model.frames.class.includes(sort);
    byId("legend").replaceChildren(
      ...(this.comparison === null
        ? CLASSES.map((text, sort) => [text, sort])
            .filter(([, sort]) => isThere(sort))
            .map(([text, sort]) => chip(colours.ofClass(sort), text, sort === BROKEN ? "broken" : ""))
        : [chip(change("grew", 1), "▲ grew"), chip(change("shrank", -0.5), "▼ shrank"), chip(change("noise", 0), "≈ noise")]),
    );
  }
}
