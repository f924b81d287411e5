// Functions in a table: what the graph shows, for who wants figures or reads no pictures.

import { byId, element } from "./element.js";
import { percent, plusMinus, thousands, value } from "./figures.js";
import { byFunction } from "./tally.js";

/** Rows shown at first, and more each time. */
const PAGE = 100;

const WORDS = { grew: "grew", shrank: "shrank", same: "same", noise: "within noise" };

export class Functions {
  /** `onSearch` hears of a function that was clicked. */
  constructor(onSearch) {
    this.onSearch = onSearch;
    this.box = byId("functions");
    this.order = { column: "self", descending: true };
    this.rows = PAGE;
  }

  /** Shows tallies; `matches` leaves only functions in it, where given. */
  show({ model, measure, tally, comparison, telling }, matches) {
    Object.assign(this, { model, measure, tally, comparison, telling, matches });
    this.sums = byFunction(model, tally);
    this.baseSums = comparison === null ? null : byFunction(model, comparison.base);
    this.draw();
  }

  /** Shows nothing. */
  clear() {
    this.model = null;
    this.box.replaceChildren();
  }

  mark(matches) {
    this.matches = matches;
    this.rows = PAGE;
    if (this.model) this.draw();
  }

  columns() {
    const { sums, baseSums, tally, comparison, measure } = this;
    const text = (number) => value(number, measure.unit);
    const samples = (count) => (tally.counted ? thousands(count) : "-");
    const error = (count) => (tally.counted ? plusMinus(count) : "-");
    if (comparison === null) {
      return [
        { id: "self", head: "Self", key: (i) => sums.self[i], cell: (i) => text(sums.self[i]) },
        { id: "self%", head: "Self %", cell: (i) => percent(sums.self[i], tally.whole) },
        { id: "self±", head: "±", cell: (i) => error(sums.selfSamples[i]) },
        { id: "samples", head: "Samples", key: (i) => sums.selfSamples[i], cell: (i) => samples(sums.selfSamples[i]) },
        { id: "total", head: "Total", key: (i) => sums.total[i], cell: (i) => text(sums.total[i]) },
        { id: "total%", head: "Total %", cell: (i) => percent(sums.total[i], tally.whole) },
        { id: "total±", head: "±", cell: (i) => error(sums.totalSamples[i]) },
      ];
    }
    const judge = (part) => (i) =>
      comparison.judge(sums[part][i], sums[`${part}Samples`][i], baseSums[part][i], baseSums[`${part}Samples`][i]);
    const [self, total] = [judge("self"), judge("total")];
    const write = (number) => this.telling.write(number);
    const change = (number) => this.telling.change(number);
    return [
      { id: "self", head: "Self", key: (i) => self(i).shown, cell: (i) => write(self(i).shown) },
      { id: "base", head: "Base", key: (i) => self(i).base, cell: (i) => write(self(i).base) },
      { id: "change", head: "Change", key: (i) => self(i).change, cell: (i) => change(self(i).change) },
      { id: "verdict", head: "", cell: (i) => WORDS[self(i).verdict] },
      { id: "total", head: "Total", key: (i) => total(i).shown, cell: (i) => write(total(i).shown) },
      { id: "total-base", head: "Base", key: (i) => total(i).base, cell: (i) => write(total(i).base) },
      { id: "total-change", head: "Change", key: (i) => total(i).change, cell: (i) => change(total(i).change) },
      { id: "total-verdict", head: "", cell: (i) => WORDS[total(i).verdict] },
    ];
  }

  draw() {
    const { model, sums, baseSums, order } = this;
    const columns = this.columns();
    const by = columns.find((column) => column.id === order.column && column.key) ?? columns[0];
    const name = (i) => model.frames.name[i];
    let all = [];
    for (let i = 0; i < model.frames.name.length; i += 1) {
      const isThere = sums.total[i] !== 0 || sums.totalSamples[i] !== 0 || (baseSums !== null && baseSums.total[i] !== 0);
      if (isThere && (this.matches === null || this.matches[i])) all.push(i);
    }
    const keys = new Map(all.map((i) => [i, by.key(i)]));
    const sign = order.descending ? 1 : -1;
    all.sort((a, b) => sign * (keys.get(b) - keys.get(a)) || (name(a) < name(b) ? -1 : 1));
    if (order.column === "name") {
      all.sort((a, b) => sign * (name(a) < name(b) ? -1 : 1));
    }
    const head = [...columns, { id: "name", head: "Function", key: true }].map((column) => this.head(column));
    const rows = all.slice(0, this.rows).map((i) => {
      const isFaint = this.tally.counted && sums.totalSamples[i] + (baseSums?.totalSamples[i] ?? 0) < model.few;
      return element(
        "tr",
        { class: isFaint ? "faint" : null },
        ...columns.map((column) => element("td", {}, column.cell(i))),
        element(
          "th",
          { scope: "row", title: model.frames.file[i] || null },
          element("button", { type: "button", class: "name", onclick: () => this.onSearch(name(i)) }, name(i)),
        ),
      );
    });
    const more =
      all.length > this.rows
        ? element(
            "button",
            {
              type: "button",
              class: "more",
              onclick: () => {
                this.rows *= 4;
                this.draw();
              },
            },
            `${thousands(all.length - this.rows)} more`,
          )
        : null;
    this.box.replaceChildren(
      element(
        "table",
        {},
        element("caption", {}, this.matches === null ? "Functions" : "Functions found"),
        element("thead", {}, element("tr", {}, ...head)),
        element("tbody", {}, ...rows),
      ),
      ...(more === null ? [] : [more]),
    );
  }

  head(column) {
    if (!column.key) return element("th", { scope: "col" }, column.head);
    const { order } = this;
    const isBy = order.column === column.id;
    const sort = isBy ? (order.descending ? "descending" : "ascending") : "none";
    const click = () => {
      this.order = { column: column.id, descending: isBy ? !order.descending : column.id !== "name" };
      this.draw();
      this.box.querySelector(`[data-column="${column.id}"]`).focus();
    };
    const button = element("button", { type: "button", "data-column": column.id, onclick: click }, column.head);
    return element("th", { scope: "col", "aria-sort": sort }, button);
  }
}
