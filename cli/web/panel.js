// Endpoints, and of the chosen one its durations and spans.

import { byId, element } from "./element.js";
import { moment, nanos, percent, plural, thousands, value } from "./figures.js";
import { histogram } from "./histogram.js";
import { UNTAGGED, durations, everything, extremes, isSame, ofEndpoint, ofSpan, spanOf } from "./selection.js";
import { byGroup } from "./tally.js";

/** Rows shown at first, and more each time. */
const ROWS = 40;

export class Panel {
  /** `select` takes a selection, `compare` one and its base, `find` the id of a span. */
  constructor({ select, compare, find }) {
    Object.assign(this, { select, compare, find });
    this.box = byId("panel");
    this.bounds = new Map();
    this.rows = { endpoints: ROWS, spans: ROWS };
    this.order = "slowest";
    this.finder = element(
      "form",
      {
        class: "finder",
        onsubmit: (event) => {
          event.preventDefault();
          this.find(this.input.value.trim().toLowerCase());
        },
      },
      element("label", {}, "Span id ", (this.input = element("input", { autocomplete: "off", spellcheck: "false", placeholder: "16 hex digits" }))),
      element("button", { type: "submit" }, "Find"),
    );
    this.said = element("p", { class: "said", role: "status" });
  }

  /** What became of the search for a span. */
  say(text) {
    this.said.textContent = text;
  }

  /** Another document: its bins may be others. */
  forget() {
    this.bounds.clear();
  }

  /** Shows nothing. */
  clear() {
    this.box.replaceChildren();
  }

  show(model, measure, selection) {
    if (this.selection && !isSame(this.selection, selection)) this.rows.spans = ROWS;
    Object.assign(this, { model, measure, selection });
    const kept = document.activeElement?.dataset?.key;
    const costs = byGroup(model, measure);
    const scrolled = [this.box.scrollTop, this.box.querySelector(".endpoints")?.scrollTop ?? 0];
    this.box.replaceChildren(
      ...this.endpoints(costs),
      ...(selection.endpoint === null || selection.endpoint === UNTAGGED || selection.side !== 0 ? [] : this.spans(costs)),
      element("section", { class: "find-span" }, this.finder, this.said),
    );
    this.box.scrollTop = scrolled[0];
    this.box.querySelector(".endpoints").scrollTop = scrolled[1];
    if (kept) this.box.querySelector(`[data-key="${CSS.escape(kept)}"]`)?.focus();
  }

  endpoints({ sums }) {
    const { model, measure, selection } = this;
    const { groups } = model;
    const cost = new Map();
    let whole = 0;
    for (let i = 0; i < sums.length; i += 1) {
      if (groups.side[i] !== 0) continue;
      cost.set(groups.endpoint[i], (cost.get(groups.endpoint[i]) ?? 0) + sums[i]);
      whole += sums[i];
    }
    const rows = [...model.endpoints].sort((a, b) => (cost.get(b.name) ?? 0) - (cost.get(a.name) ?? 0));
    const row = (name, endpoint, of, about, key) => {
      const isChosen = selection.side === 0 && selection.endpoint === endpoint;
      const meter = element("span", { class: "meter", "aria-hidden": "true" });
      meter.style.setProperty("--share", String(whole > 0 ? Math.max(0, of / whole) : 0));
      return element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            class: "row",
            "data-key": key,
            "aria-current": isChosen ? "true" : null,
            onclick: () => this.select(endpoint === null ? everything() : ofEndpoint(endpoint)),
          },
          element("span", { class: "name", title: name }, name),
          element("span", { class: "share" }, percent(of, whole)),
          element("span", { class: "about" }, `${value(of, measure.unit)}${about}`),
          meter,
        ),
      );
    };
    const about = ({ ended, p50, p95, p99, max }) =>
      ended === 0
        ? ", none ended"
        : `, ${plural(ended, "span")}: p50 ${nanos(p50)}, p95 ${nanos(p95)}, ${ended >= 100 ? `p99 ${nanos(p99)}, ` : ""}max ${nanos(max)}`;
    const shown = rows.slice(0, this.rows.endpoints);
    return [
      element("h2", {}, "Endpoints"),
      element(
        "ul",
        { class: `rows endpoints${selection.endpoint === null ? "" : " low"}` },
        row("All samples", null, whole, "", "all"),
        ...shown.map((of) => row(model.endpointNames[of.name], of.name, cost.get(of.name) ?? 0, about(of), `e${of.name}`)),
        ...(cost.has(UNTAGGED) ? [row("(no span)", UNTAGGED, cost.get(UNTAGGED), ", background work and what could not be tagged", "none")] : []),
      ),
      ...this.more(rows.length - shown.length, "endpoints"),
    ];
  }

  more(count, what) {
    if (count <= 0) return [];
    const click = () => {
      this.rows[what] *= 4;
      this.show(this.model, this.measure, this.selection);
    };
    return [element("button", { type: "button", class: "more", "data-key": `more-${what}`, onclick: click }, `${thousands(count)} more`)];
  }

  spans({ sums, samples }) {
    const { model, measure, selection } = this;
    const { endpoint } = selection;
    const spread = durations(model, endpoint);
    const parts = [element("h2", {}, "Durations")];
    if (spread.ended > 0) {
      const bounds = this.bounds.get(endpoint) ?? extremes(spread);
      const sides = () => [ofEndpoint(endpoint, bounds.slow, null), ofEndpoint(endpoint, null, bounds.fast)];
      parts.push(
        histogram({
          model,
          spread,
          chosen: selection,
          bounds,
          onRange: (from, to) => this.select(ofEndpoint(endpoint, from, to)),
          onBounds: (moved, key) => {
            // Neither passes the other.
            if (key === "fast") moved.slow = Math.max(moved.slow, moved.fast + 1);
            else moved.fast = Math.min(moved.fast, moved.slow - 1);
            moved.fast = Math.max(spread.first, Math.min(moved.fast, spread.last - 1));
            moved.slow = Math.min(spread.last, Math.max(moved.slow, spread.first + 1));
            this.bounds.set(endpoint, moved);
            this.show(model, measure, selection);
            this.box.querySelector(`[data-bound="${key}"]`)?.focus();
          },
          onCompare: () => this.compare(...sides()),
        }),
      );
    } else {
      parts.push(element("p", { class: "hint" }, "No span of it ended, or its span files are not here."));
    }
    const all = model.spans.filter(
      (span) =>
        span.side === 0 &&
        span.endpoint === endpoint &&
        (selection.from === null || model.groups.bin[span.group] >= selection.from) &&
        (selection.to === null || (model.groups.bin[span.group] >= 0 && model.groups.bin[span.group] <= selection.to)),
    );
    const key = this.order === "slowest" ? (span) => span.duration ?? -1 : (span) => sums[span.group];
    all.sort((a, b) => key(b) - key(a) || sums[b.group] - sums[a.group]);
    const chosen = spanOf(model, selection);
    const shown = all.slice(0, this.rows.spans);
    const row = (span) => {
      const isFaint = measure.counted && samples[span.group] < model.few;
      const known = span.duration === null ? "not ended" : nanos(span.duration);
      const about = `${value(sums[span.group], measure.unit)}${measure.counted ? `, ${plural(samples[span.group], "sample")}` : ""}`;
      const title = [span.trace === null ? null : `trace ${span.trace}`, span.startMillis < 0 ? null : moment(span.startMillis)];
      return element(
        "li",
        {},
        element(
          "button",
          {
            type: "button",
            class: `row span${isFaint ? " faint" : ""}`,
            "data-key": `s${span.id}`,
            "aria-current": span === chosen ? "true" : null,
            title: title.filter((line) => line !== null).join("\n") || null,
            onclick: () => this.select(ofSpan(span)),
          },
          element("span", { class: "name" }, known),
          element("span", { class: "share" }, span.status === "error" ? "error" : ""),
          element("span", { class: "about" }, `${span.id} · ${about}`),
        ),
      );
    };
    const by = (order, text) =>
      element(
        "button",
        {
          type: "button",
          "data-key": `by-${order}`,
          "aria-pressed": String(this.order === order),
          onclick: () => {
            this.order = order;
            this.show(model, measure, selection);
          },
        },
        text,
      );
    parts.push(
      element("h2", {}, "Spans"),
      element("div", { class: "order", role: "group", "aria-label": "Order of spans" }, by("slowest", "Slowest"), by("costliest", "Costliest")),
      element("ul", { class: "rows" }, ...shown.map(row)),
      ...this.more(all.length - shown.length, "spans"),
    );
    const others = this.others(endpoint);
    if (others > 0) {
      parts.push(element("p", { class: "hint" }, `${plural(others, "more span")}, faster ones, are in the figures and the durations, but not listed one by one.`));
    }
    return parts;
  }

  /** Spans that do not stand for themselves. */
  others(endpoint) {
    const { groups, spans } = this.model;
    let count = 0;
    for (let i = 0; i < groups.side.length; i += 1) {
      if (groups.side[i] === 0 && groups.endpoint[i] === endpoint) count += groups.spans[i];
    }
    return count - spans.filter((span) => span.side === 0 && span.endpoint === endpoint).length;
  }
}
