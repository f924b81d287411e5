// Endpoints, spans, kinds: what is chosen is what is shown.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { join } from "node:path";
import { PAGES, chosen, close, json, open, vtprof } from "./browser.mjs";

after(close);

const SHOP = join(PAGES, "shop");
const spans = json("spans", SHOP);

test("endpoints have the share of their cost and the quantiles of their durations", async () => {
  const page = await open("shop.html");
  const text = vtprof("spans", SHOP, "--by", "endpoint");
  for (const row of spans.endpoints.rows) {
    const button = page.locator(".endpoints .row", { hasText: row.name });
    assert.equal(await button.locator(".share").textContent(), `${(row.share * 100).toFixed(1)} %`);
    const about = await button.locator(".about").textContent();
    const value = about.split(",")[0];
    assert.ok(about.includes(`${row.spans} spans: p50 `), about);
    const line = text.split("\n").find((of) => of.endsWith(row.name));
    assert.ok(line.replace(/\s+/g, " ").trim().startsWith(value), `${value} in ${line}`);
  }
});

test("an endpoint, its slowest span, and back", async () => {
  const page = await open("shop.html");
  const endpoint = spans.endpoints.rows[1];
  await page.locator(".endpoints .row", { hasText: endpoint.name }).click();
  const samples = (n) => `${n.toLocaleString("en")} sample${n === 1 ? "" : "s"}`;
  assert.ok((await chosen(page)).includes(samples(endpoint.samples)));
  const slowest = spans.spans.rows.filter((row) => row.name === endpoint.name).sort((a, b) => b.duration_nanos - a.duration_nanos)[0];
  const id = slowest.local_root_span_id;
  const first = page.locator(".row.span").first();
  assert.ok((await first.textContent()).includes(id));
  await first.click();
  assert.ok((await chosen(page)).includes(samples(slowest.samples)), await chosen(page));
  assert.match(await page.textContent("#summary"), new RegExp(`trace ${slowest.trace_id}`));
  assert.match(await page.evaluate(() => location.hash), new RegExp(`span=${id}`));
  await page.locator("#trail button", { hasText: "All samples" }).click();
  assert.ok((await chosen(page)).includes(samples(spans.whole.samples)));
  assert.deepEqual(page.faults, []);
});

test("the address of a span leads to it, and a link to one that is not there says so", async () => {
  const row = spans.spans.rows[7];
  const page = await open(`shop.html#span=${row.local_root_span_id}`);
  assert.match(await page.textContent("#trail"), new RegExp(`${row.local_root_span_id}`));
  const none = await open("shop.html#span=ffffffffffffffff");
  assert.equal(await none.textContent(".said"), "no local root span ffffffffffffffff among what is here");
  await none.fill(".finder input", row.local_root_span_id.toUpperCase());
  await none.click(".finder button");
  assert.match(await none.textContent("#trail"), new RegExp(`${row.local_root_span_id}`));
});

test("bars of the durations are the spans of the endpoint, and each can be chosen", async () => {
  const page = await open("shop.html");
  const endpoint = spans.endpoints.rows[0];
  await page.locator(".endpoints .row", { hasText: endpoint.name }).click();
  const bars = await page.locator(".histogram title").allTextContents();
  const count = (text) => Number(/: (\d+) span/.exec(text)[1]);
  assert.equal(bars.reduce((sum, text) => sum + count(text), 0), endpoint.spans);
  const at = bars.findIndex((text) => count(text) > 1);
  await page.locator(".histogram g").nth(at).click();
  const said = `${count(bars[at])} spans`;
  assert.ok((await page.textContent("#summary")).includes(said), said);
  assert.equal(await page.locator(".row.span").count(), count(bars[at]));
  const [from, to] = bars[at].split(":")[0].split(" to ");
  assert.ok((await page.textContent("#trail")).includes(`from ${from} to ${to}`));
});

test("each kind has its values, in its unit", async () => {
  const page = await open("shop.html");
  assert.deepEqual(await page.locator("#measure option").allTextContents(), ["cpu", "alloc", "alloc: alloc objects", "blocked", "blocked: events"]);
  const whole = {};
  for (const kind of ["alloc", "blocked"]) {
    await page.selectOption("#measure", { label: kind });
    const value = /^[^:]+: (.+?)(, \d+ spans|, )/.exec(await page.textContent("#summary"))[1];
    const [line] = vtprof("top", SHOP, "--kind", kind).split("\n");
    assert.ok(line.startsWith(`${{ alloc: "alloc_space", blocked: "blocked" }[kind]}: ${value},`), `${value} in ${line}`);
    whole[kind] = value;
    // How many samples it stands on is not known: no error is made up.
    assert.ok(!(await chosen(page)).includes("±"), await chosen(page));
  }
  assert.match(whole.alloc, /GiB$/);
  assert.match(whole.blocked, / s$/);
});
