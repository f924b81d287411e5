// The page: one state, and whatever shows it.

import { fromHash, toHash } from "./address.js";
import { onTheme } from "./colours.js";
import { Comparison, MODES } from "./comparison.js";
import { byId, element } from "./element.js";
import { feed } from "./feed.js";
import { percent, plural, plusMinus } from "./figures.js";
import { Functions } from "./functions.js";
import { Graph } from "./graph.js";
import { Heading } from "./heading.js";
import { Layout } from "./layout.js";
import { Panel } from "./panel.js";
import { describe, isSame, members } from "./selection.js";
import { Tally } from "./tally.js";
import { Telling } from "./telling.js";

class App {
  constructor(source, model) {
    this.source = source;
    this.model = model;
    this.graph = new Graph(model, { tell: (node) => this.telling.node(node), onZoom: (node) => this.onZoom(node) });
    this.heading = new Heading(this);
    this.functions = new Functions((name) => this.search(name));
    this.panel = new Panel({
      select: (selection) => this.set({ selection }),
      compare: (selection, base) => this.set({ selection, base: { mirrors: false, selection: base }, mode: null }),
      find: (id) => this.find(id),
    });
    this.listen();
    this.state = null;
    this.readAddress();
    if (!source.isLive) return;
    this.showUpdates();
    source.follow((next) => this.replace(next), (state) => this.tellState(state));
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
    const { state, missing } = fromHash(model, hash);
    this.state = { ...state, base: base === null ? null : state.base };
    this.show(path);
    if (missing !== null) this.panel.say(`span ${missing} is no longer among what is here`);
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
    const { tally: shown, comparison } = this;
    this.telling = new Telling({ model, measure, selection: state.selection, tally: shown, comparison });
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
    this.heading.show({ model, state, measure, tally: shown, comparison, base });
    this.showNotes();
  }

  /** Nor is anything left of what was there before. */
  showNothing() {
    [this.tally, this.comparison, this.layout] = [null, null, null];
    for (const part of [this.graph, this.heading, this.functions, this.panel]) part.clear();
    this.showTabs();
    this.showSearch();
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

  showMeasures() {
    const { model, state } = this;
    const select = byId("measure");
    const labels = model.measures.map((measure) => measure.label);
    // One that is open stays so.
    if (labels.join() === [...select.options].map((option) => option.textContent).join()) {
      select.selectedIndex = state.measure;
      return;
    }
    select.replaceChildren(
      ...labels.map((label, i) => element("option", { value: i, selected: i === state.measure }, label)),
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

  showFunctions() {
    if (this.state.tab !== "functions") return;
    const { model, measure, tally, comparison, telling } = this;
    this.functions.show({ model, measure, tally, comparison, telling }, this.matches);
  }

  showNotes() {
    const { about } = this.model;
    byId("notes").replaceChildren(
      ...about.notes.map((note) => element("p", {}, note)),
      element("p", {}, `vtprof ${about.version}`),
    );
  }

  /** Updates can be held, and it is said when they end. */
  showUpdates() {
    const { source } = this;
    const click = (event) => {
      source.isPaused = !source.isPaused;
      event.target.setAttribute("aria-pressed", String(source.isPaused));
    };
    byId("updates").replaceChildren(
      element("button", { type: "button", id: "pause", "aria-pressed": "false", onclick: click }, "Pause updates"),
      " ",
      element("span", { id: "feed", role: "status" }),
    );
  }

  tellState(state) {
    const text = { live: "", gone: "vtprof view has ended: what is shown stays." }[state] ?? state;
    if (byId("feed").textContent !== text) byId("feed").textContent = text;
  }

  /** Looks for a text in the names of frames. */
  search(text) {
    byId("search").value = text;
    this.set({ search: text });
  }

  showSearch() {
    const { model, tally, comparison } = this;
    const wanted = this.state.search.toLowerCase();
    if (wanted === "" || tally === null) {
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
    onTheme(() => this.heading.legend());
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
