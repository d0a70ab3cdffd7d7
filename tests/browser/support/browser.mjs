// SPDX-License-Identifier: Apache-2.0
// Debian's Chromium, and pages that fail a test by an error of theirs.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { ROOT } from "./spanlink.mjs";

const require = createRequire(path.join(ROOT, "build/browser/"));
const { chromium } = require("playwright-core");
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
    args: ["--no-sandbox"] });
}

/**
 * A page of its own. What it writes to the console as an error, throws, or asks of another host is
 * in page.faults. Answers with an error status, and a server that is gone, are not its faults.
 */
export async function open(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.faults = [];
  page.on("pageerror", (problem) => page.faults.push(problem.stack));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) {
      page.faults.push(message.text());
    }
  });
  page.on("request", (request) => {
    const { host } = new URL(request.url());
    if (host !== new URL(address).host) page.faults.push(`asked ${request.url()}`);
  });
  await page.goto(address);
  return page;
}

export async function close(page) {
  await page.context().close();
  assert.deepEqual(page.faults, []);
}

/** What axe-core finds wrong, one line each. */
export async function violations(page) {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(() => globalThis.axe.run(document, {
    runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  return found.flatMap(({ id, nodes }) => nodes.map(
    ({ target, failureSummary }) => `${id}: ${target.join(" ")} ${failureSummary}`));
}

/** Whether nothing but what may scroll is wider than the window. */
export async function fits(page) {
  return page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
}
