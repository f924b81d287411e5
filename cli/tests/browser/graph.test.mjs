// The graph: what it draws, how it is walked, searched and zoomed.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { join } from "node:path";
import { PAGES, chosen, click, close, colour, hover, json, open, stacks, vtprof } from "./browser.mjs";

after(close);

const SHOP = join(PAGES, "shop");

test("the root says what top says of all samples", async () => {
  const page = await open("shop.html");
  const { whole } = json("top", SHOP);
  const [summary] = vtprof("top", SHOP).split("\n");
  const value = /^cpu: ([^,]+),/.exec(summary)[1];
  const samples = whole.samples.toLocaleString("en");
  assert.match(await chosen(page), new RegExp(`^all samples; total ${value}, 100.0 %, ${samples} samples ±1.6 %; self 0,`));
  assert.deepEqual(page.faults, []);
});

test("a page asks for nothing but itself", async () => {
  const page = await open("shop.html");
  await page.click(".row >> nth=1");
  await page.click("#tab-functions");
  assert.deepEqual(page.requests.filter((url) => !url.startsWith("data:")), [`file://${join(PAGES, "shop.html")}`]);
});

test("each frame lies over its caller, as wide as its share", async () => {
  const page = await open("shop.html");
  const all = stacks(SHOP);
  const whole = [...all.values()].reduce((a, b) => a + b);
  const below = (prefix) => [...all].filter(([stack]) => `${stack};`.startsWith(`${prefix};`)).reduce((sum, [, value]) => sum + value, 0);
  // Children are in order of their names, so the places of a row are known.
  const names = [...new Set([...all.keys()].map((stack) => stack.split(";")[0]))].sort();
  let left = 0;
  for (const name of names) {
    const share = below(name) / whole;
    // Narrower than the pointer is exact.
    if (share > 0.005) {
      const told = await hover(page, 1, left + share / 2);
      assert.equal(told[0], name);
      assert.match(told[1], new RegExp(`, ${(share * 100).toFixed(1)} %,`));
    }
    left += share;
  }
  assert.ok(Math.abs(left - 1) < 1e-9, `${left}`);
});

test("sorts of frames have colours of their own, and what failed is hatched", async () => {
  const page = await open("shop.html");
  const seen = [];
  for (const part of [0.01, 0.5]) seen.push(await colour(page, 1, part));
  seen.push(await colour(page, 2, 0.5));
  // Threads of the machine, the runtime's library, the application.
  const [machine, library, application] = seen;
  assert.ok(machine.b > machine.g && machine.r > machine.g, JSON.stringify(machine));
  assert.ok(library.b > library.r, JSON.stringify(library));
  assert.ok(application.r > application.b + 40, JSON.stringify(application));
  const told = await hover(page, 6, 0.03);
  assert.match(told[0], /^\[(failed|truncated)/);
  assert.ok((await colour(page, 6, 0.03)).isGrey);
});

test("arrows walk, Enter zooms, Escape resets, and what is chosen is read", async () => {
  const page = await open("shop.html");
  await page.focus("#graph");
  const names = [];
  for (let i = 0; i < 7; i += 1) {
    await page.keyboard.press("ArrowDown");
    names.push((await chosen(page)).split(";")[0]);
  }
  assert.deepEqual(names.slice(0, 6), [
    "java.lang.VirtualThread.run", "io.helidon.webserver.ConnectionHandler.run", "io.helidon.webserver.http1.Http1Connection.handle",
    "io.helidon.webserver.http.Filters.filter", "io.opentelemetry.helidon.TracingFilter.filter", "com.shop.cart.CartResource.get",
  ]);
  assert.equal(await page.textContent("#live"), await chosen(page));
  assert.equal(await page.getAttribute("#frame", "aria-level"), "8");
  assert.equal(await page.getAttribute("#graph", "aria-activedescendant"), "frame");
  await page.keyboard.press("ArrowUp");
  assert.equal((await chosen(page)).split(";")[0], "com.shop.cart.CartResource.get");
  await page.keyboard.press("ArrowRight");
  assert.equal((await chosen(page)).split(";")[0], "com.shop.checkout.CheckoutResource.post");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("Enter");
  for (const part of [0.02, 0.98]) assert.equal((await hover(page, 6, part))[0], "com.shop.cart.CartResource.get");
  assert.ok(await page.isEnabled("#zoom-out"));
  await page.keyboard.press("Escape");
  assert.ok(await page.isDisabled("#zoom-out"));
  assert.equal((await hover(page, 6, 0.7))[0], "com.shop.checkout.CheckoutResource.post");
  await page.keyboard.press("Home");
  await page.keyboard.press("End");
  assert.match(await page.textContent("#live"), /^com\.fasterxml\.jackson\.core\.json\.UTF8JsonGenerator\.writeString; /);
});

test("a click zooms in and another on the same frame out again", async () => {
  const page = await open("shop.html");
  await click(page, 6, 0.3);
  assert.equal((await hover(page, 6, 0.99))[0], "com.shop.cart.CartResource.get");
  await click(page, 6, 0.5);
  assert.equal((await hover(page, 5, 0.99))[0], "io.opentelemetry.helidon.TracingFilter.filter");
});

test("zooming moves for those who do not mind", async () => {
  const page = await open("shop.html", { reducedMotion: "no-preference" });
  await click(page, 6, 0.3);
  await page.waitForTimeout(400);
  assert.equal((await hover(page, 6, 0.99))[0], "com.shop.cart.CartResource.get");
});

test("a search says what share of the samples it finds", async () => {
  const page = await open("shop.html");
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement.id), "search");
  await page.keyboard.type("REGEX");
  const all = stacks(SHOP);
  const whole = [...all.values()].reduce((a, b) => a + b);
  const found = [...all].filter(([stack]) => stack.includes("regex")).reduce((sum, [, value]) => sum + value, 0);
  assert.ok(found > 0);
  const text = await page.textContent("#found");
  assert.ok(text.startsWith(`2 frames, ${((found / whole) * 100).toFixed(1)} % ±`), text);
  await page.keyboard.press("Enter");
  assert.match(await page.textContent("#live"), /^java\.util\.regex\.Pattern\$Loop\.match; /);
  await page.keyboard.press("n");
  assert.match(await page.textContent("#live"), /^java\.util\.regex\.Pattern\$GroupTail\.match; /);
  await page.keyboard.press("N");
  assert.match(await page.textContent("#live"), /^java\.util\.regex\.Pattern\$Loop\.match; /);
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#search"), "");
  assert.equal(await page.textContent("#found"), "");
  await page.fill("#search", "no such thing");
  assert.equal(await page.textContent("#found"), "not found");
});

test("with the root at the bottom the same frames lie the other way round", async () => {
  const page = await open("shop.html");
  const rows = await page.evaluate(() => Math.round(document.querySelector(".spacer").offsetHeight / 21));
  await page.click("#flip");
  const box = await page.evaluate(() => document.querySelector("#graph canvas").clientHeight);
  const last = Math.floor(box / 21) - 1;
  assert.equal((await hover(page, last, 0.5))[0], "all samples");
  assert.equal((await hover(page, last - 1, 0.5))[0], "java.lang.VirtualThread.run");
  assert.ok(rows > 8);
  await page.focus("#graph");
  await page.keyboard.press("ArrowUp");
  assert.match(await chosen(page), /^java\.lang\.VirtualThread\.run/);
});

test("functions have the figures of top", async () => {
  const page = await open("shop.html");
  await page.click("#tab-functions");
  const rows = await page.locator("#functions tbody tr").evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
  const top = vtprof("top", SHOP, "--limit", "0").trimEnd().split("\n").slice(3);
  assert.equal(rows.length, top.length);
  // One writes what the other does, but for blanks that set columns apart.
  const plain = (text) => text.replace(/\s+/g, " ").trim();
  assert.deepEqual(rows.map((cells) => plain(cells.join(" "))).sort(), top.map(plain).sort());
  await page.click("#functions [data-column=total]");
  assert.equal(await page.getAttribute("#functions th[aria-sort=descending]", "scope"), "col");
  const first = await page.textContent("#functions tbody tr:first-child th");
  assert.equal(first, json("top", SHOP, "--sort", "total").rows[0].name);
});

test("all can be reached by Tab, and the graph by one", async () => {
  const page = await open("shop.html");
  const reached = [];
  for (let i = 0; i < 40; i += 1) {
    await page.keyboard.press("Tab");
    const name = await page.evaluate(() => {
      const { activeElement: at } = document;
      return at.id || at.dataset.key || at.className || at.textContent;
    });
    reached.push(name);
    if (name === "graph") break;
  }
  assert.deepEqual(reached.slice(0, 4), ["skip", "measure", "search", "all"]);
  for (const id of ["none", "Find", "tab-graph", "flip", "graph"]) assert.ok(reached.includes(id), `${id} in ${reached}`);
  assert.ok(!reached.includes("tab-functions"), "arrows go from tab to tab");
  await page.focus("#tab-graph");
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.getAttribute("#tab-functions", "aria-selected"), "true");
});

test("figures on few samples are faint", async () => {
  const page = await open("shop.html");
  await page.click("#tab-functions");
  const rows = await page.locator("#functions tbody tr").evaluateAll((all) => all.map((row) => [row.className, Number(row.cells[3].textContent.replaceAll(",", "")), row.cells[6].textContent]));
  const error = (text) => Number(/[\d.]+/.exec(text)?.[0] ?? Infinity);
  assert.ok(rows.some(([sort]) => sort === "faint") && rows.some(([sort]) => sort === ""));
  for (const [sort, , total] of rows) assert.equal(sort === "faint", error(total) > 100 / Math.sqrt(10) + 0.5, total);
});

test("dark pages are dark, and paper is white", async () => {
  const light = await open("shop.html");
  const dark = await open("shop.html", { colorScheme: "dark" });
  const ground = (page) => colour(page, 10, 0.01);
  assert.ok((await ground(light)).r > 240);
  assert.ok((await ground(dark)).r < 40);
  await dark.emulateMedia({ media: "print", colorScheme: "dark" });
  await dark.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const printed = await dark.evaluate(() => {
    const canvas = document.querySelector(".printed");
    return { height: canvas.clientHeight, first: [...canvas.getContext("2d").getImageData(canvas.width - 4, canvas.height - 4, 1, 1).data] };
  });
  assert.ok(printed.height > 100 && printed.first[0] > 240, JSON.stringify(printed));
  assert.equal(await dark.isVisible("#panel"), false);
});

test("in a narrow window nothing is cut off", async () => {
  const page = await open("shop.html", { viewport: { width: 360, height: 740 } });
  const widths = await page.evaluate(() => [document.documentElement.scrollWidth, document.querySelector("#graph canvas").clientWidth]);
  assert.equal(widths[0], 360);
  assert.ok(widths[1] > 300);
});
