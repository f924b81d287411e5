// Where the frames are: a start and a width, of the whole, for each node.

export class Layout {
  /** `weights`: how wide each node is, against that of the root. */
  constructor(model, weights) {
    const { count, parent, depth } = model.nodes;
    this.nodes = model.nodes;
    this.start = new Float64Array(count);
    this.width = new Float64Array(count);
    this.depth = 0;
    const whole = weights[0];
    // Where the next child of a node begins.
    const next = new Float64Array(count);
    for (let i = 0; i < count && whole > 0; i += 1) {
      const up = parent[i];
      this.width[i] = i === 0 ? 1 : Math.max(0, weights[i]) / whole;
      this.start[i] = i === 0 ? 0 : next[up];
      next[i] = this.start[i];
      if (i > 0) next[up] += this.width[i];
      if (this.width[i] > 0 && depth[i] > this.depth) this.depth = depth[i];
    }
  }

  /** The children of a node that have a width. */
  *children(node) {
    const { end } = this.nodes;
    for (let i = node + 1; i < end[node]; i = end[i]) if (this.width[i] > 0) yield i;
  }

  /** The node at a place of a row, or -1. */
  at(place, depth) {
    let node = this.width[0] > 0 ? 0 : -1;
    for (let row = 0; row < depth && node >= 0; row += 1) {
      let found = -1;
      for (const child of this.children(node)) {
        if (place >= this.start[child] && place < this.start[child] + this.width[child]) {
          found = child;
          break;
        }
      }
      node = found;
    }
    return node;
  }

  /** The sibling before (-1) or behind (1); at an end the nearest frame of the same row, if there is one. */
  beside(node, step) {
    const depth = this.nodes.depth[node];
    let last = -1;
    // Nodes are in order of their places, so the nearest of the row is the nearest in the list.
    for (let i = node + step; i > 0 && i < this.nodes.count; i += step) {
      if (this.nodes.depth[i] === depth && this.width[i] > 0) {
        last = i;
        break;
      }
    }
    return last;
  }

  /** The widest child, or -1. */
  widestChild(node) {
    let widest = -1;
    for (const child of this.children(node)) if (widest < 0 || this.width[child] > this.width[widest]) widest = child;
    return widest;
  }
}
