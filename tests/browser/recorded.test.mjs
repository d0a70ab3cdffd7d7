// SPDX-License-Identifier: Apache-2.0
// Every view over what a real application and its SDKs sent, with the mouse and with the keyboard
// alone, in both themes and three widths.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { readFile } from "node:fs/promises";
import { close, fits, launch, open, violations } from "./support/browser.mjs";
import { Spanlink, until } from "./support/spanlink.mjs";

const SERVICE = "rideshare";
let browser;
let spanlink;
let linked; // the trace with the most CPU time: a row of /api/traces
let plain;  // the row of one that was decided but not linked

before(async () => {
  browser = await launch();
  spanlink = await Spanlink.start();
  await spanlink.play("python");
  linked = await until(async () => {
    const { traces } = await spanlink.api("/api/traces?sort=cpu&linked=true&limit=1");
    return traces[0];
  }, "a linked trace");
  plain = await until(async () => {
    const { traces } = await spanlink.api("/api/traces?linked=false&limit=1000");
    for (const trace of traces) {
      const known = await spanlink.api(`/api/spans/${trace.root_span_id}`);
      if (known.decision === "not_linked") return trace;
    }
    return null;
  }, "a trace that is not linked");
});
after(async () => {
  await spanlink?.remove();
  await browser?.close();
});

const at = (view) => open(browser, `${spanlink.url}/#/${view}`);

/** The addresses of all views. */
const views = () => ["traces", `trace/${linked.trace_id}`, "flame", `flame?service=${SERVICE}`,
  `flame?service=${SERVICE}&show=both&q=ride`, `flame?service=${SERVICE}&show=sandwich`,
  `flame?span=${linked.root_span_id}&vs=route&show=both`, `flame?trace=${linked.trace_id}`,
  "why", `why?id=${linked.root_span_id}`, `why?id=${plain.root_span_id}`, "cost", "pipeline"];

/** The view is drawn: it has what it shows, and nothing is being loaded. */
async function drawn(page) {
  const things = ".table, .flame, .functions, .card, .chart, .node";
  await page.locator("main").locator(things).first().waitFor();
  await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
}

describe("traces", () => {
  test("lists them with what they cost", async () => {
    const page = await at("traces?sort=cpu");
    const row = page.getByRole("row").nth(1);
    await row.getByRole("link", { name: `${SERVICE} ${linked.name}` }).waitFor();
    await row.getByRole("link", { name: /^linked/ }).waitFor();
    assert.match(await row.textContent(), / m?s/);
    await close(page);
  });

  test("filters by service, links and CPU time", async () => {
    const page = await at("traces");
    await page.getByLabel("Spans").selectOption("linked");
    await page.getByLabel("CPU from").fill("1h");
    await page.getByLabel("CPU from").press("Enter");
    await page.getByRole("heading", { name: "No trace matches" }).waitFor();
    assert.match(page.url(), /linked=true&min_cpu=1h/);
    await page.getByRole("button", { name: "Clear the search" }).click();
    await page.getByRole("link", { name: new RegExp(`^${SERVICE} `) }).first().waitFor();
    await close(page);
  });

  test("a span id leads to its trace", async () => {
    const page = await at("traces");
    await page.getByRole("searchbox").fill(linked.root_span_id);
    await page.getByText("1 shown").waitFor();
    await page.getByRole("link", { name: `${SERVICE} ${linked.name}` }).click();
    await page.getByRole("tree").waitFor();
    assert.match(page.url(), new RegExp(linked.trace_id));
    await close(page);
  });
});

describe("a trace", () => {
  test("has a tree of its spans, and the flame graph of the one chosen", async () => {
    const { spans } = await spanlink.api(`/api/traces/${linked.trace_id}`);
    const page = await at(`trace/${linked.trace_id}`);
    await page.getByRole("treeitem").nth(spans.length - 1).waitFor();
    for (const span of spans) {
      await page.getByRole("treeitem", { name: `${span.service} ${span.name}`,
        exact: true }).first().waitFor();
    }
    const details = page.getByRole("region", { name: "Span", exact: true });
    await details.getByRole("button",
      { name: /, self .*, total / }).first().waitFor({ state: "attached" });
    await page.getByRole("link", { name: "Flame graph of the whole trace" }).click();
    await page.getByRole("heading", { name: "Flame graph of a trace" }).waitFor();
    await page.getByRole("button", { name: /^total, self/ }).waitFor({ state: "attached" });
    await close(page);
  });

  test("is read with the keyboard alone", async () => {
    const { spans } = await spanlink.api(`/api/traces/${linked.trace_id}`);
    const root = spans.find((span) => span.span_id === linked.root_span_id);
    const page = await at(`trace/${linked.trace_id}`);
    const items = page.getByRole("treeitem");
    await items.nth(spans.length - 1).waitFor();
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    for (let i = 0; i < 20 && !(await focused())?.startsWith(SERVICE); i++) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Home");
    assert.equal(await focused(), `${root.service} ${root.name}`);
    await page.keyboard.press("ArrowLeft");
    assert.equal(await items.count(), 1);
    assert.equal(await items.first().getAttribute("aria-expanded"), "false");
    await page.keyboard.press("ArrowRight");
    assert.equal(await items.count(), spans.length);
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    assert.match(page.url(), new RegExp(`span=${(await spanOf(page, spans)).span_id}`));
    await page.keyboard.press("Home");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Span", exact: true })
      .getByRole("heading", { name: `${root.service} ${root.name}` }).waitFor();
    await close(page);
  });

  async function spanOf(page, spans) {
    const name = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    const id = /span=([0-9a-f]{16})/.exec(page.url())?.[1];
    const span = spans.find((each) => each.span_id === id);
    assert.equal(`${span.service} ${span.name}`, name);
    return span;
  }
});

describe("a flame graph", () => {
  test("has the numbers of the profile, in all its forms", async () => {
    const query = `span=${linked.root_span_id}`;
    const answer = await spanlink.api(`/api/flamegraph?${query}`);
    const page = await at(`flame?${query}`);
    await page.getByRole("button", { name: /^total, self/ }).waitFor({ state: "attached" });
    const folded = await download(page, "Folded stacks");
    const sum = folded.toString().trim().split("\n").reduce((total, line) =>
      total + Number(/ (\d+)$/.exec(line)[1]), 0);
    assert.equal(sum, answer.total);
    assert.match((await download(page, "SVG")).toString(), /^<svg /);
    assert.ok(gunzipSync(await download(page, "pprof")).length > 0);
    await close(page);
  });

  async function download(page, name) {
    await page.getByText("Download", { exact: true }).click();
    const [file] = await Promise.all([page.waitForEvent("download"),
      page.getByRole("link", { name, exact: true }).click()]);
    return readFile(await file.path());
  }

  test("is walked through with the keyboard alone", async () => {
    const page = await at(`flame?service=${SERVICE}`);
    const frame = page.getByRole("button", { name: /^total, self/ });
    await frame.waitFor({ state: "attached" });
    await frame.focus();
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    await page.keyboard.press("ArrowDown");
    const first = await focused();
    assert.match(first, /^.+, self .+, total .+/);
    assert.doesNotMatch(first, /^total,/);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Reset zoom" }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Reset zoom" }).waitFor({ state: "hidden" });
    await page.keyboard.press("End");
    const [tip, graph] = await Promise.all([".tip", ".flame"].map((part) => page.locator(part).boundingBox()));
    assert.ok(tip.y + tip.height <= graph.y + graph.height, "the tip covers what is below the graph");
    await page.keyboard.press("Home");
    assert.match(await focused(), /^total, self/);
    await page.getByRole("button", { name: "Flame", exact: true }).press("Enter");
    await frame.focus();
    await page.keyboard.press("ArrowUp");
    assert.equal(await focused(), first);
    await close(page);
  });

  test("compares a span with the mean of its route", async () => {
    const page = await at(`flame?span=${linked.root_span_id}`);
    await page.getByLabel("Compare with").selectOption("its route's mean");
    await page.getByText(/, the mean of \d+ spans? that samples name, of/).waitFor();
    await page.getByRole("button", { name: "Shares" }).click();
    await page.getByRole("button",
      { name: /^total, self .*, total 100 %, mean 100 %/ }).waitFor({ state: "attached" });
    assert.match(page.url(), /vs=route&by=share/);
    await close(page);
  });

  test("leaves the focus to the control that was used", async () => {
    const page = await at(`flame?service=${SERVICE}`);
    const isFocused = (control) => until(() => control.evaluate(
      (node) => node === document.activeElement), "the focus");
    const choose = async (label, key, wanted) => {
      const control = page.getByRole("combobox", { name: new RegExp(`^${label}`) });
      await control.focus();
      await page.keyboard.press(key);
      await page.waitForURL(wanted);
      await page.waitForTimeout(300);
      await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
      await isFocused(control);
    };
    await page.getByLabel("Route").waitFor();
    await choose("Route", "ArrowDown", /name=/);
    await choose("Time", "End", /from=-60m/);
    await choose("Compare with", "ArrowDown", /vs=before/);
    await page.getByRole("button", { name: "Shares" }).press("Enter");
    await page.waitForURL(/by=share/);
    await page.waitForTimeout(300);
    await isFocused(page.getByRole("button", { name: "Shares" }));
    await close(page);
  });

  test("keeps what it shows in its address", async () => {
    const page = await at(`flame?service=${SERVICE}`);
    await page.getByRole("button", { name: "Both", exact: true }).click();
    await page.getByRole("searchbox", { name: /Find functions/ }).fill("ride");
    const share = page.getByText(/^\d.* % in \d+ functions?$/);
    const found = await share.textContent();
    await page.reload();
    await share.waitFor();
    assert.equal(await share.textContent(), found);
    await page.getByRole("columnheader", { name: "Self" }).waitFor();
    await close(page);
  });

  test("of a route is reached from its cost", async () => {
    const page = await at("cost");
    await page.getByRole("link", { name: `${SERVICE} GET /car` }).click();
    const route = page.getByRole("combobox", { name: "Route" });
    await route.waitFor();
    assert.equal(await route.evaluate((node) => node.selectedOptions[0].textContent), "GET /car");
    await page.getByRole("button", { name: /^total, self/ }).waitFor({ state: "attached" });
    await close(page);
  });
});

describe("why", () => {
  test("explains a linked span from its traceparent", async () => {
    const page = await at("why");
    await page.getByLabel("Span id or traceparent")
      .fill(`traceparent: 00-${linked.trace_id}-${linked.root_span_id}-01`);
    await page.getByRole("heading", { name: "It has a flame graph" }).waitFor();
    await page.getByRole("img",
      { name: /profile windows?, [1-9]\d* with samples of the span/ }).waitFor();
    await page.getByRole("link", { name: "Its flame graph" }).waitFor();
    await close(page);
  });

  test("explains one that is not, and its service", async () => {
    const page = await at(`why?id=${plain.root_span_id}`);
    await page.getByRole("heading", { name: "It has no flame graph" }).waitFor();
    const { text } = await spanlink.api(`/api/spans/${plain.root_span_id}`);
    await page.getByText(text).first().waitFor();
    await page.getByRole("region", { name: `Reasons of ${SERVICE}` }).waitFor();
    await close(page);
  });
});

describe("pipeline", () => {
  test("shows the components, their documentation and the configuration", async () => {
    const page = await at("pipeline");
    for (const name of ["receiver otlp", "receiver pyroscope", "processor correlation",
      "exporter file"]) {
      await page.getByRole("article", { name }).getByText(/so far/).waitFor();
    }
    await page.getByRole("region", { name: "Configuration" }).getByText("correlation").waitFor();
    for (const [name, key] of [["correlation", "hold"], ["Memory budget", "limit_mib"]]) {
      const href = await page.getByRole("link", { name, exact: true }).getAttribute("href");
      const text = await (await fetch(spanlink.url + href)).text();
      assert.match(text, new RegExp(`^    ${key} `, "m"));
    }
    await close(page);
  });
});

describe("every view", () => {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [360, 820, 1440]) {
      test(`is accessible and fits: ${colorScheme}, ${width} pixels`, async () => {
        const page = await open(browser, spanlink.url,
          { colorScheme, viewport: { width, height: 800 }, reducedMotion: "reduce" });
        for (const view of views()) {
          await page.goto("about:blank");
          await page.goto(`${spanlink.url}/#/${view}`);
          await drawn(page);
          assert.deepEqual(await violations(page), [], view);
          assert.ok(await fits(page), `${view} is wider than the window`);
        }
        await close(page);
      });
    }
  }

  test("shows nothing but text of this origin, and nothing inline", async () => {
    const answer = await fetch(spanlink.url);
    assert.equal(answer.headers.get("content-security-policy"), "default-src 'self'; "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    assert.doesNotMatch(await answer.text(), /<style|<script>|\sstyle=|\son\w+=/);
  });

  test("is small", async () => {
    const page = await open(browser, spanlink.url);
    for (const view of views()) {
      await page.goto(`${spanlink.url}/#/${view}`);
      await drawn(page);
    }
    const sizes = await page.evaluate(() => performance.getEntries()
      .filter(({ name, entryType }) => ["resource", "navigation"].includes(entryType)
        && !name.includes("/api/"))
      .map(({ name, decodedBodySize }) => [new URL(name).pathname, decodedBodySize]));
    const total = [...new Map(sizes).values()].reduce((sum, size) => sum + size, 0);
    assert.ok(total > 50_000 && total < 150_000, `${total} bytes`);
    await close(page);
  });
});

test("going back and forth keeps the views", async () => {
  const page = await at("traces");
  await page.getByRole("link", { name: new RegExp(`^${SERVICE} `) }).first().click();
  await page.getByRole("tree").waitFor();
  await page.getByRole("link", { name: "Cost" }).click();
  await page.getByRole("heading", { name: "Cost by route" }).waitFor();
  await page.goBack();
  await page.getByRole("tree").waitFor();
  await page.goBack();
  await page.getByRole("table", { name: "Traces" }).waitFor();
  await page.goForward();
  await page.getByRole("tree").waitFor();
  await close(page);
});

test("Tab begins with a way past the navigation", async () => {
  const page = await at("why");
  await drawn(page);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent),
    "Skip to the content");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.id), "why-id");
  await close(page);
});
