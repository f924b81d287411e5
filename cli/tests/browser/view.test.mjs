// `vtprof view`: the page follows its folder, and other sites get nothing.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { copyFileSync, readdirSync, renameSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { PAGES, chosen, click, close, launch, open } from "./browser.mjs";

const FOLDER = join(PAGES, "live");
const SHOP = join(PAGES, "shop");
let server;
let url;

before(async () => {
  for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file));
  server = spawn(process.env.VTPROF, ["view", FOLDER, "--port", "0"], { stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((resolve) => server.stdout.once("data", (line) => resolve(String(line).split(" ")[0])));
});

after(async () => {
  server.kill("SIGINT");
  const [code, signal] = await new Promise((resolve) => server.once("exit", (...how) => resolve(how)));
  assert.deepEqual([code, signal], [null, "SIGINT"]);
  await close();
});

/** As the agent does: written under another name, then renamed. */
function arrive(from, name) {
  copyFileSync(join(from, name), join(FOLDER, ".making"));
  renameSync(join(FOLDER, ".making"), join(FOLDER, name));
}

test("files that arrive are shown, what was chosen and zoomed stays", async () => {
  const page = await open(url);
  assert.match(await page.textContent("#summary"), /^No profile yet/);
  for (const name of readdirSync(SHOP)) arrive(SHOP, name);
  await page.locator(".endpoints .row", { hasText: "GET /search" }).click();
  await page.waitForFunction(() => document.getElementById("notes").textContent.includes("4 files held"));
  assert.match(await page.textContent("#notes"), /4 files held, [\d.]+ KiB of 256 MiB/);
  await click(page, 7, 0.8);
  const before = await chosen(page);
  assert.match(before, /^org\.apache\.lucene\.search\.IndexSearcher\.search; total/);
  copyFileSync(join(PAGES, "before", "shop-1-cpu-20231114T221320Z.pb.gz"), join(FOLDER, ".making"));
  renameSync(join(FOLDER, ".making"), join(FOLDER, "shop-1-cpu-20231114T221520Z.pb.gz"));
  await page.waitForFunction(() => document.getElementById("notes").textContent.includes("5 files held"));
  assert.match(await page.textContent("#trail"), /GET \/search/);
  assert.ok(await page.isEnabled("#zoom-out"), "still zoomed");
  const later = await chosen(page);
  assert.match(later, /^org\.apache\.lucene\.search\.IndexSearcher\.search; total/);
  const samples = (text) => Number(/([\d,]+) samples/.exec(text)[1].replaceAll(",", ""));
  assert.ok(samples(later) > samples(before), `${before} ${later}`);
  rmSync(join(FOLDER, "shop-1-cpu-20231114T221520Z.pb.gz"));
  await page.waitForFunction(() => document.getElementById("notes").textContent.includes("4 files held"));
  assert.equal(samples(await chosen(page)), samples(before));
  assert.deepEqual(page.faults, []);
});

test("when the last file has gone nothing of it is left, and keys do no harm", async () => {
  const page = await open(url);
  const kept = readdirSync(FOLDER);
  for (const name of kept) rmSync(join(FOLDER, name));
  await page.waitForFunction(() => document.getElementById("summary").textContent.startsWith("No profile yet"));
  assert.equal(await page.locator("#panel *").count(), 0);
  assert.equal(await page.textContent("#frame"), "");
  for (const key of ["/", "a", "Enter", "n", "ArrowDown", "End", "Escape", "Escape"]) await page.keyboard.press(key);
  await page.click("#flip");
  await page.click("#flip");
  await page.click("#tab-functions");
  assert.equal(await page.textContent("#functions"), "");
  await page.click("#tab-graph");
  for (const name of kept) arrive(SHOP, name);
  await page.waitForFunction(() => document.getElementById("summary").textContent.includes("4,149 samples"));
  assert.match(await chosen(page), /^All samples|total/);
  assert.deepEqual(page.faults, []);
});

test("a span that was found stays while files come and go", async () => {
  const page = await open(url);
  // An update is under way when it is looked for.
  await page.route("**/document", async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    await route.continue();
  });
  copyFileSync(join(PAGES, "before", "shop-1-cpu-20231114T221320Z.pb.gz"), join(FOLDER, ".making"));
  renameSync(join(FOLDER, ".making"), join(FOLDER, "shop-1-cpu-20231114T221520Z.pb.gz"));
  await page.waitForRequest((request) => request.url().endsWith("/document"));
  await page.fill(".finder input", "0001000200000009");
  await page.click(".finder button");
  const found = () => document.getElementById("trail").textContent.includes("span 0001000200000009");
  await page.waitForFunction(found);
  await page.waitForTimeout(4000);
  assert.ok(await page.evaluate(found));
  rmSync(join(FOLDER, "shop-1-cpu-20231114T221520Z.pb.gz"));
  await page.waitForTimeout(4000);
  assert.ok(await page.evaluate(found));
  assert.deepEqual(page.faults, []);
});

test("updates can be held", async () => {
  const page = await open(url);
  await page.click("#pause");
  arrive(join(PAGES, "before"), "shop-1-cpu-20231114T221320Z.pb.gz");
  await page.waitForTimeout(4000);
  assert.match(await page.textContent("#summary"), /4,149 samples/);
  await page.click("#pause");
  await page.waitForFunction(() => !document.getElementById("summary").textContent.includes("4,149 samples"));
  arrive(SHOP, "shop-1-cpu-20231114T221320Z.pb.gz");
});

test("a span is found by its id", async () => {
  const page = await open(`${url}#span=0001000200000009`);
  await page.waitForFunction(() => document.getElementById("trail").textContent.includes("span 0001000200000009"));
  await page.fill(".finder input", "ffffffffffffffff");
  await page.click(".finder button");
  await page.waitForFunction(() => document.querySelector(".said").textContent.startsWith("no local root span ffffffffffffffff"));
  assert.deepEqual(page.faults, []);
});

test("a page of another site can neither read, nor embed, nor script it", async (t) => {
  const other = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><title>other</title>"));
  await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    other.closeAllConnections();
    other.close();
  });
  const { port } = other.address();
  const browserPage = await open(url);
  const page = await browserPage.context().newPage();
  for (const host of ["127.0.0.1", "localhost"]) {
    await page.goto(`http://${host}:${port}/`);
    const got = await page.evaluate(async (target) => {
      const tried = (promise) => promise.then((answer) => `got ${answer.type}`, () => "refused");
      const loaded = (tag, key) =>
        new Promise((resolve) => {
          const made = document.createElement(tag);
          made.onload = () => resolve("loaded");
          made.onerror = () => resolve("refused");
          made[key] = `${target}document`;
          document.body.append(made);
        });
      return {
        cors: await tried(fetch(`${target}document`)),
        opaque: await tried(fetch(`${target}document`, { mode: "no-cors" })),
        post: await tried(fetch(`${target}document`, { method: "POST", mode: "no-cors" })),
        script: await loaded("script", "src"),
        image: await loaded("img", "src"),
      };
    }, url);
    assert.deepEqual(Object.values(got), Array(5).fill("refused"), JSON.stringify(got));
  }
});

test("a name that is made to point here gets nothing", async () => {
  const { port } = new URL(url);
  const rebound = await launch("--host-resolver-rules=MAP evil.example 127.0.0.1");
  const page = await rebound.newPage();
  const answer = await page.goto(`http://evil.example:${port}/`);
  assert.equal(answer.status(), 403);
  assert.equal(await page.textContent("body"), "Forbidden\n");
  await rebound.close();
});
