// Where documents come from: out of the page itself, or from the server that gave it out.

import { Model, fromBase64, unpack } from "./document.js";
import { byId } from "./element.js";

/** How often the server is asked whether there is more, ms. */
const INTERVAL = 2000;

/** The source of this page's documents. */
export function feed() {
  const data = byId("data");
  return data === null ? new Served() : new Embedded(data);
}

class Embedded {
  isLive = false;

  constructor(data) {
    this.data = data;
  }

  async load() {
    const model = await unpack(fromBase64(this.data.textContent.trim()));
    this.data.remove();
    return model;
  }
}

class Served {
  isLive = true;
  version = 0;
  isPaused = false;
  /** A span that is to stand for itself. */
  root = null;
  /** The load before: one overtaken by another would bring back what was there before that. */
  last = Promise.resolve();

  load(root = null) {
    const next = this.last.then(() => this.get(root ?? this.root));
    this.last = next.catch(() => {});
    return next;
  }

  async get(root) {
    const answer = await fetch(root === null ? "/document" : `/document?root=${root}`);
    if (!answer.ok) throw new Error((await answer.text()).trim());
    const version = Number(answer.headers.get("x-vtprof-version"));
    const model = new Model(await answer.json());
    [this.version, this.root] = [version, root];
    return model;
  }

  /** Calls `onModel` with each new document, `onState` with whether the server answers. */
  follow(onModel, onState) {
    const look = async () => {
      try {
        if (!this.isPaused && !document.hidden) {
          const answer = await fetch("/version");
          if (!answer.ok) throw new Error(await answer.text());
          if (Number(await answer.text()) !== this.version) onModel(await this.load());
          onState("live");
        }
      } catch (error) {
        onState(error instanceof TypeError ? "gone" : error.message);
      }
      setTimeout(look, INTERVAL);
    };
    setTimeout(look, INTERVAL);
  }
}
