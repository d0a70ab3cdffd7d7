// SPDX-License-Identifier: Apache-2.0
// What a reader takes from the page: numbers that nothing covers, words that are true of what they
// describe, and a flame graph that outlives a restart of spanlink.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { close, fits, launch, open, violations } from "./support/browser.mjs";
import { Spanlink, until } from "./support/spanlink.mjs";
import { id, MS, now, NS, sendLinked, sendProfile, sendSpans, span } from "./support/traffic.mjs";

const HASTY = { correlation: "hold: 1s" };
const DEEP = Array.from({ length: 60 }, (_, i) => `deep${i}`);

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

describe("traces of wall time only", () => {
  let spanlink;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const end = now();
    const roots = [41_100_000n, 7_140n * NS].map((length) => span({ trace: id(32),
      name: `GET /${length}`, start: end - length, end }));
    await sendProfile(spanlink, "nodeshop", roots.map((each, i) => ({ stack: ["main"],
      span: each.spanId, value: [41_100_000, 41_000_000][i] })), end - 10n * NS, end, "wall");
    await sendSpans(spanlink, "nodeshop", roots);
    await until(async () => (await spanlink.api("/api/traces?linked=true")).traces.length === 2,
      "the links");
  });
  after(() => spanlink.remove());

  for (const width of [900, 1000, 1280, 1600]) {
    test(`have bars that end before their numbers: ${width} pixels`, async () => {
      const page = await open(browser, spanlink.url, { viewport: { width, height: 700 } });
      await page.getByRole("cell", { name: "41.1 ms wall" }).waitFor();
      const cells = await page.locator(".rows .measure").evaluateAll((nodes) => nodes.map((node) => {
        const text = document.createRange();
        text.selectNodeContents(node);
        const bar = parseFloat(getComputedStyle(node, "::before").width);
        return [node.textContent, node.getBoundingClientRect().left + bar,
          text.getBoundingClientRect().left];
      }));
      assert.equal(cells.length, 4);
      for (const [text, bar, begin] of cells) assert.ok(bar < begin, `${text}: ${bar} >= ${begin}`);
      await close(page);
    });
  }
});

describe("a recursive function", () => {
  const focused = (page) => page.evaluate(() => document.activeElement.textContent);
  let spanlink, root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    root = await sendLinked(spanlink, "shop", "GET /",
      [{ stack: ["main", "fib", "fib", "fib"], value: 100_000_000 },
        { stack: ["main", "encode"], value: 20_000_000 }]);
  });
  after(() => spanlink.remove());

  test("has the same time of its own in the table and in the sandwich", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}&show=sandwich&fn=fib`);
    await page.getByRole("row", { name: "fib 100 ms 83.3 % 100 ms 83.3 %" }).waitFor();
    await page.getByText("fib 100 ms · 83.3 % of all, 100 ms itself").waitFor();
    await close(page);
  });

  for (const show of ["Table", "Both", "Sandwich"]) {
    test(`chosen in ${show} keeps the focus, and Back leads there`, async () => {
      const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}`);
      await page.getByRole("button", { name: show, exact: true }).click();
      const address = page.url();
      const chosen = page.getByRole("rowheader").getByRole("button", { name: "encode", exact: true });
      await chosen.press("Enter");
      await page.getByRole("group", { name: "Callers of encode" }).waitFor();
      assert.equal(await focused(page), "encode");
      await page.getByText("Callers and callees of encode").waitFor({ state: "attached" });
      await page.goBack();
      assert.equal(page.url().replace(/&fn=.*/, ""), address.replace(/&fn=.*/, ""));
      await page.getByRole("button", { name: show, exact: true, pressed: true }).waitFor();
      await page.getByRole("group", { name: "Callers of encode" }).waitFor({ state: "detached" });
      assert.equal(await focused(page), "encode");
      await close(page);
    });
  }
});

test("a name of 70,000 characters is cut", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const [trace, end] = [id(32), now()];
  await sendSpans(spanlink, "A".repeat(70_000), [span({ trace, name: "GET /", start: end - MS, end })]);
  await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === 1, "the span");
  const page = await open(browser, `${spanlink.url}/#/trace/${trace}`);
  assert.equal(await page.getByRole("treeitem").getAttribute("aria-label"), `${"A".repeat(1000)}… GET /`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  assert.ok((await page.getByRole("heading", { level: 1 }).textContent()).length < 1010);
  await close(page);
  await spanlink.remove();
});

describe("a trace of 900 spans", () => {
  let spanlink, spans;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const [trace, end] = [id(32), now()];
    const root = span({ trace, name: "GET /", start: end - NS, end });
    spans = [root, ...Array.from({ length: 899 }, (_, i) => span({ trace, parent: root.spanId,
      name: `step ${i}`, start: end - NS + BigInt(i) * 1000n, end }))];
    await sendSpans(spanlink, "shop", spans);
    await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === 900, "the spans");
  });
  after(() => spanlink.remove());

  test("opens at the span of its address, to which Tab leads", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/${spans[0].traceId}?span=${spans[800].spanId}`);
    const chosen = page.getByRole("treeitem", { name: "shop step 799" });
    await chosen.waitFor();
    assert.equal(await chosen.getAttribute("aria-selected"), "true");
    await page.waitForFunction((top) => scrollY > top, 2000);
    await page.evaluate(() => scrollTo(0, 0));
    await chosen.waitFor({ state: "detached" });
    await page.getByRole("button", { name: "Copy the trace id" }).focus();
    await page.keyboard.press("Tab");
    await chosen.waitFor();
    assert.equal(await chosen.evaluate((node) => node === document.activeElement), true);
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("says that the span of its address is not in it", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/${spans[0].traceId}?span=${"ab".repeat(8)}`);
    await page.getByText(`Span ${"ab".repeat(8)} is not here`).waitFor();
    await close(page);
  });
});

describe("a trace of ten services", () => {
  const SERVICES = ["frontend", "backend", ...Array.from({ length: 8 }, (_, i) => `service-${i}`)];
  let spanlink, root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const [trace, end] = [id(32), now()];
    root = span({ trace, name: "GET /", start: end - 10n * NS, end: end - 9n * NS });
    for (const [i, service] of SERVICES.entries()) {
      await sendSpans(spanlink, service, [i === 0 ? root
        : span({ trace, parent: root.spanId, name: "step", start: end - 9n * NS, end })]);
    }
    await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length
      === SERVICES.length, "the spans");
  });
  after(() => spanlink.remove());

  test("has a colour for each", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/${root.traceId}`);
    await page.getByRole("treeitem").nth(9).waitFor();
    const colours = await page.locator(".chip .swatch").evaluateAll((all) => all.map(
      (each) => getComputedStyle(each).backgroundColor));
    assert.equal(new Set(colours).size, SERVICES.length);
    const bars = await page.locator(".bar").evaluateAll((all) => all.map(
      (each) => getComputedStyle(each).backgroundColor));
    assert.equal(new Set(bars).size, SERVICES.length);
    await close(page);
  });

  test("has the duration of its root in the list and on its page", async () => {
    const page = await open(browser, `${spanlink.url}/#/traces`);
    await page.getByRole("row", { name: "frontend GET /" }).getByRole("cell", { name: "1 s", exact: true }).waitFor();
    await page.getByRole("link", { name: "frontend GET /" }).click();
    const facts = page.locator(".facts").first();
    await facts.getByText("Duration1 s", { exact: true }).waitFor();
    await facts.getByText("All spanswithin 10 s", { exact: true }).waitFor();
    await close(page);
  });

  test("is found by each", async () => {
    const page = await open(browser, spanlink.url);
    const search = page.getByRole("searchbox", { name: "Search traces" });
    const found = page.getByRole("link", { name: "frontend GET /" });
    for (const service of SERVICES) {
      await page.goto(`${spanlink.url}/#/traces?service=${service}&linked=false`);
      await found.waitFor();
      await page.goto(`${spanlink.url}/#/traces`);
      await search.fill("nothing at all");
      await page.getByText("No trace matches").waitFor();
      await search.fill(service.toUpperCase());
      await found.waitFor();
    }
    await close(page);
  });

  test("is named where a traceparent names another one", async () => {
    const page = await open(browser,
      `${spanlink.url}/#/why?id=00-${"ab".repeat(16)}-${root.spanId}-01`);
    const said = page.getByText(`this span is of trace ${root.traceId}`);
    await said.waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("textbox").fill(`00-${root.traceId}-${root.spanId}-01`);
    await said.waitFor({ state: "detached" });
    await close(page);
  });
});

describe("a linked span", () => {
  let spanlink, root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    root = await sendLinked(spanlink, "shop", "GET /",
      [{ stack: ["main", ...DEEP], value: 20_000_000 }, { stack: ["main", "short"], value: 10_000_000 }]);
    await sendLinked(spanlink, "shop", "GET /", [{ stack: ["main", "other"], value: 50_000_000 }]);
  });
  after(() => spanlink.remove());

  test("shorter than a sample's period has no share of its duration", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/${root.traceId}`);
    await page.getByText("30 ms, more than its duration: a sample counts for 10 ms").waitFor();
    assert.equal(await page.getByText(/busy machine/).count(), 0);
    await close(page);
  });

  test("is found by its id with 0x before it", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("searchbox", { name: "Search traces" }).fill(`0x${root.spanId}`);
    await page.getByText("1 shown, 2 kept").waitFor();
    await close(page);
  });

  test("has a graph whose base is in view after the table was", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}`);
    await page.getByRole("button", { name: "Flame", exact: true }).click();
    const scroller = page.locator(".flame-scroll");
    const base = await until(() => scroller.evaluate((node) => node.scrollTop), "the base");
    for (const show of ["Table", "Both", "Sandwich"]) {
      await page.getByRole("button", { name: show, exact: true }).click();
      await page.getByRole("button", { name: "Graph", exact: true }).click();
      await until(async () => await scroller.evaluate((node) => node.scrollTop) === base,
        `the base after ${show}`, 5);
    }
    await close(page);
  });

  test("is compared with the mean of its route, not with what was before", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}&vs=route&show=both`);
    await page.getByText(/, the mean of 2 spans that samples name, of/).waitFor();
    await page.getByRole("button", { name: /^main, self 0, total 30 ms, mean 40 ms, less by 10 ms/ })
      .waitFor({ state: "attached" });
    for (const name of ["Mean", "This", "Change"]) {
      await page.getByRole("columnheader", { name }).waitFor();
    }
    await page.getByText("Download").click();
    await page.getByText("Without the comparison").waitFor();
    const text = await page.locator("main").innerText();
    assert.doesNotMatch(text, /\bbefore\b|\bnow\b|\bafter\b/i);
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("has a trace whose flame graph says what it adds up", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?trace=${root.traceId}`);
    await page.getByText("all samples of its spans, over all services seen here").waitFor();
    await close(page);
  });

  test("leaves Cost readable on a phone: there is a sign of what is beyond the edge", async () => {
    const page = await open(browser, `${spanlink.url}/#/cost`, { viewport: { width: 360, height: 700 } });
    const table = page.getByRole("region", { name: "Routes" });
    await table.waitFor();
    assert.ok(await table.evaluate((node) => node.scrollWidth > node.clientWidth));
    assert.match(await table.evaluate((node) => getComputedStyle(node).backgroundAttachment), /local/);
    assert.deepEqual(await violations(page), []);
    assert.ok(await fits(page));
    await close(page);
  });
});

test("the panel of a span says that it failed, and its links are far enough apart", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const [trace, end] = [id(32), now()];
  const links = Array.from({ length: 2 }, () => ({ traceId: id(32), spanId: id(16) }));
  const made = [["bad", { code: 2 }, "error"], ["worse", { code: 2, message: "no disk" }, "error: no disk"],
    ["good", { code: 1 }]].map(([name, status, said]) => ({
    ...span({ trace, name, start: end - MS, end, status }), links, said }));
  await sendSpans(spanlink, "shop", made.map(({ said, ...each }) => each));
  await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === made.length, "the spans");
  const page = await open(browser, spanlink.url, { viewport: { width: 768, height: 900 } });
  const details = page.getByRole("region", { name: "Span", exact: true });
  for (const { name, spanId, said } of made) {
    await page.goto(`${spanlink.url}/#/trace/${trace}?span=${spanId}`);
    await details.getByRole("heading", { name: `shop ${name}` }).waitFor();
    if (said) await details.getByText(`Status${said}`, { exact: true }).waitFor();
    else assert.equal(await details.getByText("Status").count(), 0);
    assert.equal(await details.getByRole("link", { name: links[1].spanId }).count(), 1);
    assert.deepEqual(await violations(page), []);
  }
  await close(page);
  await spanlink.remove();
});

test("times are those of the log, wherever the browser is", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  const root = span({ trace: id(32), name: "GET /", start: end - MS, end });
  await sendSpans(spanlink, "shop", [root]);
  await until(async () => (await spanlink.api("/api/services")).services[0]?.not_linked === 1, "the decision");
  const page = await open(browser, `${spanlink.url}/#/why?id=${root.spanId}`, { timezoneId: "America/New_York" });
  await page.getByText(`Ended${new Date(Number(end / MS)).toISOString().replace("T", " ")}`, { exact: true }).waitFor();
  await page.locator(".chart .axis").getByText(/^\d\d:\d\d:\d\dZ$/).first().waitFor();
  await close(page);
  await spanlink.remove();
});

test("a failed request is marked in the list", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  const roots = [[2, "GET /bad"], [1, "GET /good"]].map(([code, name]) => span({ trace: id(32), name,
    start: end - MS, end, status: { code } }));
  await sendSpans(spanlink, "shop", roots);
  const page = await open(browser, spanlink.url, { viewport: { width: 360, height: 700 } });
  const marked = (name) => page.getByRole("row", { name }).locator(".failed");
  await marked("shop GET /bad").waitFor();
  assert.equal(await marked("shop GET /good").count(), 0);
  assert.deepEqual(await violations(page), []);
  await close(page);
  await spanlink.remove();
});

test("reasons have room for their words on a phone", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  await sendSpans(spanlink, "shop", [span({ trace: id(32), name: "GET /", start: end - MS, end })]);
  await until(async () => (await spanlink.api("/api/services")).services[0]?.not_linked === 1,
    "the decision");
  const page = await open(browser, `${spanlink.url}/#/why`, { viewport: { width: 360, height: 700 } });
  const cell = page.getByRole("region", { name: "Reasons of shop" }).getByRole("cell").last();
  await cell.waitFor();
  assert.ok((await cell.boundingBox()).width > 180);
  assert.deepEqual(await violations(page), []);
  assert.ok(await fits(page));
  await close(page);
  await spanlink.remove();
});

test("a span id that no span has is not said to wait", async () => {
  const spanlink = await Spanlink.start({ correlation: "hold: 50s" });
  const end = now();
  await sendLinked(spanlink, "shop", "GET /", [{ stack: ["main"], value: 20_000_000 }]);
  await sendSpans(spanlink, "late", [span({ trace: id(32), name: "GET /", start: end - MS, end })]);
  const page = await open(browser, `${spanlink.url}/#/traces?q=${"0".repeat(16)}`);
  await page.getByRole("heading", { name: "No trace matches" }).waitFor();
  await page.goto(`${spanlink.url}/#/pipeline`);
  await page.getByRole("article", { name: "processor correlation" })
    .getByText("1 spans, 1 sample records so far, 2 spans, 1 sample records came in").waitFor();
  await close(page);
  await spanlink.remove();
});

describe("the flame graph of a service, while spanlink is down", () => {
  let spanlink, page;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  const drawn = (leaf) => page.getByRole("button", { name: new RegExp(`^${leaf}, self 20 ms`) })
    .waitFor({ state: "attached" });
  const send = (leaf) => sendLinked(spanlink, "shop", "GET /",
    [{ stack: ["main", leaf], value: 20_000_000 }]);
  const down = async () => {
    await send("early");
    page = await open(browser, `${spanlink.url}/#/flame?service=shop`);
    await drawn("early");
    await page.getByLabel("Time").waitFor();
    await spanlink.end();
  };
  const up = async () => {
    await spanlink.run();
    await send("late");
    await page.getByText(/^spanlink does not respond on/).first().waitFor({ state: "hidden" });
    await page.getByText("could not be loaded").waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Refresh" }).click();
    await drawn("late");
    await close(page);
  };

  test("stays when it is refreshed, and is drawn anew afterwards", async () => {
    await down();
    await page.getByRole("button", { name: "Refresh" }).click();
    await page.getByText(/^spanlink does not respond on/).first().waitFor();
    await drawn("early");
    await page.getByLabel("Time").waitFor();
    await up();
  });

  test("is drawn afterwards for a time that was chosen meanwhile", async () => {
    await down();
    await page.getByLabel("Time").selectOption("15 min");
    await page.getByText("The flame graph could not be loaded").waitFor();
    await page.getByLabel("Time").waitFor();
    await up();
  });
});
