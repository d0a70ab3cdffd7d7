// SPDX-License-Identifier: Apache-2.0
// The page over traffic that was made up: nothing at all, 10,000 traces, 50,000 stacks, hostile
// names, spans without an end of their parents, and a restart.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { close, launch, open } from "./support/browser.mjs";
import { Spanlink, until } from "./support/spanlink.mjs";
import { id, now, NS, sendProfile, sendSpans, span } from "./support/traffic.mjs";

const MS = 1_000_000n;
/* Spans of services without profiles do not wait for one for 45 s. */
const HASTY = { correlation: "hold: 1s" };
const HOSTILE = '"><img src=x onerror="globalThis.taken=1">' +
  "<script>globalThis.taken=1</script>{{7*7}}\u202e";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

/** Roots of a service, so many, the newest first. */
async function sendRoots(spanlink, service, names) {
  const end = now();
  const spans = names.map((name, i) => {
    const start = end - BigInt(i + 1) * MS;
    return span({ trace: id(32), name, start, end: start + BigInt(i % 50 + 1) * MS });
  });
  for (let i = 0; i < spans.length; i += 1000) {
    await sendSpans(spanlink, service, spans.slice(i, i + 1000));
  }
  return spans;
}

/** A span whose samples have come. Resolves when it is linked. */
async function sendLinked(spanlink, service, name, samples) {
  const end = now();
  const root = span({ trace: id(32), name, start: end - MS, end });
  await sendProfile(spanlink, service, samples.map((each) => ({ ...each, span: root.spanId })),
    end - 10n * NS, end);
  await sendSpans(spanlink, service, [root]);
  await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).decision === "linked",
    "the link of the span");
  return root;
}

describe("an empty process", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  for (const [view, says] of [["traces", "No trace has come yet"],
    ["flame", "No profile samples yet"],
    ["why", "No trace has come yet"], ["cost", "No CPU time is known yet"],
    ["pipeline", "Nothing has been refused or dropped"]]) {
    test(`${view} says what to do next`, async () => {
      const page = await open(browser, `${spanlink.url}/#/${view}`);
      await page.getByText(says).first().waitFor();
      await close(page);
    });
  }

  test("wrong addresses are answered with sentences", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/xyz`);
    await page.getByRole("alert").getByText("a trace id has 32 hex digits").waitFor();
    await page.goto(`${spanlink.url}/#/trace/${"0".repeat(31)}1`);
    await page.getByRole("alert").getByText(/no span of this trace is kept/).waitFor();
    await page.goto(`${spanlink.url}/#/flame?span=xyz`);
    await page.getByRole("alert").waitFor();
    await page.goto(`${spanlink.url}/#/why?id=xyz`);
    await page.getByRole("alert").getByText("This is no span id").waitFor();
    await page.goto(`${spanlink.url}/#/why?id=00000000000000ff`);
    await page.getByRole("heading", { name: "This span is not known" }).waitFor();
    await page.goto(`${spanlink.url}/#/nowhere`);
    await page.getByRole("heading", { name: "There is no such view" }).waitFor();
    await page.goto(`${spanlink.url}/#/traces?min_duration=soon`);
    await page.getByRole("alert").getByText(/min_duration/).waitFor();
    await close(page);
  });

  test("the list follows the first trace by itself", async () => {
    const page = await open(browser, `${spanlink.url}/`);
    await page.getByText("No trace has come yet").waitFor();
    await sendRoots(spanlink, "shop", ["GET /first"]);
    await page.getByRole("link", { name: "shop GET /first" }).waitFor();
    await close(page);
  });
});

describe("10,000 traces", () => {
  let spanlink;
  before(async () => {
    spanlink = await Spanlink.start({ ...HASTY, status: "keep_mib: 64" });
    await sendRoots(spanlink, "many", Array.from({ length: 10_000 }, (_, i) => `GET /item/${i}`));
    await until(async () => (await spanlink.api("/api/traces?limit=1")).kept === 10_000,
      "all traces");
  });
  after(() => spanlink.remove());

  test("all can be scrolled through, and few rows exist", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("link", { name: "many GET /item/0", exact: true }).waitFor();
    await until(async () => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return page.getByRole("link", { name: "many GET /item/9999", exact: true }).isVisible();
    }, "the end of the list");
    assert.equal(await page.getByText("10,000 shown, 10,000 kept").count(), 1);
    assert.ok(await page.getByRole("row").count() < 200);
    await close(page);
  });

  test("a search finds one of them, by name and by id", async () => {
    const page = await open(browser, spanlink.url);
    const search = page.getByRole("searchbox", { name: "Search traces" });
    await search.fill("item/7777");
    const found = page.getByRole("link", { name: "many GET /item/7777" });
    await found.waitFor();
    await page.getByText("1 shown").waitFor();
    const trace = (await found.getAttribute("href")).split("/").at(-1);
    await search.fill(trace);
    await page.getByText("1 shown").waitFor();
    await found.waitFor();
    await page.waitForURL(new RegExp(`q=${trace}`));
    await search.press("Enter");
    await page.getByRole("treeitem", { name: "many GET /item/7777" }).waitFor();
    await close(page);
  });

  test("Longest is in order, and Pause holds the list", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("button", { name: "Longest" }).click();
    await page.getByRole("row").nth(1).getByText("50 ms").waitFor();
    await page.getByRole("button", { name: "Latest" }).click();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await sendRoots(spanlink, "late", ["GET /late"]);
    await until(async () => (await spanlink.api("/api/traces?service=late")).traces.length > 0,
      "the trace");
    assert.equal(await page.getByRole("link", { name: "late GET /late" }).count(), 0);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("link", { name: "late GET /late" }).waitFor();
    await close(page);
  });
});

describe("50,000 stacks", () => {
  const COUNT = 50_000;
  let spanlink;
  let root;
  before(async () => {
    spanlink = await Spanlink.start({ status: "keep_mib: 64" });
    const samples = Array.from({ length: COUNT }, (_, i) => ({ value: 10_000_000,
      stack: ["main", `pkg.a${i % 10}`, `pkg.b${Math.floor(i / 10) % 20}`,
        `pkg.c${Math.floor(i / 200) % 25}`,
        `pkg.d${Math.floor(i / 5000) % 10}`] }));
    root = await sendLinked(spanlink, "deep", "GET /deep", samples);
  });
  after(() => spanlink.remove());

  test("are drawn whole, by a worker", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}`);
    await page.getByText("8 min 20 s").first().waitFor();
    await page.getByText("50,000 samples").waitFor();
    assert.equal(page.workers().length, 1);
    await page.getByRole("button", { name: /^main, self 0/ }).waitFor();
    await close(page);
  });

  test("are searched, and the share found is right", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}`);
    await page.getByRole("searchbox", { name: /Find functions/ }).fill("pkg.a3");
    await page.getByText("10 % in 1 function", { exact: true }).waitFor();
    await page.getByRole("searchbox", { name: /Find functions/ }).fill("/^pkg\\.d[0-4]$/");
    await page.getByText("50 % in 5 functions", { exact: true }).waitFor();
    await close(page);
  });

  test("the table counts each function", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}&show=table`);
    const row = page.getByRole("row", { name: /pkg\.d7/ });
    await row.getByText("50 s").first().waitFor();
    await page.getByRole("button", { name: "Total" }).click();
    await page.getByRole("row").nth(1).getByText("main").waitFor();
    await close(page);
  });

  test("the sandwich has callers and callees", async () => {
    const page = await open(browser,
      `${spanlink.url}/#/flame?span=${root.spanId}&show=sandwich&fn=pkg.c7`);
    await page.getByRole("group", { name: "Callers of pkg.c7" })
      .getByRole("button", { name: /^pkg\.b0, self/ }).waitFor({ state: "attached" });
    await page.getByRole("group", { name: "Callees of pkg.c7" })
      .getByRole("button", { name: /^pkg\.d0, self/ }).waitFor({ state: "attached" });
    await close(page);
  });
});

describe("hostile names", () => {
  let spanlink;
  let root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    root = await sendLinked(spanlink, "hostile", `GET ${HOSTILE}`,
      [{ stack: ["main", HOSTILE], value: 20_000_000 }]);
    const end = now();
    await sendSpans(spanlink, HOSTILE, [
      span({ trace: root.traceId, parent: root.spanId, name: HOSTILE, kind: 1, start: end - MS, end,
        attributes: { [HOSTILE]: HOSTILE, url: "javascript:globalThis.taken=1" },
        events: [{ name: HOSTILE, at: end, attributes: { [HOSTILE]: HOSTILE } }],
        status: { code: 2, message: HOSTILE } })]);
  });
  after(() => spanlink.remove());

  test("are text in every view", async () => {
    const page = await open(browser, spanlink.url);
    const all = ["traces", `traces?q=${encodeURIComponent(HOSTILE)}`, `trace/${root.traceId}`,
      `flame?span=${root.spanId}&show=both`, `flame?span=${root.spanId}&show=sandwich`, "flame",
      `why?id=${root.spanId}`, `why?id=${encodeURIComponent(HOSTILE)}`, "cost", "pipeline",
      `trace/${encodeURIComponent(HOSTILE)}`, encodeURIComponent(HOSTILE)];
    for (const view of all) {
      await page.goto(`${spanlink.url}/#/${view}`);
      await page.locator("main h1, main h2").first().waitFor();
      await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
      assert.equal(await page.evaluate(() => globalThis.taken), undefined, view);
      assert.equal(await page.locator("main img, main script").count(), 0, view);
    }
    await page.goto(`${spanlink.url}/#/trace/${root.traceId}`);
    await page.getByRole("treeitem", { name: HOSTILE }).first().waitFor();
    assert.ok((await page.getByRole("treeitem").first().textContent()).includes("<img src=x"));
    await close(page);
  });
});

describe("a trace that is no tree", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  test("shows every span once: orphans and circles, too", async () => {
    const trace = id(32);
    const [a, b, c] = [id(16), id(16), id(16)];
    const end = now();
    const times = { start: end - MS, end };
    await sendSpans(spanlink, "odd", [
      span({ trace, span: a, parent: b, name: "one of a circle", kind: 1, ...times }),
      span({ trace, span: b, parent: a, name: "the other", kind: 1, ...times }),
      span({ trace, span: c, parent: c, name: "its own parent", kind: 1, ...times }),
      span({ trace, parent: id(16), name: "an orphan", kind: 1, start: end, end: end - MS })]);
    await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === 4,
      "the spans");
    const page = await open(browser, `${spanlink.url}/#/trace/${trace}`);
    await page.getByRole("treeitem").nth(3).waitFor();
    assert.equal(await page.getByRole("treeitem").count(), 4);
    await close(page);
  });
});

describe("a trace of 3,000 spans", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  test("is walked through to its end with the keyboard", async () => {
    const trace = id(32);
    const end = now();
    const root = span({ trace, name: "root", start: end - 4000n * MS, end });
    const spans = Array.from({ length: 2999 },
      (_, i) => span({ trace, parent: root.spanId, name: `step ${i}`,
      kind: 1, start: end - 4000n * MS + BigInt(i) * MS, end }));
    await sendSpans(spanlink, "long", [root, ...spans]);
    await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === 3000,
      "the spans");
    const page = await open(browser, `${spanlink.url}/#/trace/${trace}`);
    const first = page.getByRole("treeitem", { name: "long root" });
    await first.focus();
    await page.keyboard.press("End");
    const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));
    assert.equal(await focused(), "long step 2998");
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-posinset")),
      "2999");
    assert.ok(await page.getByRole("treeitem").count() < 200);
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "long step 2997" }).waitFor();
    await page.keyboard.press("Home");
    assert.equal(await focused(), "long root");
    await close(page);
  });
});

describe("a profiler with another name", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  test("is named, with what to do", async () => {
    const end = now();
    const root = span({ trace: id(32), name: "GET /", start: end - MS, end });
    await sendSpans(spanlink, "shop", [root]);
    await sendProfile(spanlink, "shop-profiler",
      [{ stack: ["main"], value: 10_000_000, span: root.spanId }],
      end - 10n * NS, end);
    const page = await open(browser, `${spanlink.url}/#/why`);
    const card = page.getByRole("article").filter({ has: page.getByRole("heading",
      { name: "shop", exact: true }) });
    await card.getByRole("heading", { name: "Names that do not match" }).waitFor();
    await card.getByText("PYROSCOPE_APPLICATION_NAME=shop", { exact: true }).waitFor();
    await close(page);
  });
});

describe("a restart", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  test("is told, and the page goes on", async () => {
    await sendRoots(spanlink, "shop", ["GET /before"]);
    const page = await open(browser, spanlink.url);
    await page.getByRole("link", { name: "shop GET /before" }).waitFor();
    await spanlink.end();
    await page.getByText(/^spanlink does not answer on/).first().waitFor();
    await page.getByRole("link", { name: "shop GET /before" }).waitFor();
    await spanlink.run();
    await sendRoots(spanlink, "shop", ["GET /after"]);
    await page.getByRole("link", { name: "shop GET /after" }).waitFor();
    await page.getByText(/^spanlink does not answer on/).first().waitFor({ state: "hidden" });
    await close(page);
  });
});
