// The page: one state, and whatever shows it.

import { fromHash, toHash } from "./address.js";
import { BROKEN, CLASSES, Colours, onTheme } from "./colours.js";
import { Comparison, ERRORS, MODES } from "./comparison.js";
import { byId, element } from "./element.js";
import { feed } from "./feed.js";
import { moment, nanos, percent, plural, plusMinus, signed, thousands, value } from "./figures.js";
import { Functions } from "./functions.js";
import { Graph } from "./graph.js";
import { Layout } from "./layout.js";
import { Panel } from "./panel.js";
import { UNTAGGED, describe, durations, everything, extremes, isSame, members, ofEndpoint, range } from "./selection.js";
import { Tally } from "./tally.js";

const VERDICTS = { grew: "grew", shrank: "shrank", same: "the same", noise: "within noise" };

class App {
  constructor(source, model) {
    this.source = source;
    this.model = model;
    this.graph = new Graph(model, { tell: (node) => this.tell(node), onZoom: (node) => this.onZoom(node) });
    this.functions = new Functions((name) => this.search(name));
    this.panel = new Panel({
      select: (selection) => this.set({ selection }),
      compare: (selection, base) => this.set({ selection, base: { mirrors: false, selection: base }, mode: null }),
      find: (id) => this.find(id),
    });
    this.listen();
    this.state = null;
    this.readAddress();
    if (source.isLive) source.follow((next) => this.replace(next), (state) => this.tellState(state));
  }

  /** Changes the state and shows it. */
  set(changes) {
    this.state = { ...this.state, ...changes };
    const hash = toHash(this.model, this.state);
    if (hash !== location.hash.replace(/^#/, "")) {
      // A page from a file may not always have a history.
      try {
        history.replaceState(null, "", hash === "" ? location.pathname + location.search : `#${hash}`);
      } catch {
        /* Then the address stays as it is. */
      }
    }
    this.show();
  }

  readAddress() {
    const { state, missing } = fromHash(this.model, location.hash);
    this.state = state;
    byId("search").value = state.search;
    this.show();
    if (missing !== null) this.find(missing);
  }

  /** Another document: whatever is looked at stays, as far as it is there. */
  replace(model) {
    const hash = toHash(this.model, this.state);
    const path = this.path(this.graph.zoomed);
    const { base } = this.state;
    this.model = model;
    this.graph.use(model);
    this.panel.forget();
    this.state = { ...fromHash(model, hash).state, base: base === null ? null : fromHash(model, hash).state.base };
    this.show(path);
  }

  /** The names of the frames down to a node. */
  path(node) {
    const { parent, frame } = this.model.nodes;
    const names = [];
    for (let i = node; i > 0; i = parent[i]) names.push(this.model.frames.name[frame[i]]);
    return names.reverse();
  }

  nodeOf(path) {
    let node = 0;
    for (const name of path) {
      const found = [...this.layout.children(node)].find((i) => this.model.frames.name[this.model.nodes.frame[i]] === name);
      if (found === undefined) return 0;
      node = found;
    }
    return node;
  }

  async find(id) {
    const { model, source } = this;
    const look = (of) => of.spans.find((span) => span.id === id && span.side === 0);
    let span = look(model);
    if (span === undefined && source.isLive && /^[0-9a-f]{16}$/.test(id)) {
      this.panel.say("looking for it …");
      try {
        this.replace(await source.load(id));
        span = look(this.model);
      } catch (error) {
        this.panel.say(error.message);
        return;
      }
    }
    if (span === undefined) {
      this.panel.say(id === "" ? "" : `no local root span ${id} among what is here`);
      return;
    }
    this.panel.say("");
    this.set({ selection: { side: 0, endpoint: span.endpoint, from: null, to: null, id } });
  }

  /** The base, if there is a comparison. */
  baseSelection() {
    const { base, selection } = this.state;
    if (base === null) return null;
    if (!base.mirrors) return isSame(base.selection, selection) ? null : base.selection;
    // Of one span there is no other side, so its endpoint stands there.
    return selection.side === 1 ? null : { ...selection, side: 1, id: null };
  }

  show(path = null) {
    const { model, state } = this;
    byId("title").textContent = byId("title").title = model.about.title;
    const measure = model.measures[state.measure];
    this.showMeasures();
    if (measure === undefined) {
      this.showNothing();
      return;
    }
    this.measure = measure;
    const tally = (selection) => new Tally(model, measure, selection, members(model, selection));
    this.tally = tally(state.selection);
    const base = this.baseSelection();
    this.comparison = base === null ? null : this.compare(this.tally, tally(base), base);
    const weights = this.comparison === null ? this.tally.total : this.comparison.weights();
    this.layout = new Layout(model, weights);
    const { few } = model;
    const counts = [this.tally, ...(this.comparison === null ? [] : [this.comparison.base])];
    const isFaint = (node) => node > 0 && counts.every((of) => of.counted && of.totalSamples[node] < few);
    if (path !== null) {
      const zoomed = this.nodeOf(path);
      [this.graph.zoomed, this.graph.chosen] = [zoomed, zoomed];
    }
    const rootName = describe(model, state.selection);
    this.showTabs();
    this.graph.show(this.layout, { comparison: this.comparison, isFaint, rootName });
    this.onZoom(this.graph.zoomed);
    this.showSearch();
    this.showFunctions();
    this.panel.show(model, measure, state.selection);
    this.showTrail();
    this.showSummary(base);
    this.showComparison(base);
    this.showLegend();
    this.showNotes();
  }

  showNothing() {
    byId("summary").textContent = this.source.isLive
      ? "No profile yet: what arrives in the folder is shown here."
      : "No profile among the inputs.";
    this.showNotes();
  }

  compare(shown, base, selection) {
    const isPerSpan = [shown, base].every((of) => of.ended > 0 && of.ended === of.spans) && selection.endpoint !== null;
    this.modes = MODES.filter(([mode]) => mode !== "span" || isPerSpan);
    const isThere = this.modes.some(([mode]) => mode === this.state.mode);
    return new Comparison(shown, base, isThere ? this.state.mode : isPerSpan ? "span" : "share");
  }

  /** A value of one side of the comparison. */
  write(number) {
    if (this.comparison.mode === "share") return percent(number, 1);
    return value(number, this.measure.unit);
  }

  /** Lines about a node. */
  tell(node) {
    const { model, tally, comparison } = this;
    const frame = model.nodes.frame[node];
    const name = node === 0 ? describe(model, this.state.selection) : model.frames.name[frame];
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
      return `${word} ${write(judged.shown)} against ${write(judged.base)}, ${signed(judged.change, write)}${by}: ${VERDICTS[judged.verdict]}`;
    };
    const lines = [part("total", "total", "totalSamples"), part("self", "self", "selfSamples")];
    if (comparison.counted) {
      lines.push(`${plural(shown.totalSamples[node], "sample")} against ${thousands(base.totalSamples[node])}`);
    }
    return lines;
  }

  showMeasures() {
    const { model, state } = this;
    byId("measure").replaceChildren(
      ...model.measures.map((measure, i) => element("option", { value: i, selected: i === state.measure }, measure.label)),
    );
  }

  showTabs() {
    const { tab } = this.state;
    for (const [name, pane] of [["graph", "graph-pane"], ["functions", "functions"]]) {
      const button = byId(`tab-${name}`);
      button.setAttribute("aria-selected", String(name === tab));
      button.tabIndex = name === tab ? 0 : -1;
      byId(pane).hidden = name !== tab;
    }
  }

  showTrail() {
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
            : element("button", { type: "button", title: name, onclick: () => this.set({ selection: to }) }, name),
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
            this.set({ base: { mirrors: false, selection: ofEndpoint(selection.endpoint, null, fast, selection.side) }, mode: null }),
          ),
        );
      }
    }
    if (state.base === null) {
      actions.push(
        button("Use as base", "What is chosen next is compared with this", () =>
          this.set({ base: { mirrors: false, selection }, mode: null }),
        ),
      );
      if (model.compares && selection.side === 0) {
        actions.push(button("Compare with the base", "Against the other files or spans given", () => this.set({ base: { mirrors: true, selection: null }, mode: null })));
      }
    }
    return actions;
  }

  showSummary(base) {
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
    const span = id === null ? null : this.model.spans.find((of) => of.id === id && of.side === this.state.selection.side);
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

  showComparison(base) {
    const bar = byId("comparison");
    const { state, model } = this;
    bar.hidden = state.base === null;
    if (bar.hidden) return;
    const end = element("button", { type: "button", onclick: () => this.set({ base: null, mode: null }) }, "End comparison");
    if (base === null) {
      const name = state.base.mirrors ? "the base" : describe(model, state.base.selection);
      bar.replaceChildren(element("span", {}, `Base: ${name}. What is chosen next is compared with it.`), end);
      return;
    }
    const modes = element(
      "select",
      { "aria-label": "How sides are compared", onchange: (event) => this.set({ mode: event.target.value }) },
      ...this.modes.map(([mode, text]) => element("option", { value: mode, selected: mode === this.comparison.mode }, text)),
    );
    const swap = () =>
      this.set({ selection: base, base: { mirrors: false, selection: state.selection }, mode: this.comparison.mode });
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

  showLegend() {
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

  showFunctions() {
    if (this.state.tab !== "functions") return;
    const { model, measure, tally, comparison } = this;
    this.functions.show({ model, measure, tally, comparison, write: (number) => this.write(number) }, this.matches);
  }

  showNotes() {
    const { about } = this.model;
    byId("notes").replaceChildren(
      ...about.notes.map((note) => element("p", {}, note)),
      element("p", {}, `vtprof ${about.version}`),
      ...(this.source.isLive ? [this.pauser()] : []),
    );
  }

  pauser() {
    const { source } = this;
    const click = (event) => {
      source.isPaused = !source.isPaused;
      event.target.setAttribute("aria-pressed", String(source.isPaused));
    };
    return element(
      "p",
      {},
      element("button", { type: "button", id: "pause", "aria-pressed": String(source.isPaused), onclick: click }, "Pause updates"),
      " ",
      element("span", { id: "feed" }, this.feedState ?? ""),
    );
  }

  tellState(state) {
    this.feedState = { live: "", gone: "vtprof view has ended: what is shown stays." }[state] ?? state;
    const place = byId("feed");
    if (place !== null && place.textContent !== this.feedState) place.textContent = this.feedState;
  }

  /** Looks for a text in the names of frames. */
  search(text) {
    byId("search").value = text;
    this.set({ search: text });
  }

  showSearch() {
    const { model, tally, comparison } = this;
    const wanted = this.state.search.toLowerCase();
    if (wanted === "") {
      this.matches = null;
      byId("found").textContent = "";
      this.graph.mark(null);
      return;
    }
    const matches = Uint8Array.from(model.frames.name, (name) => (name.toLowerCase().includes(wanted) ? 1 : 0));
    this.matches = matches;
    const { count, frame, end } = model.nodes;
    let [sum, samples, frames] = [0, 0, 0];
    // A stack with it twice counts once.
    let covered = 0;
    for (let i = 1; i < count; i += 1) {
      if (!matches[frame[i]] || this.layout.width[i] <= 0) continue;
      frames += 1;
      if (i < covered) continue;
      sum += tally.total[i];
      samples += tally.totalSamples[i];
      covered = end[i];
    }
    const on = tally.counted && comparison === null ? ` ${plusMinus(samples)}` : "";
    byId("found").textContent = frames === 0 ? "not found" : `${plural(frames, "frame")}, ${percent(sum, tally.whole)}${on}`;
    this.graph.mark(matches);
  }

  onZoom(node) {
    byId("zoom-out").disabled = node === 0;
  }

  listen() {
    byId("measure").addEventListener("change", (event) => this.set({ measure: Number(event.target.value) }));
    byId("search").addEventListener("input", (event) => {
      this.state.search = event.target.value;
      this.showSearch();
      this.functions.mark(this.matches);
    });
    byId("search").addEventListener("change", () => this.set({}));
    byId("search").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.state.tab === "graph") {
        this.graph.step(1);
        byId("graph").focus();
      }
    });
    byId("zoom-out").addEventListener("click", () => this.graph.zoom(0));
    byId("flip").addEventListener("click", (event) => {
      const isFlipped = !this.graph.isFlipped;
      event.target.setAttribute("aria-pressed", String(isFlipped));
      this.graph.flip(isFlipped);
    });
    const tabs = ["graph", "functions"];
    for (const name of tabs) {
      const button = byId(`tab-${name}`);
      button.addEventListener("click", () => this.set({ tab: name }));
      button.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const other = tabs.find((tab) => tab !== this.state.tab);
        this.set({ tab: other });
        byId(`tab-${other}`).focus();
      });
    }
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const isTyping = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
      if (event.key === "/" && !isTyping) {
        event.preventDefault();
        byId("search").focus();
        byId("search").select();
      } else if (event.key === "Escape") {
        // First what was searched, then what was zoomed.
        if (this.state.search !== "") this.search("");
        else this.graph.zoom(0);
        if (event.target === byId("search")) byId("graph").focus();
      }
    });
    window.addEventListener("hashchange", () => this.readAddress());
    onTheme(() => this.showLegend());
  }
}

async function start() {
  try {
    const source = feed();
    const app = new App(source, await source.load());
    document.documentElement.dataset.painted = performance.now().toFixed(0);
    window.dispatchEvent(new CustomEvent("painted"));
    return app;
  } catch (error) {
    byId("summary").textContent = `This page cannot be shown: ${error.message}`;
    throw error;
  }
}

start();
