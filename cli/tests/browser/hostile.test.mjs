// Names of others stay text, whatever is in them.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { chosen, close, hover, open } from "./browser.mjs";

after(close);

const owned = (page) => page.evaluate(() => window.owned);

test("names with markup, quotes and marks of direction are shown as they are", async () => {
  const page = await open("hostile.html");
  await page.click("#tab-functions");
  const names = await page.locator("#functions tbody th").allTextContents();
  for (const name of [
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror='window.owned = 2'>",
    "\"'`><svg/onload=window.owned=3>",
    "a\\u{202e}dlrow\\u{2066}b",
    "&lt;b&gt; {{data}} ${1} \\u0041",
    "]]>--><!--",
    "__proto__",
    "日本語の関数",
  ]) {
    assert.ok(names.includes(name), name);
    await page.locator(".endpoints .row", { hasText: name }).first().click();
    assert.match(await page.textContent("#summary"), /400 ms, 40 samples/, name);
    assert.ok((await page.textContent("#trail")).includes(name));
  }
  assert.equal(await page.title(), "</title><script>window.owned = 9</script> – vtprof");
  assert.equal(await owned(page), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("a name of a megabyte is shown by its ends", async () => {
  const page = await open("hostile.html");
  await page.fill("#search", "beginx");
  assert.match(await page.textContent("#found"), /^1 frame, 11.1 %/);
  await page.keyboard.press("Enter");
  const text = await chosen(page);
  assert.match(text, /^beginx+…\(1,046,584 more\)…x+end; total 400 ms/);
  const told = await hover(page, 1, 0.5);
  assert.equal(told[0], "com.shop.Main.run");
});

test("the policy lets no other script run, be it put there by the page itself", async () => {
  const page = await open("hostile.html");
  const violated = await page.evaluate(async () => {
    const heard = new Promise((resolve) => document.addEventListener("securitypolicyviolation", (event) => resolve(event.effectiveDirective)));
    const script = document.createElement("script");
    script.textContent = "window.owned = 5";
    document.body.append(script);
    return heard;
  });
  assert.equal(violated, "script-src-elem");
  assert.equal(await owned(page), undefined);
  const fetched = await page.evaluate(() => fetch("http://127.0.0.1:9/").then(() => "sent", () => "refused"));
  assert.equal(fetched, "refused");
  assert.ok(page.faults.some((text) => text.includes("Content Security Policy") && text.includes("127.0.0.1:9")), page.faults.join("\n"));
});

test("an address with anything in it does no harm", async () => {
  const page = await open("hostile.html#endpoint=%3Cimg%20src%3Dx%20onerror%3D%27window.owned%20%3D%202%27%3E&from=x&to=-1&against=set&against-span=zz&by=%00&measure=no&view=no");
  assert.match(await page.textContent("#trail"), /<img src=x/);
  assert.equal(await owned(page), undefined);
  assert.deepEqual(page.faults, []);
});
