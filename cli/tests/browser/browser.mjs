// Chromium, the pages that `cli/tests/browser.rs` has written, and what can be seen of one.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

/** The folder of pages and files. */
export const PAGES = process.env.VTPROF_PAGES;

const PATHS = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const ROW = 21;

let browser = null;

/** A browser of its own. */
export function launch(...flags) {
  return chromium.launch({ executablePath: PATHS.find((path) => path && existsSync(path)), args: [...FLAGS, ...flags] });
}

/** A page in a window of its own; whatever goes wrong on it is in `page.faults`. */
export async function open(url, options = {}) {
  browser ??= await launch();
  const context = await browser.newContext({ viewport: { width: 1300, height: 820 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.faults = [];
  page.requests = [];
  page.on("console", (message) => message.type() === "error" && page.faults.push(message.text()));
  page.on("pageerror", (error) => page.faults.push(error.stack));
  page.on("request", (request) => page.requests.push(request.url()));
  if (options.before) await page.addInitScript(options.before);
  await page.goto(url.includes("://") ? url : `file://${join(PAGES, url)}`);
  await page.waitForFunction(() => document.documentElement.dataset.painted);
  return page;
}

export async function close() {
  await browser?.close();
  browser = null;
}

/** What vtprof answers. */
export function vtprof(...args) {
  return execFileSync(process.env.VTPROF, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28 });
}

export const json = (...args) => JSON.parse(vtprof(...args, "--json"));

/** Values by stack, of lines of one value. */
export function stacks(...args) {
  const lines = vtprof("flame", ...args, "--format", "collapsed").trimEnd().split("\n");
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]));
}

/** What is read out of the frame that is chosen. */
export const chosen = (page) => page.textContent("#frame");

/** The colour at a place of the graph, by row and by the part of its width. */
export function colour(page, row, part) {
  return page.evaluate(([y, x]) => {
    const canvas = document.querySelector("#graph canvas");
    const ratio = canvas.width / canvas.clientWidth;
    const at = canvas.getContext("2d").getImageData(Math.round(x * canvas.width), Math.round(y * ratio), 1, 1);
    const [r, g, b] = at.data;
    return { r, g, b, isGrey: Math.max(r, g, b) - Math.min(r, g, b) < 16 };
  }, [row * ROW + 3, part]);
}

/** Moves the pointer there; what is said of the frame below it. */
export async function hover(page, row, part) {
  const box = await page.locator("#graph canvas").boundingBox();
  await page.mouse.move(box.x + box.width * part, box.y + row * ROW + 10);
  const isShown = await page.locator("#tooltip").isVisible();
  return isShown ? page.locator("#tooltip > *").allTextContents() : null;
}

/** A click on a frame. */
export async function click(page, row, part) {
  await hover(page, row, part);
  const box = await page.locator("#graph canvas").boundingBox();
  await page.mouse.click(box.x + box.width * part, box.y + row * ROW + 10);
}
