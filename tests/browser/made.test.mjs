// SPDX-License-Identifier: Apache-2.0
// The page over traffic that was made up: nothing at all, 10,000 traces, 50,000 stacks, hostile
// names, spans without an end of their parents, and a restart.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { close, fits, launch, open, violations } from "./support/browser.mjs";
import { ROOT, Spanlink, until } from "./support/spanlink.mjs";
import { id, MS, now, NS, sendLinked, sendProfile, sendRoots, sendSpans,
  span } from "./support/traffic.mjs";

/* Spans of services without profiles do not wait for one for 45 s. */
const HASTY = { correlation: "hold: 1s" };
const HOSTILE = '"><img src=x onerror="globalThis.taken=1">' +
  "<script>globalThis.taken=1</script>{{7*7}}\u202e";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

describe("an empty process", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  for (const [view, says] of [["traces", "No trace has arrived yet"],
    ["flame", "No profile samples yet"],
    ["why", "No trace has arrived yet"], ["cost", "No CPU time is known yet"],
    ["pipeline", "Nothing has been refused or lost"]]) {
    test(`${view} says what to do next`, async () => {
      const page = await open(browser, `${spanlink.url}/#/${view}`);
      await page.getByText(says).first().waitFor();
      await close(page);
    });
  }

  test("the page is embedded without a change but for what means nothing", async () => {
    const folder = path.join(ROOT, "extensions/status/page");
    const code = (text) => text.replace(/^\t*(\/\*([^*]|\*[^/])*\*\/|\/\/.*)/gm, "");
    const texts = (text) => text.match(/"([^"\\\n]|\\.)*"|`[^`\n]*`/g).map((each) => (each[0] === '"'
      ? each : each.replace(/ ([=!<>&|]+|\?\?) /g, "$1"))); // these signs are in code only
    for (const file of readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))) {
      const written = code(readFileSync(path.join(folder, file), "utf8"));
      const served = await (await fetch(`${spanlink.url}/${file}`)).text();
      const packed = (text) => text.replace(/\bconst\b/g, "let").replace(/\s/g, "")
        .replaceAll(";}", "}").replace(/\((\w+)\)=>/g, "$1=>");
      assert.equal(packed(served), packed(written), file);
      if (file.endsWith(".js")) assert.deepEqual(texts(served), texts(written), file);
    }
  });

  test("wrong addresses are answered with sentences", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/xyz`);
    await page.getByRole("alert").getByText("A trace id has 32 hex digits.").waitFor();
    await page.goto(`${spanlink.url}/#/trace/${"0".repeat(31)}1`);
    await page.getByRole("alert").getByText(/^No span of this trace is kept: .*\.$/).waitFor();
    await page.goto(`${spanlink.url}/#/flame?span=xyz`);
    await page.getByRole("alert").waitFor();
    await page.goto(`${spanlink.url}/#/why?id=xyz`);
    await page.getByRole("alert").getByText("This is not a span id").waitFor();
    await page.goto(`${spanlink.url}/#/why?id=00000000000000ff`);
    await page.getByRole("heading", { name: "This span is not known" }).waitFor();
    await page.goto(`${spanlink.url}/#/nowhere`);
    await page.getByRole("heading", { name: "Unknown view" }).waitFor();
    await page.goto(`${spanlink.url}/#/traces?min_duration=soon`);
    await page.getByRole("alert").getByText(/min_duration/).waitFor();
    await close(page);
  });

  test("the first steps name the addresses on which the receivers listen", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("region", { name: "settings of the SDK" })
      .getByText(`OTEL_EXPORTER_OTLP_ENDPOINT=${spanlink.otlp}`).waitFor();
    const setting = page.getByRole("region", { name: "Setting of the profiler" });
    for (const text of [`application_name="…", server_address="${spanlink.pyroscope}"`,
      `ApplicationName: "…", ServerAddress: "${spanlink.pyroscope}"`,
      `appName: "…", serverAddress: "${spanlink.pyroscope}"`, "add_span_processor(PyroscopeSpanProcessor())",
      "Pyroscope.start(); Pyroscope.wrapWithLabels({span_id: ",
      "otelpyroscope.NewTracerProvider(tp)", "-Dotel.javaagent.extensions=pyroscope-otel.jar",
      "tracing.AddProcessor(new PyroscopeSpanProcessor())", "Pyroscope.configure { |c|", "PyroscopeAgentBuilder",
      `OTLP to ${spanlink.otlp}`,
      `PYROSCOPE_SERVER_ADDRESS=${spanlink.pyroscope} java`]) await setting.getByText(text).waitFor();
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("a trace id given to Why leads to its trace", async () => {
    const trace = id(32);
    const page = await open(browser, `${spanlink.url}/#/why?id=${trace}`);
    await page.getByText("This is a trace id").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("link", { name: "Open the trace" }).click();
    await page.waitForURL(`${spanlink.url}/#/trace/${trace}`);
    await close(page);
  });

  test("a filter that is no duration is answered with a sentence", async () => {
    const page = await open(browser, `${spanlink.url}/#/traces`);
    const least = page.getByLabel("CPU from");
    const hint = page.getByRole("alert").getByText("CPU from: write one number and its unit, such as 5ms");
    for (const [wrong, right, value] of [["10", "10 ms", "10ms"], ["1h30m", "1.5h", "1.5h"],
      ["9999999h", "20µs", "20us"]]) {
      await least.fill(wrong);
      await least.press("Enter");
      await hint.waitFor();
      assert.equal(await least.getAttribute("aria-invalid"), "true");
      assert.deepEqual(await violations(page), []);
      await least.fill(right);
      await hint.waitFor({ state: "hidden" });
      await page.waitForURL(new RegExp(`min_cpu=${value}$`));
      assert.equal(await page.getByText("The traces cannot be shown").count(), 0);
    }
    await least.fill("5");
    await hint.waitFor();
    assert.match(page.url(), /min_cpu=20us$/);
    await close(page);
  });

  test("the list follows the first trace by itself", async () => {
    const page = await open(browser, `${spanlink.url}/`);
    await page.getByText("No trace has arrived yet").waitFor();
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
    await page.getByRole("searchbox", { name: /Find functions/ }).fill("/(/");
    await page.locator("output").getByText(/^Not a valid pattern: ./).waitFor();
    assert.equal(await page.getByText("no function").count(), 0);
    await close(page);
  });

  test("those too narrow to draw are a block, which a click opens", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}`);
    await page.getByRole("button", { name: /^main, self 0/ }).waitFor();
    const graph = page.getByRole("group", { name: "Flame graph" });
    const row = (await graph.getByRole("button", { name: /^main, self/ }).boundingBox()).height + 1;
    const { width } = await graph.boundingBox();
    await graph.hover({ position: { x: width / 2 + 2, y: 4.5 * row } });
    await page.getByText("25 too narrow to draw").waitFor();
    await graph.click({ position: { x: width / 2 + 2, y: 4.5 * row } });
    await graph.getByRole("button", { name: /^pkg\.c\d+, self 0 .*, total 100 ms/ }).waitFor();
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
    await page.getByRole("searchbox", { name: /Find functions/ }).fill("pkg.c23");
    await page.getByRole("group", { name: "Callers of pkg.c23" }).waitFor();
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
    const shown = HOSTILE.replaceAll("\u202e", "\\u202e");
    await page.getByRole("treeitem", { name: shown }).first().waitFor();
    assert.ok((await page.getByRole("treeitem").first().textContent()).includes("<img src=x"));
    await close(page);
  });
});

describe("long and invisible names", () => {
  const long = "n".repeat(5000);
  const service = "s".repeat(2000);
  const turned = "a\u202ebc\u200bd";
  let spanlink;
  let root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    root = await sendLinked(spanlink, service, `GET ${long}`,
      [{ stack: ["main", long, turned], value: 20_000_000 }]);
    const end = now();
    await sendSpans(spanlink, service, [
      span({ trace: root.traceId, parent: root.spanId, name: turned, kind: 1, start: end - MS, end,
        attributes: { [long]: long, turned }, status: { code: 2, message: long } })]);
  });
  after(() => spanlink.remove());

  for (const width of [360, 1440]) {
    test(`fit in ${width} pixels, and are shown whole`, async () => {
      const page = await open(browser, spanlink.url, { viewport: { width, height: 800 } });
      for (const view of ["traces", `trace/${root.traceId}`, `flame?span=${root.spanId}&show=both`,
        `flame?span=${root.spanId}&show=sandwich`, "flame", `why?id=${root.spanId}`, "cost"]) {
        await page.goto(`${spanlink.url}/#/${view}`);
        await page.locator("main h1, main h2").first().waitFor();
        await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
        assert.ok(await fits(page), `${view} is wider than the window`);
        assert.ok(!(await page.locator("main").innerText()).includes("\u202e"), view);
      }
      await page.goto(`${spanlink.url}/#/trace/${root.traceId}`);
      await page.getByRole("treeitem", { name: "a\\u202ebc\\u200bd" }).waitFor();
      await close(page);
    });
  }
});

test("a trace whose local root has not come is marked", async () => {
  const spanlink = await Spanlink.start();
  const end = now();
  await sendSpans(spanlink, "shop", [span({ trace: id(32), parent: id(16), name: "child", kind: 1,
    start: end - MS, end })]);
  const page = await open(browser, spanlink.url);
  await page.getByRole("link", { name: "shop child root not here yet" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await close(page);
  await spanlink.remove();
});

describe("spans that wait for their samples", () => {
  let spanlink, root;
  before(async () => {
    spanlink = await Spanlink.start({ correlation: "hold: 50s" });
    await fetch(`${spanlink.pyroscope}/ingest?name=shop&format=pprof`, { method: "POST",
      body: "no profile" });
    const end = now();
    root = span({ trace: id(32), name: "GET /", start: end - MS, end });
    await sendSpans(spanlink, "shop", [root]);
    await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).decision === "waiting",
      "the hold");
  });
  after(() => spanlink.remove());

  const WAITS = /^1 span waits for its samples, for up to \d+ s more as far as is known/;
  for (const [view, address] of [["the trace", ({ traceId }) => `trace/${traceId}`],
    ["its address in the list", ({ traceId }) => `traces/${traceId}`],
    ["the flame graph of the span", ({ spanId }) => `flame?span=${spanId}`],
    ["the flame graph of the trace", ({ traceId }) => `flame?trace=${traceId}`],
    ["a search for the trace", ({ traceId }) => `traces?q=${traceId}`],
    ["a search for the span", ({ spanId }) => `traces?q=${spanId}`],
    ["the list", () => "traces"]]) {
    test(`${view} says so`, async () => {
      const page = await open(browser, `${spanlink.url}/#/${address(root)}`);
      await page.getByText(WAITS).first().waitFor();
      assert.equal(await page.getByText("keep_mib").count(), 0);
      assert.deepEqual(await violations(page), []);
      await close(page);
    });
  }

  test("Why says so, and what was refused", async () => {
    const page = await open(browser, `${spanlink.url}/#/why`);
    await page.getByText("1 span waits for its samples").waitFor();
    await page.getByText(/^pyroscope refused 1 request: /).waitFor();
    assert.equal(await page.getByText("No trace has arrived yet").count(), 0);
    await close(page);
  });

  test("all views go on when the samples have come", async () => {
    const pages = await Promise.all([`trace/${root.traceId}`, `flame?span=${root.spanId}`,
      `traces?q=${root.traceId}`].map((view) => open(browser, `${spanlink.url}/#/${view}`)));
    for (const page of pages) await page.getByText(WAITS).first().waitFor();
    const [trace, flame, list] = pages;
    await sendProfile(spanlink, "shop", [{ stack: ["main"], value: 10_000_000, span: root.spanId }],
      now() - 10n * NS, now());
    await trace.getByRole("treeitem", { name: "shop GET /" }).waitFor();
    await flame.getByRole("heading", { name: "shop GET /" }).waitFor();
    await flame.getByText("10 ms").first().waitFor();
    await list.getByRole("link", { name: "shop GET /" }).waitFor();
    for (const page of pages) await close(page);
  });
});

test("all views of a span and a trace that have not come go on when they come", async () => {
  const spanlink = await Spanlink.start({ correlation: "hold: 50s" });
  const end = now();
  const root = span({ trace: id(32), name: "GET /", start: end - MS, end });
  const pages = await Promise.all([`trace/${root.traceId}`, `why?id=${root.spanId}`,
    `flame?span=${root.spanId}`, `flame?trace=${root.traceId}`].map(
    (view) => open(browser, `${spanlink.url}/#/${view}`)));
  const [trace, why, ...flames] = pages;
  await trace.getByRole("alert").getByText("No span of this trace is kept").waitFor();
  await why.getByRole("heading", { name: "This span is not known" }).waitFor();
  for (const flame of flames) await flame.getByRole("heading", { name: "There is no flame graph" }).waitFor();
  await sendSpans(spanlink, "shop", [root]);
  for (const page of pages) await page.getByRole("heading", { name: "It waits for its samples" }).waitFor();
  await sendProfile(spanlink, "shop", [{ stack: ["main"], value: 10_000_000, span: root.spanId }],
    end - 10n * NS, end);
  await trace.getByRole("treeitem", { name: "shop GET /" }).waitFor();
  await why.getByRole("heading", { name: "It has a flame graph" }).waitFor();
  await flames[0].getByRole("heading", { name: "shop GET /" }).waitFor();
  for (const flame of flames) await flame.locator(".summary").getByText("10 ms").waitFor();
  for (const page of pages) await close(page);
  await spanlink.remove();
});

describe("a trace of which a part waits", () => {
  let spanlink, trace;
  before(async () => {
    spanlink = await Spanlink.start({ correlation: "hold: 50s" });
    trace = id(32);
    const end = now();
    const [front, back] = [id(16), id(16)];
    await sendProfile(spanlink, "back", [{ stack: ["main"], value: 10_000_000, span: back }],
      end - 10n * NS, end);
    await sendSpans(spanlink, "back", [span({ trace, span: back, parent: front, name: "GET /b",
      start: end - 2n * MS, end }), span({ trace, parent: back, name: "sort", kind: 1,
      start: end - MS, end })]);
    await sendSpans(spanlink, "front", [span({ trace, span: front, name: "GET /f",
      start: end - 3n * MS, end })]);
    await until(async () => {
      const told = await spanlink.api(`/api/traces/${trace}`);
      return told.spans.length === 2 && told.waiting.spans === 1;
    }, "the spans");
  });
  after(() => spanlink.remove());

  test("is marked as such", async () => {
    const page = await open(browser, `${spanlink.url}/#/traces`);
    await page.getByRole("link", { name: "back GET /b parent not here, 1 more waits" }).click();
    await page.getByText(/^1 more span waits for its samples/).waitFor();
    await page.getByText("The parent of one span is not here yet").waitFor();
    await page.getByRole("treeitem", { name: "back GET /b parent not here" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.goto(`${spanlink.url}/#/flame?trace=${trace}`);
    await page.getByText(/^1 more span waits for its samples/).waitFor();
    await close(page);
  });

  test("a span without samples shows the flame graph of its local root", async () => {
    const page = await open(browser, `${spanlink.url}/#/trace/${trace}`);
    await page.getByRole("treeitem", { name: "back sort" }).click();
    const details = page.getByRole("region", { name: "Span", exact: true });
    await details.getByRole("heading", { name: "back sort" }).waitFor();
    await details.getByText("No sample names it. ").waitFor();
    assert.match(await details.locator(".decision").innerText(), /not a local root/);
    await details.getByText("10 ms").first().waitFor();
    await details.getByRole("link", { name: "GET /b" }).click();
    await details.getByRole("heading", { name: "back GET /b" }).waitFor();
    await close(page);
  });

  test("a span without samples is nothing to compare with, and is said to be", async () => {
    const { spans } = await spanlink.api(`/api/traces/${trace}`);
    const [linked, child] = ["GET /b", "sort"].map((name) => spans.find(
      (each) => each.name === name).span_id);
    const page = await open(browser, `${spanlink.url}/#/flame?span=${linked}`);
    const pick = page.getByLabel("Compare with");
    await pick.selectOption("another span…");
    const other = page.getByLabel("Id of the other span");
    const compare = async (text) => {
      await other.fill(text);
      await other.press("Enter");
    };
    await compare("zzzz");
    await page.getByRole("alert").getByText("This is not a span id").waitFor();
    assert.equal(await other.inputValue(), "zzzz");
    await page.getByText("10 ms").first().waitFor();
    await compare("00000000000000ff");
    await page.getByRole("alert").getByText("There is nothing to compare with. Not known: it has not passed").waitFor();
    assert.deepEqual(await violations(page), []);
    await compare(`00-${trace}-${child}-01`);
    await page.getByText(`span ${child}, which has no samples`).waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await close(page);
  });
});

test("a service whose spans are not linked is found among linked ones", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  const [trace, front, back] = [id(32), id(16), id(16)];
  await sendProfile(spanlink, "back", [{ stack: ["main"], value: 10_000_000, span: back }],
    end - 10n * NS, end);
  await sendSpans(spanlink, "back", [span({ trace, span: back, parent: front, name: "GET /b",
    start: end - MS, end })]);
  await sendSpans(spanlink, "front", [span({ trace, span: front, name: "GET /f",
    start: end - MS, end })]);
  await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === 2,
    "the spans");
  const page = await open(browser, `${spanlink.url}/#/traces?service=front&linked=false`);
  await page.getByRole("link", { name: "not profiled" }).waitFor();
  await page.getByRole("link", { name: "1 linked: flame graph of the trace" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.goto(`${spanlink.url}/#/traces?service=back&linked=false`);
  await page.getByText("No trace matches").waitFor();
  await close(page);
  await spanlink.remove();
});

test("a receiver that refuses for a full queue is marked, and so is its exporter", async () => {
  const spanlink = await Spanlink.start({ exporter: "otlp_http: {endpoint: 'http://127.0.0.1:1', " +
    "sending_queue: {queue_size: 1, num_consumers: 1}, retry_on_failure: {initial_interval: 60s}}",
  correlation: "hold: 0s" });
  const send = () => sendSpans(spanlink, "shop", [span({ trace: id(32), name: "ping",
    start: now() - MS, end: now() })]);
  await send();
  await assert.rejects(send);
  const page = await open(browser, `${spanlink.url}/#/pipeline`);
  for (const name of ["receiver otlp", "exporter otlp_http"]) {
    await page.locator(`article.trouble[aria-label="${name}"]`).waitFor();
  }
  await page.getByText(/ MiB, refuses above .* MiB, .* resident/).waitFor();
  assert.deepEqual(await violations(page), []);
  await close(page);
  await spanlink.remove();
});

test("the links of the tiles in Pipeline keep the focus", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const page = await open(browser, `${spanlink.url}/#/pipeline`);
  const running = page.locator(".gauge", { hasText: "Running" });
  await page.getByRole("link", { name: "Waiting for samples" }).focus();
  for (let update = 0; update < 2; update++) {
    const text = await running.textContent();
    await until(async () => await running.textContent() !== text, "an update");
  }
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Waiting for samples");
  await close(page);
  await spanlink.remove();
});

test("a filter that drops every span is named", async () => {
  const spanlink = await Spanlink.start({ processors:
    'filter: {traces: {span: ["name == \\"ping\\""]}}', before: "filter, " });
  const end = now();
  await sendSpans(spanlink, "shop", Array.from({ length: 3 }, () => span({ trace: id(32),
    name: "ping", start: end - MS, end })));
  const page = await open(browser, `${spanlink.url}/#/traces`);
  await page.getByRole("heading", { name: "3 spans received, none shown" }).waitFor();
  await page.getByText("filter: 3 spans came in, 0 went out").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.goto(`${spanlink.url}/#/why`);
  await page.getByRole("heading", { name: "3 spans received, none shown" }).waitFor();
  await page.goto(`${spanlink.url}/#/pipeline`);
  const card = page.getByRole("article", { name: "processor filter" });
  await card.getByText("nothing goes out").waitFor();
  await card.getByText(/0 so far, 3 spans came in/).waitFor();
  await close(page);
  await spanlink.remove();
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

test("deep spans keep their names, and durations leave the ends of bars free", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const trace = id(32);
  const end = now();
  let parent = "";
  const spans = Array.from({ length: 31 }, (_, i) => {
    const made = span({ trace, parent, name: `step_${i}`, kind: i ? 1 : 2,
      start: end - 4000n * MS + BigInt(i * 20) * MS, end: end - BigInt(i * 20) * MS });
    parent = made.spanId;
    return made;
  });
  await sendSpans(spanlink, "deep", spans);
  await until(async () => (await spanlink.api(`/api/traces/${trace}`)).spans.length === 31,
    "the spans");
  for (const width of [375, 1280]) {
    const page = await open(browser, `${spanlink.url}/#/trace/${trace}`,
      { viewport: { width, height: 1400 } });
    await page.getByRole("treeitem", { name: "step_30" }).waitFor();
    const rows = await page.locator(".span-row:not(.ruler)").evaluateAll((all) => all.map((row) => {
      const [name, bar, length] = [".name", ".time-cell .bar", ".length"].map(
        (part) => row.querySelector(part).getBoundingClientRect());
      const label = row.querySelector(".label");
      return { cut: label.scrollWidth > label.clientWidth, at: name.left,
        covered: length.left < bar.right && length.right > bar.right - 4 };
    }));
    assert.equal(rows.length, 31);
    const marks = await page.locator(".ruler .time-cell span").evaluateAll((all) => all.map(
      (mark) => mark.getBoundingClientRect()).filter((box) => box.width > 0).map((box) => [box.left, box.right]));
    marks.forEach(([left], i) => assert.ok(i === 0 || left > marks[i - 1][1] + 4, `${width} px: ${marks}`));
    rows.forEach((row, i) => {
      assert.ok(!row.cut && !row.covered, `${width} px, row ${i}: ${JSON.stringify(row)}`);
      assert.ok(i < 2 || row.at > rows[i - 1].at, `row ${i} is indented`);
    });
    await close(page);
  }
  await spanlink.remove();
});

test("the chart of a service without traffic goes on to now", async () => {
  const spanlink = await Spanlink.start(HASTY);
  await sendRoots(spanlink, "quiet", ["GET /"]);
  const { services } = await until(async () => {
    const told = await spanlink.api("/api/services");
    return told.services[0]?.history.length > 0 && told;
  }, "the decision");
  const page = await open(browser, "about:blank");
  await page.clock.setFixedTime(Number(BigInt(services[0].history[0].to_unix_nano) / MS) + 300_000);
  await page.goto(`${spanlink.url}/#/why`);
  const columns = page.locator(".service-card .column");
  await columns.nth(10).waitFor({ state: "attached" });
  await page.getByText(/^0 of \d spans? linked.* not counting spans that did not wait$/).waitFor();
  assert.equal(await columns.locator("rect:not(.back)").count(), 1);
  assert.equal(await columns.last().locator("rect:not(.back)").count(), 0);
  await page.context().close();
  await spanlink.remove();
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
    await card.getByText('Give the profiler the name of the spans, "shop" (its application name)')
      .first().waitFor();
    await page.getByRole("article").filter({ has: page.getByRole("heading",
      { name: "shop-profiler", exact: true }) }).getByText("Its samples name spans of shop").waitFor();
    await card.getByText("unless the code sets service.name itself").waitFor();
    assert.equal(await card.getByText(/Why no profile came is not known/).count(), 0);
    await fetch(`${spanlink.pyroscope}/ingest?name=shop&format=pprof`, { method: "POST",
      body: "no profile" });
    await page.getByText(/^pyroscope refused 1 request: /).waitFor();
    await page.getByRole("heading", { name: "Requests were refused" }).waitFor();
    const phone = await open(browser, `${spanlink.url}/#/pipeline`, { viewport: { width: 360, height: 700 } });
    const cause = phone.getByRole("region", { name: "Refused and lost" }).getByRole("cell").first();
    assert.equal(await cause.evaluate((cell) => {
      const text = document.createRange();
      text.selectNodeContents(cell);
      return text.getClientRects().length;
    }), 1);
    assert.ok(await fits(phone));
    await close(phone);
    assert.equal(await page.getByText("lost").count(), 0);
    await page.goto(`${spanlink.url}/#/trace/${root.traceId}`);
    const details = page.getByRole("region", { name: "Span", exact: true });
    await details.getByText("names differ").waitFor();
    assert.equal(await page.locator(".badge.good").count(), 0);
    assert.match(await page.locator("dl").first().innerText(), /Linked\s+0/);
    await page.goto(`${spanlink.url}/#/flame?service=shop`);
    await page.getByText("Samples of its spans came under another name").waitFor();
    await page.getByRole("link", { name: "shop-profiler" }).click();
    await page.getByText("10 ms").first().waitFor();
    await page.getByText(/count for that service's routes\. The Why view of the status page names it/).waitFor();
    assert.ok((await page.getByLabel("Service").locator("option").allInnerTexts())
      .includes("shop-profiler"));
    await sendProfile(spanlink, "shop", [{ stack: ["main"], value: 10_000_000, span: id(16) }],
      now() - 10n * NS, now());
    await page.goto(`${spanlink.url}/#/why`);
    await card.getByRole("heading", { name: "Names that did not match" }).waitFor();
    await card.getByText(/They have come under the right name since/).waitFor();
    await close(page);
  });
});

test("the list says since when it is complete", async () => {
  const spanlink = await Spanlink.start({ ...HASTY, status: "keep_mib: 1" });
  const page = await open(browser, `${spanlink.url}/#/traces`);
  await until(async () => {
    for (let i = 0; i < 20; i++) await sendRoots(spanlink, "many", [`GET /${id(60000)}`]);
    return (await spanlink.api("/api/traces?limit=1")).keep.evicted_requests > 0;
  }, "the eviction");
  await page.getByText(/traces before \d\d:\d\d:\d\dZ are evicted or incomplete/).waitFor();
  await close(page);
  await spanlink.remove();
});

test("a route whose profiles have given way says so", async () => {
  const spanlink = await Spanlink.start({ ...HASTY, status: "keep_mib: 1" });
  const page = await open(browser, `${spanlink.url}/#/traces`);
  const end = now();
  const root = span({ trace: id(32), name: "GET /gone", start: end - 900n * MS, end });
  await sendProfile(spanlink, "shop", [{ stack: ["main"], value: 10_000_000, span: root.spanId }],
    end - 10n * NS, end);
  await sendSpans(spanlink, "shop", [root]);
  const route = "service=shop&name=GET%20%2Fgone";
  const graph = () => spanlink.api(`/api/flamegraph?${route}`);
  await until(async () => (await graph()).total > 0, "the samples");
  await until(async () => {
    const samples = Array.from({ length: 600 }, () => ({ stack: ["main", id(120)], value: 1 }));
    await sendProfile(spanlink, "other", samples, now() - NS, now());
    return (await graph()).total === 0;
  }, "the eviction");
  await page.goto(`${spanlink.url}/#/flame?${route}`);
  await page.getByText("Profiles of its time have given way to newer data").waitFor();
  await page.goto(`${spanlink.url}/#/flame?${route}&from=-5m`);
  await page.getByText("Profiles of its time have given way to newer data").waitFor();
  assert.equal(await page.getByText("no sample of this route").count(), 0);
  await close(page);
  await spanlink.remove();
});

describe("profiles with wall time only", () => {
  let spanlink;
  let root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const end = now();
    root = span({ trace: id(32), name: "GET /slow", start: end - 900n * MS, end });
    const samples = [{ stack: ["main", "wait"], value: 700_000_000, span: root.spanId }];
    await sendProfile(spanlink, "nodeshop", samples, end - 10n * NS, end, "wall");
    await sendSpans(spanlink, "nodeshop", [root]);
    await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).wall_ns > 0,
      "the wall time of the span");
  });
  after(() => spanlink.remove());

  test("the chart of CPU time has no such route, and says what it covers", async () => {
    const end = now();
    const sample = { stack: ["main"], value: 500_000_000, span: id(16) };
    const other = span({ trace: id(32), span: sample.span, name: "GET /cpu", start: end - MS, end });
    await sendProfile(spanlink, "goshop", [sample], end - 10n * NS, end);
    await sendSpans(spanlink, "goshop", [other]);
    const page = await open(browser, `${spanlink.url}/#/cost`);
    await page.locator(".legend").getByText("goshop GET /cpu").waitFor();
    assert.equal(await page.locator(".legend").getByText("nodeshop").count(), 0);
    await page.getByRole("row", { name: /nodeshop GET .slow/ }).waitFor();
    await page.getByText(/The chart shows the last [1-9].* s, the table/).waitFor();
    assert.equal(await page.getByRole("button", { name: "1 h" }).count(), 0);
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("is what routes and traces are ordered by", async () => {
    const own = await Spanlink.start(HASTY);
    const end = now();
    const roots = [["GET /short", 100n], ["GET /long", 300n], ["GET /mid", 200n]].map(([name, ms]) =>
      span({ trace: id(32), name, start: end - ms * MS, end }));
    await sendProfile(own, "nodeshop", roots.map((each) => ({ stack: ["main"], span: each.spanId,
      value: Number(end - BigInt(each.startTimeUnixNano)) })), end - 10n * NS, end, "wall");
    await sendSpans(own, "nodeshop", roots);
    await until(async () => (await own.api("/api/traces?sort=cpu")).traces.length === 3, "the traces");
    const first = await own.api("/api/traces?sort=cpu&limit=1");
    assert.equal(first.traces[0].name, "GET /long");
    const second = await own.api(`/api/traces?sort=cpu&limit=1&page=${first.next}`);
    assert.equal(second.traces[0].name, "GET /mid");
    const page = await open(browser, `${own.url}/#/cost`);
    const rows = page.getByRole("region", { name: "Routes" }).getByRole("row");
    for (const [i, [name, share]] of [["long", "50 %"], ["mid", "33.3 %"],
      ["short", "16.7 %"]].entries()) {
      await rows.nth(i + 1).getByText(`nodeshop GET /${name}`).waitFor();
      await rows.nth(i + 1).getByText(`${share} of wall time`).waitFor();
    }
    await page.getByRole("group", { name: /^Wall time by route/ }).waitFor();
    await page.locator(".legend").getByText("nodeshop GET /long").waitFor();
    assert.deepEqual(await violations(page), []);
    await page.goto(`${own.url}/#/flame`);
    await page.getByRole("heading", { name: "Where the wall time goes" }).waitFor();
    assert.match(await page.locator(".cards li").first().innerText(), /GET .long/);
    await page.goto(`${own.url}/#/traces?sort=cpu`);
    await page.getByRole("row").nth(1).getByText("300 ms wall").waitFor();
    await close(page);
    const phone = await open(browser, `${own.url}/#/traces?sort=cpu`,
      { viewport: { width: 375, height: 800 } });
    const cell = phone.getByRole("row").first().getByRole("cell", { name: "300 ms wall" });
    await cell.waitFor();
    assert.ok(await cell.evaluate((each) => each.scrollWidth <= each.clientWidth), "cut");
    await close(phone);
    await own.remove();
  });

  test("the flame graph of a trace says which services it leaves out", async () => {
    const end = now();
    const start = end - 20n * MS;
    const above = span({ trace: id(32), name: "GET /both", start, end });
    const below = span({ trace: above.traceId, parent: above.spanId, name: "GET /price", start, end });
    for (const [service, kind, each] of [["goshop", "cpu", above], ["priceshop", "wall", below]]) {
      await sendProfile(spanlink, service, [{ stack: ["main", kind], value: 9_000_000,
        span: each.spanId }], end - 10n * NS, end, kind);
      await sendSpans(spanlink, service, [each]);
    }
    await until(async () => (await spanlink.api(`/api/traces?trace_id=${above.traceId}`))
      .traces[0]?.linked_spans === 2, "both links");
    const page = await open(browser, `${spanlink.url}/#/flame?trace=${above.traceId}`);
    await page.getByText(/^priceshop: wall time only, not in a graph of CPU time/).waitFor();
    await page.getByRole("link", { name: "Wall clock" }).click();
    await page.getByRole("treeitem", { name: /^wall, / }).or(page.getByText("9 ms").first()).first()
      .waitFor();
    await page.getByText(/not in a graph of CPU time/).waitFor({ state: "hidden" });
    await close(page);
  });

  for (const view of ["traces", "cost", "why", "trace", "flame"]) {
    test(`${view} shows it instead of no CPU time`, async () => {
      const page = await open(browser, `${spanlink.url}/#/${view}${
        view === "trace" ? `/${root.traceId}` : ""}`);
      await page.getByText(view === "traces" ? "700 ms wall" : /wall time only: 700 ms/).first()
        .waitFor();
      await close(page);
    });
  }
});

describe("children that inherit a link", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(
    { correlation: "hold: 1s, children: inherit" })));
  after(() => spanlink.remove());

  test("are found by name, and say whose flame graph they show", async () => {
    const end = now();
    const trace = id(32);
    const root = span({ trace, name: "GET /costly", start: end - 9n * MS, end });
    const child = span({ trace, parent: root.spanId, name: "render", start: end - 8n * MS, end,
      kind: 1 });
    await sendProfile(spanlink, "shop", [{ stack: ["main"], value: 7_000_000, span: root.spanId }],
      end - 10n * NS, end);
    await sendSpans(spanlink, "shop", [child, root]);
    await until(async () => (await spanlink.api(`/api/spans/${child.spanId}`)).reason === "inherited",
      "the child's link");
    const page = await open(browser, spanlink.url);
    const search = page.getByRole("searchbox", { name: "Search traces" });
    for (const text of ["render", trace.slice(0, 9)]) {
      await search.fill(text);
      await page.waitForURL(new RegExp(`q=${text}`));
      await page.getByRole("link", { name: "shop GET /costly" }).waitFor();
    }
    await page.goto(`${spanlink.url}/#/trace/${trace}?span=${child.spanId}`);
    await page.getByText("This flame graph is that of an ancestor, GET /costly").waitFor();
    await page.goto(`${spanlink.url}/#/cost`);
    await page.getByRole("row", { name: /shop GET .costly/ }).waitFor();
    assert.equal(await page.getByRole("row", { name: /render/ }).count(), 0);
    await close(page);
  });
});

describe("a range without data", () => {
  let spanlink;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const end = now() - 600n * NS;
    const old = span({ trace: id(32), name: "GET /old", start: end - 6n * NS, end });
    const sample = { stack: ["main"], value: 5_000_000_000, span: old.spanId };
    await sendProfile(spanlink, "shop", [sample], end - 10n * NS, end);
    await sendSpans(spanlink, "shop", [old]);
    await until(async () => (await spanlink.api("/api/cost")).routes.length > 0, "the cost");
  });
  after(() => spanlink.remove());

  test("cost says when the latest CPU time was, and shows all", async () => {
    const page = await open(browser, `${spanlink.url}/#/cost?from=-5m`);
    await page.getByRole("heading", { name: "No CPU time in this range" }).waitFor();
    await page.getByText(/^The latest is from .* 10 min ago/).waitFor();
    await page.getByRole("button", { name: "Show all" }).click();
    await page.getByRole("row", { name: /shop/ }).getByText("5 s").first().waitFor();
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
    await page.getByText(/^spanlink does not respond on/).first().waitFor();
    await page.getByRole("link", { name: "shop GET /before" }).waitFor();
    await spanlink.run();
    await sendRoots(spanlink, "shop", ["GET /after"]);
    await page.getByRole("link", { name: "shop GET /after" }).waitFor();
    await page.getByText(/^spanlink does not respond on/).first().waitFor({ state: "hidden" });
    await close(page);
  });

  test("is not told of a process that answers late", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByText(/, up /).waitFor();
    const late = [];
    await page.route("**/api/pipelines", async (route) => {
      const response = await route.fetch();
      await setTimeout(2_500);
      await route.fulfill({ response });
      late.push(response.status());
    });
    await until(() => late.length > 1, "two late answers");
    await page.getByText(/, up /).waitFor();
    assert.equal(await page.getByText(/^spanlink has restarted/).count(), 0);
    await close(page);
  });

  test("a view that was not loaded yet comes afterwards", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("heading", { name: "Traces" }).waitFor({ state: "attached" });
    await spanlink.end();
    await page.getByRole("link", { name: "Cost", exact: true }).click();
    await page.getByText("This view is not here yet").waitFor();
    assert.equal(await page.getByRole("button", { name: "Reload the page" }).count(), 0);
    await spanlink.run();
    await page.getByRole("heading", { name: "Cost by route" }).waitFor();
    await close(page);
  });
});
