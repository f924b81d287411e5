// Draws frames: what is in the window and wide enough to be seen.

import { BROKEN, shortName } from "./colours.js";

/** Height of a row, px. */
export const ROW = 21;
/** Narrower frames are not drawn, px. */
export const NARROWEST = 0.6;

const MARGIN = 5;
/** From this width on a frame has a border, from the next on a name, px. */
const BORDERED = 3;
const NAMED = 22;
const FONT = '12px ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export class Painter {
  /** `scene` is what is to be drawn: model, layout, colours, view, comparison, matches, rootName, isFaint, top and rings. */
  constructor(scene) {
    Object.assign(this, scene);
  }

  /** Draws the rows of a window so large and scrolled so far; how many frames that were. */
  paint(context, width, height, scrolled, ratio) {
    const { nodes } = this.model;
    const { start, width: share } = this.layout;
    const { colours } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colours.ground;
    context.fillRect(0, 0, width, height);
    context.font = FONT;
    context.textBaseline = "middle";
    const letter = context.measureText("0").width;
    const [from, to] = this.view;
    const scale = width / (to - from);
    let drawn = 0;
    for (let i = 0; i < nodes.count; ) {
      const left = (start[i] - from) * scale;
      const right = left + share[i] * scale;
      const y = this.top(nodes.depth[i]) - scrolled;
      const isBeyond = this.isFlipped ? y + ROW < 0 : y > height;
      if (right - left < NARROWEST || left >= width || right <= 0 || isBeyond) {
        i = nodes.end[i];
        continue;
      }
      if (y + ROW > 0 && y < height) {
        this.paintFrame(context, i, Math.max(0, left), Math.min(width, right), y, letter);
        drawn += 1;
      }
      i += 1;
    }
    for (const { node, line } of this.rings) {
      if (node < 0) continue;
      const left = Math.max(0, (start[node] - from) * scale);
      const right = Math.min(width, (start[node] + share[node] - from) * scale);
      context.strokeStyle = colours.ring;
      context.lineWidth = line;
      const y = this.top(nodes.depth[node]) - scrolled;
      context.strokeRect(left + line / 2, y + line / 2, Math.max(1, right - left - line), ROW - line - 1);
    }
    return drawn;
  }

  paintFrame(context, node, left, right, y, letter) {
    const { colours, model } = this;
    const frame = model.nodes.frame[node];
    const width = right - left;
    const isBordered = width >= BORDERED;
    const change = this.comparison === null ? null : this.comparison.node(node);
    const isMarked = this.matches === null || node === 0 || this.matches[frame] === 1;
    const isFaint = this.isFaint(node);
    const isBroken = node > 0 && model.frames.class[frame] === BROKEN;
    context.fillStyle =
      node === 0 ? colours.root : change === null ? colours.frames[frame] : colours.ofChange(change);
    context.globalAlpha = !isMarked ? 0.22 : isFaint ? 0.5 : 1;
    context.fillRect(left, y, isBordered ? width - 1 : width, ROW - 1);
    context.globalAlpha = 1;
    if (isBroken && isBordered) hatch(context, left, y, width - 1, ROW - 1, colours.faint);
    if (this.matches !== null && node > 0 && isMarked && isBordered) {
      context.strokeStyle = colours.ring;
      context.lineWidth = 1;
      context.strokeRect(left + 0.5, y + 0.5, width - 2, ROW - 2);
    }
    if (width < NAMED) return;
    const room = Math.floor((width - 2 * MARGIN) / letter);
    const name = node === 0 ? this.rootName : model.frames.name[frame];
    const text = fitted(name, change === null || node === 0 ? "" : marked(change), room);
    if (text === "") return;
    context.fillStyle = isMarked && !isFaint ? colours.text : colours.faint;
    if (isBroken && isBordered) {
      // Letters on hatching are hard to read.
      const fill = context.fillStyle;
      context.fillStyle = colours.frames[frame];
      context.fillRect(left + 2, y + 2, Math.min(width - 5, text.length * letter + 2 * MARGIN - 2), ROW - 5);
      context.fillStyle = fill;
    }
    // Letters of some scripts are wider than they are counted.
    context.fillText(text, left + MARGIN, y + ROW / 2, width - 2 * MARGIN);
  }
}

/** What of a name there is room for: the package goes first, then the end. */
function fitted(name, mark, room) {
  const withMark = mark === "" ? "" : ` ${mark}`;
  if (name.length + withMark.length <= room) return name + withMark;
  const short = shortName(name);
  if (short.length + withMark.length <= room) return short + withMark;
  if (short.length <= room) return short;
  return room < 3 ? "" : `${short.slice(0, room - 1)}…`;
}

/** Not by colour alone. */
function marked({ verdict, relative }) {
  if (verdict === "noise") return "≈";
  if (verdict === "same") return "";
  if (relative === Infinity) return "▲ new";
  if (relative === -1) return "▼ gone";
  if (relative >= 10) return `▲ ×${Math.round(1 + relative)}`;
  const percent = Math.round(Math.abs(relative) * 100);
  return `${relative > 0 ? "▲ +" : "▼ −"}${percent} %`;
}

function hatch(context, x, y, width, height, colour) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height - (x % 6); at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}
