// Comparisons: what grew, what shrank, and what is noise.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { join } from "node:path";
import { PAGES, chosen, close, colour, hover, open, stacks } from "./browser.mjs";

after(close);

const [SHOP, BEFORE] = ["shop", "before"].map((name) => join(PAGES, name));

const sum = (all, word) => [...all].filter(([stack]) => stack.includes(word)).reduce((total, [, value]) => total + value, 0);

/** A place of the row whose frame has that name. */
async function find(page, row, word) {
  for (let part = 0.005; part < 1; part += 0.01) {
    const told = await hover(page, row, part);
    if (told?.[0].includes(word)) return { part, told };
  }
  throw new Error(`no ${word} in row ${row}`);
}

test("red grew, blue shrank, and grey is noise, in words, too", async () => {
  const page = await open("differential.html");
  const json = await find(page, 7, "ObjectMapper.writeValue");
  const red = await colour(page, 7, json.part + 0.002);
  assert.ok(red.r > red.b + 60 && red.r > red.g + 60, JSON.stringify(red));
  const [now, before] = [stacks(SHOP), stacks(BEFORE)];
  const share = (all) => `${((sum(all, "ObjectMapper") / sum(all, "")) * 100).toFixed(1)} %`;
  assert.ok(json.told[1].startsWith(`total ${share(now)} against ${share(before)}, +`), json.told[1]);
  assert.ok(json.told[1].endsWith(": grew"), json.told[1]);
  const search = await find(page, 6, "SearchResource.search");
  const blue = await colour(page, 6, search.part + 0.002);
  assert.ok(blue.b > blue.r + 20, JSON.stringify(blue));
  assert.ok(search.told[1].endsWith(": shrank"), search.told[1]);
  const thread = await find(page, 1, "VirtualThread.run");
  assert.ok((await colour(page, 1, thread.part)).isGrey);
  assert.ok(thread.told[1].endsWith(": within noise"), thread.told[1]);
  assert.deepEqual(page.faults, []);
});

test("a difference is noise below two standard errors of both sides", async () => {
  const page = await open("differential.html");
  await page.click("#tab-functions");
  const rows = await page.locator("#functions tbody tr").evaluateAll((all) => all.map((row) => [row.cells[8].textContent, row.cells[7].textContent]));
  const [now, before] = [stacks(SHOP), stacks(BEFORE)];
  const period = 10_000_000;
  const [N, M] = [now, before].map((all) => sum(all, "") / period);
  let judged = 0;
  for (const [name, verdict] of rows) {
    const [n, m] = [now, before].map((all) => [...all].filter(([stack]) => stack.split(";").includes(name)).reduce((total, [, value]) => total + value, 0) / period);
    if (n === 0 || m === 0) continue;
    const change = n / N - m / M;
    const error = Math.hypot(Math.sqrt(n) / N, Math.sqrt(m) / M);
    const expected = Math.abs(change) <= 2 * error ? "within noise" : change > 0 ? "grew" : "shrank";
    assert.equal(verdict, expected, `${name}: ${n}/${N} against ${m}/${M}`);
    judged += 1;
  }
  assert.ok(judged > 20, `${judged}`);
});

test("slow against fast spans of an endpoint, per span", async () => {
  const page = await open("shop.html");
  await page.locator(".endpoints .row", { hasText: "GET /cart" }).click();
  await page.click(".histogram .primary");
  assert.equal(await page.locator("#comparison select").inputValue(), "span");
  const [slow, fast] = await page.locator("#summary span").allTextContents();
  const read = (text) => [/([\d.]+) s,/, /([\d,]+) samples/, /(\d+) spans/].map((form) => Number(form.exec(text)[1].replaceAll(",", "")));
  const [slowSum, , slowSpans] = read(slow);
  const [fastSum, , fastSpans] = read(fast);
  assert.ok(slowSpans < 30 && fastSpans > 100, `${slow} ${fast}`);
  const told = await chosen(page);
  const [, a, b] = /total ([\d.]+) ms against ([\d.]+) ms/.exec(told);
  assert.ok(Math.abs(Number(a) - (slowSum / slowSpans) * 1000) < 5, told);
  assert.ok(Math.abs(Number(b) - (fastSum / fastSpans) * 1000) < 1, told);
  // What only slow ones do.
  const { told: rules } = await find(page, 7, "Discounts.apply");
  assert.match(rules[1], /against 0, \+/);
  assert.match(rules[1], /: grew$/);
});

test("bounds of slow and fast can be moved and do not meet", async () => {
  const page = await open("shop.html");
  await page.locator(".endpoints .row", { hasText: "GET /cart" }).click();
  const values = () => page.locator(".bound input").evaluateAll((all) => all.map((input) => Number(input.value)));
  await page.focus(".bound.fast input");
  await page.keyboard.press("End");
  const [fast, slow] = await values();
  assert.ok(fast < slow, `${fast} ${slow}`);
  assert.equal(await page.evaluate(() => document.activeElement.dataset.bound), "fast");
  await page.focus(".bound.slow input");
  await page.keyboard.press("Home");
  const [low, high] = await values();
  assert.ok(low < high && high < slow, `${low} ${high}`);
});

test("a span against the fast half of its endpoint, swapped and ended", async () => {
  const page = await open("shop.html");
  await page.locator(".endpoints .row", { hasText: "POST /checkout" }).click();
  await page.locator(".row.span").first().click();
  const id = /span ([0-9a-f]{16})/.exec(await page.textContent("#trail"))[1];
  await page.click("#trail .actions button >> text=Compare with the fast half");
  assert.match(await page.textContent("#comparison"), /Against POST \/checkout below/);
  const before = /total ([^;]*?) against ([^,]*),/.exec(await chosen(page));
  await page.click("#comparison button >> text=Swap");
  assert.match(await page.textContent("#comparison"), new RegExp(`Against span ${id}`));
  const swapped = /total ([^;]*?) against ([^,]*),/.exec(await chosen(page));
  assert.deepEqual([swapped[1], swapped[2]], [before[2], before[1]]);
  const hash = await page.evaluate(() => location.hash);
  await page.click("#comparison button >> text=End comparison");
  assert.equal(await page.isVisible("#comparison"), false);
  const again = await open(`shop.html${hash}`);
  assert.match(await again.textContent("#comparison"), new RegExp(`Against span ${id}`));
});

test("where no file says how many samples there are, nothing is called noise", async () => {
  const page = await open("differential.html");
  await page.selectOption("#measure", { label: "alloc" });
  assert.match(await page.textContent("#comparison"), /not known, so noise is not told from change/);
  await page.click("#tab-functions");
  assert.ok(!(await page.textContent("#functions")).includes("within noise"));
});
