// Many frames and deep stacks: what is drawn is bound by the window and not by the profile.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chosen, close, open } from "./browser.mjs";

after(close);

/** Counts rectangles, and notes the longest time that the page was busy. */
function watch() {
  window.rectangles = 0;
  const { fillRect } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillRect = function (...args) {
    window.rectangles += 1;
    return fillRect.apply(this, args);
  };
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) window.longest = Math.max(window.longest, entry.duration);
  }).observe({ type: "longtask", buffered: true });
}

test("fifty thousand frames are there and only what can be seen is drawn", async (t) => {
  const page = await open("wide.html", { before: watch });
  const painted = await page.evaluate(() => Number(document.documentElement.dataset.painted));
  t.diagnostic(`50,000 frames: first painted ${painted} ms after the page was asked for`);
  await page.fill("#search", "com.shop");
  assert.match(await page.textContent("#found"), /^50,000 frames, 100.0 %/);
  const size = await page.evaluate(() => {
    const canvas = document.querySelector("#graph canvas");
    return { rows: Math.ceil(canvas.clientHeight / 21) + 1, width: canvas.clientWidth, all: document.querySelectorAll("*").length };
  });
  const draw = async (change) => {
    await page.evaluate(() => (window.rectangles = 0));
    await change();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return page.evaluate(() => window.rectangles);
  };
  await page.evaluate(() => (window.longest = 0));
  const counts = [];
  for (const top of [0, 200, 500]) {
    counts.push(await draw(() => page.evaluate((y) => (document.getElementById("graph").scrollTop = y), top + 1)));
  }
  // A frame narrower than 0.6 px is not drawn.
  for (const count of counts) assert.ok(count > 100 && count <= (size.rows * size.width) / 0.6, `${counts}`);
  assert.ok(size.all < 500, `${size.all} elements`);
  for (const key of ["Home", "End", "Enter", "Escape", "n", "n", "ArrowRight", "ArrowLeft"]) {
    await page.focus("#graph");
    await page.keyboard.press(key);
  }
  const longest = await page.evaluate(() => window.longest);
  t.diagnostic(`50,000 frames: drawn ${counts.join(", ")} of them a time; busy at most ${longest.toFixed(0)} ms at a time (0: below 50)`);
  await page.click("#tab-functions");
  assert.ok((await page.locator("#functions tbody tr").count()) <= 100);
  assert.deepEqual(page.faults, []);
});

test("a stack of three thousand frames is scrolled, on a canvas as high as the window", async () => {
  const page = await open("deep.html");
  const size = await page.evaluate(() => ({
    canvas: document.querySelector("#graph canvas").height,
    box: document.getElementById("graph").clientHeight,
    all: document.getElementById("graph").scrollHeight,
  }));
  assert.equal(size.canvas, size.box);
  assert.equal(size.all, 3_001 * 21);
  await page.focus("#graph");
  await page.keyboard.press("End");
  assert.equal(await page.getAttribute("#frame", "aria-level"), "3001");
  assert.match(await chosen(page), /total 1\.00 s, 66\.7 %, 100 samples/);
  const scrolled = await page.evaluate(() => document.getElementById("graph").scrollTop);
  assert.ok(scrolled >= size.all - size.box - 2, `${scrolled}`);
  assert.deepEqual(page.faults, []);
});
