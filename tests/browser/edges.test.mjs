// SPDX-License-Identifier: Apache-2.0
// The page where data or surroundings are unusual: a reload, forced colours, clocks that differ,
// rows that are no route, and names that are empty or invisible.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { close, launch, open, violations } from "./support/browser.mjs";
import { Spanlink, until } from "./support/spanlink.mjs";
import { id, MS, now, NS, sendLinked, sendProfile, sendRoots, sendSpans,
  span } from "./support/traffic.mjs";

/* Spans of services without profiles do not wait for one for 45 s. */
const HASTY = { correlation: "hold: 1s" };

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

describe("rows of Cost that are no route", () => {
  let spanlink;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const end = now();
    await sendProfile(spanlink, "shop", [{ stack: ["main"], value: 3_000_000_000, span: id(16) }],
      end - 10n * NS, end);
    await sendLinked(spanlink, "shop", "", [{ stack: ["main"], value: 20_000_000 }]);
  });
  after(() => spanlink.remove());

  for (const view of ["cost", "flame"]) {
    test(`lead from ${view} to the flame graph of the service`, async () => {
      const page = await open(browser, `${spanlink.url}/#/${view}`);
      const link = page.getByRole("link", { name: /shop \((others|no span)\)/ });
      assert.match(await link.getAttribute("title"), /The link is to all of the service/);
      assert.deepEqual(await violations(page), []);
      await link.click();
      await page.waitForURL(`${spanlink.url}/#/flame?service=shop`);
      await page.getByText("3.02 s").first().waitFor();
      const routes = page.getByLabel("Route").locator("option");
      assert.deepEqual(await routes.allInnerTexts(), ["all routes", "(no name)"]);
      await close(page);
    });

    test(`and a route without a name keeps it from ${view} on`, async () => {
      const page = await open(browser, `${spanlink.url}/#/${view}`);
      await page.getByRole("link", { name: "shop (no name)" }).click();
      await page.waitForURL(`${spanlink.url}/#/flame?service=shop&name=`);
      await page.getByText(/ CPU time, \d+ sample/).waitFor();
      const route = page.getByLabel("Route");
      assert.equal(await route.evaluate((node) => node.selectedOptions[0].text), "(no name)");
      await route.selectOption("all routes");
      await page.waitForURL(`${spanlink.url}/#/flame?service=shop`);
      await close(page);
    });
  }
});

describe("a reload that changes the extension", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start({ ...HASTY, status: "keep_mib: 16" })));
  after(() => spanlink.remove());

  for (const name of ["traces", "cost"]) {
    test(`is told on ${name}, and the page goes on`, async () => {
      await sendRoots(spanlink, "shop", ["GET /before"]);
      await sendLinked(spanlink, "shop", "GET /cpu", [{ stack: ["main"], value: 1_000_000_000 }]);
      const page = await open(browser, `${spanlink.url}/#/${name}`);
      await page.getByText("GET /cpu").first().waitFor();
      await page.getByText(/, up /).waitFor();
      const wrong = await page.evaluateHandle(() => {
        const seen = [];
        new MutationObserver(() => {
          const [, said] = /(cannot be shown|status unknown)/.exec(document.body.innerText) ?? [];
          if (said && !seen.includes(said)) seen.push(said);
        }).observe(document.body, { childList: true, subtree: true, characterData: true });
        return seen;
      });
      await spanlink.reload(/keep_mib: (\d+)/, (_, mib) => `keep_mib: ${Number(mib) + 1}`);
      await page.getByText("The configuration was reloaded; what was kept before is gone").waitFor();
      await page.getByText("GET /cpu").first().waitFor({ state: "hidden" });
      await page.getByText(/, up /).waitFor();
      assert.deepEqual(await wrong.jsonValue(), []);
      assert.deepEqual(await violations(page), []);
      await sendLinked(spanlink, "shop", "GET /after", [{ stack: ["main"], value: 1_000_000_000 }]);
      await page.getByText("GET /after").first().waitFor();
      if (name === "cost") await page.getByText(/the table all since the start, or since a reload/).waitFor();
      await close(page);
    });
  }
});

