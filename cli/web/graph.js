// The flame graph on a canvas of the size of its window, however many frames there are.

import { Colours, onTheme } from "./colours.js";
import { byId, element } from "./element.js";
import { NARROWEST, Painter, ROW } from "./painter.js";

const ZOOM_MILLIS = 160;
/** Tallest picture that is printed, px: browsers refuse larger canvases. */
const TALLEST_PRINT = 12000;

export class Graph {
  /** `tell` makes the lines about a node; `onZoom` hears of the zoomed node. */
  constructor(model, { tell, onZoom }) {
    this.tell = tell;
    this.onZoom = onZoom;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.spacer = element("div", { class: "spacer", "aria-hidden": "true" });
    this.item = element("div", { id: "frame", role: "treeitem", class: "unseen" });
    this.box = byId("graph");
    this.box.replaceChildren(this.spacer, this.item);
    this.spacer.append(this.canvas);
    this.context = this.canvas.getContext("2d");
    this.isFlipped = false;
    this.view = [0, 1];
    this.zoomed = 0;
    this.chosen = 0;
    this.hovered = -1;
    this.matches = null;
    this.drawing = 0;
    this.use(model);
    this.listen();
  }

  /** Another document: whatever was chosen in the last is no longer. */
  use(model) {
    this.model = model;
    this.colours = new Colours(model);
    this.layout = null;
    [this.zoomed, this.chosen, this.hovered] = [0, 0, -1];
    this.matches = null;
  }

  /** Shows a layout. `isFaint` says which nodes stand on few samples; `comparison` colours by change, where given. */
  show(layout, { comparison, isFaint, rootName }) {
    Object.assign(this, { layout, comparison, isFaint, rootName });
    if (layout.width[this.zoomed] <= 0) this.zoomed = 0;
    if (layout.width[this.chosen] <= 0) this.chosen = this.zoomed;
    this.hovered = -1;
    this.view = this.target();
    this.resize();
    this.announce(false);
  }

  /** Shows nothing. */
  clear() {
    this.use(this.model);
    this.canvas.width = this.canvas.height = 0;
    this.spacer.style.height = "0";
    this.item.textContent = "";
    byId("details").replaceChildren();
    byId("tooltip").hidden = true;
    this.onZoom(0);
  }

  /** Marks the frames whose function is in it; null marks none. */
  mark(matches) {
    this.matches = matches;
    this.redraw();
  }

  /** Goes to the next node (1) or the last (-1) that is marked. */
  step(by) {
    if (this.matches === null || this.layout === null) return;
    const { count, frame } = this.model.nodes;
    for (let k = 1; k <= count; k += 1) {
      const i = (this.chosen + by * k + count * 2) % count;
      if (i > 0 && this.matches[frame[i]] && this.layout.width[i] > 0) {
        if (!this.isInView(i)) this.zoom(0);
        this.choose(i);
        return;
      }
    }
  }

  /** Makes a node as wide as the window. */
  zoom(node) {
    if (node === this.zoomed || this.layout === null || this.layout.width[node] <= 0) return;
    this.zoomed = node;
    this.onZoom(node);
    const [from, to] = [this.view, this.target()];
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.view = to;
      this.redraw();
      return;
    }
    const begun = performance.now();
    const move = (now) => {
      if (this.zoomed !== node) return;
      const part = Math.min(1, Math.max(0, (now - begun) / ZOOM_MILLIS));
      const eased = 1 - (1 - part) ** 3;
      this.view = part === 1 ? to : from.map((edge, k) => edge + (to[k] - edge) * eased);
      this.draw();
      if (part < 1) requestAnimationFrame(move);
    };
    requestAnimationFrame(move);
  }

  /** Root at the bottom, as a flame, or at the top. */
  flip(isFlipped) {
    this.isFlipped = isFlipped;
    this.resize();
    this.box.scrollTop = isFlipped ? this.box.scrollHeight : 0;
  }

  target() {
    const { start, width } = this.layout;
    return width[this.zoomed] > 0 ? [start[this.zoomed], start[this.zoomed] + width[this.zoomed]] : [0, 1];
  }

  isInView(node) {
    const { start, width } = this.layout;
    const [from, to] = this.target();
    return start[node] + width[node] > from && start[node] < to;
  }

  get height() {
    return ((this.layout?.depth ?? 0) + 1) * ROW;
  }

  resize() {
    if (this.layout === null) return;
    this.spacer.style.height = `${this.height}px`;
    const [width, height] = [this.box.clientWidth, Math.min(this.box.clientHeight, this.height)];
    const ratio = window.devicePixelRatio || 1;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (this.canvas.width !== w || this.canvas.height !== h) [this.canvas.width, this.canvas.height] = [w, h];
    this.draw();
  }

  redraw() {
    if (this.drawing !== 0) return;
    this.drawing = requestAnimationFrame(() => this.draw());
  }

  draw() {
    cancelAnimationFrame(this.drawing);
    this.drawing = 0;
    if (this.layout === null) return;
    const ratio = window.devicePixelRatio || 1;
    const rings = [{ node: this.hovered, line: 1 }];
    if (this.box.matches(":focus-visible")) rings.push({ node: this.chosen, line: 2 });
    const [width, height] = [this.canvas.width / ratio, this.canvas.height / ratio];
    this.painter(this.colours, rings).paint(this.context, width, height, this.box.scrollTop, ratio);
  }

  painter(colours, rings) {
    const { model, layout, view, comparison, matches, rootName, isFaint, isFlipped } = this;
    const top = (depth) => this.top(depth);
    return new Painter({ model, layout, view, comparison, matches, rootName, isFaint, isFlipped, colours, rings, top });
  }

  top(depth) {
    return this.isFlipped ? this.height - (depth + 1) * ROW : depth * ROW;
  }

  /** The node under the pointer, or -1. */
  under(event) {
    const bounds = this.canvas.getBoundingClientRect();
    const y = event.clientY - bounds.top + this.box.scrollTop;
    const row = Math.floor((this.isFlipped ? this.height - y : y) / ROW);
    const [from, to] = this.view;
    const place = from + ((event.clientX - bounds.left) / bounds.width) * (to - from);
    if (row < 0 || this.layout === null || row > this.layout.depth) return -1;
    const node = this.layout.at(place, row);
    return node >= 0 && (this.layout.width[node] / (to - from)) * bounds.width >= NARROWEST ? node : -1;
  }

  /** Chooses a node, scrolls to it and has it read. */
  choose(node) {
    this.chosen = node;
    const y = this.top(this.model.nodes.depth[node]);
    if (y < this.box.scrollTop) this.box.scrollTop = y;
    const bottom = y + ROW - this.box.clientHeight;
    if (bottom > this.box.scrollTop) this.box.scrollTop = bottom;
    this.announce(true);
    this.redraw();
  }

  announce(isSpoken) {
    const { nodes } = this.model;
    const node = this.chosen;
    const lines = this.tell(node);
    const siblings = node === 0 ? [0] : [...this.layout.children(nodes.parent[node])];
    const { item } = this;
    item.textContent = lines.join("; ");
    item.setAttribute("aria-level", String(nodes.depth[node] + 1));
    item.setAttribute("aria-setsize", String(siblings.length));
    item.setAttribute("aria-posinset", String(siblings.indexOf(node) + 1));
    item.setAttribute("aria-selected", "true");
    if (isSpoken) byId("live").textContent = lines.join("; ");
    if (this.hovered < 0) this.detail(node);
  }

  detail(node) {
    const lines = this.tell(node);
    byId("details").replaceChildren(...lines.map((line, i) => element(i === 0 ? "strong" : "span", {}, line)));
  }

  hover(event) {
    const node = event === null ? -1 : this.under(event);
    const tooltip = byId("tooltip");
    if (node !== this.hovered) {
      this.hovered = node;
      this.detail(node < 0 ? this.chosen : node);
      const lines = node < 0 ? [] : this.tell(node);
      tooltip.replaceChildren(...lines.map((line, i) => element(i === 0 ? "strong" : "div", {}, line)));
      this.redraw();
    }
    tooltip.hidden = node < 0;
    this.canvas.style.cursor = node < 0 ? "default" : "pointer";
    if (node < 0) return;
    const { offsetWidth: w, offsetHeight: h } = tooltip;
    const [x, y] = [event.clientX + 14, event.clientY + 16];
    tooltip.style.left = `${Math.max(4, Math.min(x, window.innerWidth - w - 8))}px`;
    tooltip.style.top = `${y + h > window.innerHeight - 8 ? Math.max(4, event.clientY - h - 10) : y}px`;
  }

  listen() {
    const { box, canvas } = this;
    canvas.addEventListener("mousemove", (event) => this.hover(event));
    canvas.addEventListener("mouseleave", () => this.hover(null));
    canvas.addEventListener("click", (event) => {
      const node = this.under(event);
      if (node < 0) return;
      this.choose(node);
      // A click on what is as wide as the window already goes back.
      this.zoom(node === this.zoomed ? this.model.nodes.parent[node] : node);
    });
    box.addEventListener("scroll", () => this.draw());
    box.addEventListener("focus", () => this.redraw());
    box.addEventListener("blur", () => this.redraw());
    box.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.resize()).observe(box);
    onTheme(() => {
      this.colours = new Colours(this.model);
      this.draw();
    });
    window.addEventListener("beforeprint", () => this.print());
    window.addEventListener("afterprint", () => {
      this.printed?.remove();
      this.printed = null;
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || this.layout === null) return;
    const { nodes } = this.model;
    const [inward, outward] = this.isFlipped ? ["ArrowUp", "ArrowDown"] : ["ArrowDown", "ArrowUp"];
    const go = (node) => {
      if (node >= 0 && this.layout.width[node] > 0 && this.isInView(node)) this.choose(node);
    };
    switch (event.key) {
      case inward:
        go(this.layout.widestChild(this.chosen));
        break;
      case outward:
        if (this.chosen > 0) go(nodes.parent[this.chosen]);
        break;
      case "ArrowLeft":
        go(this.layout.beside(this.chosen, -1));
        break;
      case "ArrowRight":
        go(this.layout.beside(this.chosen, 1));
        break;
      case "Home":
        this.choose(0);
        break;
      case "End": {
        // The hottest way down.
        let node = this.chosen;
        for (let next = node; next >= 0; next = this.layout.widestChild(next)) node = next;
        this.choose(node);
        break;
      }
      case "Enter":
      case " ":
        this.zoom(this.chosen);
        break;
      case "n":
        this.step(1);
        break;
      case "N":
        this.step(-1);
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  /** Puts a picture of all rows in the place of the window on them, light as paper. */
  print() {
    if (this.layout === null) return;
    this.printed?.remove();
    const [width, ratio] = [1000, 2];
    const height = Math.min(this.height, TALLEST_PRINT);
    this.printed = element("canvas", { class: "printed", width: width * ratio, height: height * ratio });
    const colours = new Colours(this.model, { light: true });
    this.painter(colours, []).paint(this.printed.getContext("2d"), width, height, 0, ratio);
    this.box.after(this.printed);
  }
}
