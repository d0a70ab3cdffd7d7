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

test("services of one name say their tenant in Cost, Flame graphs and Why", async () => {
  const spanlink = await Spanlink.start({ ...HASTY, tenants: true });
  for (const tenant of ["north", "south"]) {
    spanlink.headers = { "X-Scope-OrgID": tenant };
    await sendLinked(spanlink, "shop", "GET /", [{ stack: ["main"], value: 20_000_000 }]);
  }
  const page = await open(browser, `${spanlink.url}/#/cost`);
  for (const tenant of ["north", "south"]) {
    await page.getByRole("link", { name: `shop (${tenant}) GET /`, exact: true }).waitFor();
  }
  await page.goto(`${spanlink.url}/#/flame`);
  await page.getByRole("link", { name: /^shop \(north\) GET \// }).waitFor();
  await page.goto(`${spanlink.url}/#/why`);
  await page.getByRole("heading", { name: "shop (south)" }).waitFor();
  await close(page);
  await spanlink.remove();
});

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


describe("forced colours", () => {
  let spanlink, root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    root = await sendLinked(spanlink, "shop", "GET /cpu", [{ stack: ["main"], value: 900_000_000 }]);
  });
  after(() => spanlink.remove());

  const OPTIONS = { forcedColors: "active" };
  const colour = (locator, pseudo = null) => locator.first().evaluate((node, of) => {
    const { backgroundColor, backgroundImage } = getComputedStyle(node, of);
    return `${backgroundColor} ${backgroundImage}`;
  }, pseudo);

  for (const [view, parts] of [["trace", [[".time-cell .bar"], [".cpu-link", "::before"],
    [".swatch"]]], ["cost", [[".legend i"], [".dotted"], ["td.cpu", "::before"]]],
  ["pipeline", [[".dot"], [".legend i"]]]]) {
    test(`leave the colours that say something on ${view}`, async () => {
      const address = `${spanlink.url}/#/${view}${view === "trace" ? `/${root.traceId}` : ""}`;
      const [plain, forced] = [await open(browser, address), await open(browser, address, OPTIONS)];
      for (const page of [plain, forced]) await page.getByText(/, up /).waitFor();
      for (const [part, pseudo] of parts) {
        for (const page of [plain, forced]) await page.locator(part).first().waitFor();
        assert.equal(await colour(forced.locator(part), pseudo),
          await colour(plain.locator(part), pseudo), part);
      }
      assert.deepEqual(await violations(forced), []);
      for (const page of [plain, forced]) await close(page);
    });
  }

  test("tell the current view, the pressed button and the selected row from others", async () => {
    const page = await open(browser, spanlink.url, OPTIONS);
    await page.getByRole("link", { name: "shop GET /cpu" }).waitFor();
    const border = (name) => page.getByRole("link", { name, exact: true }).evaluate(
      (node) => getComputedStyle(node).borderBottomColor);
    assert.notEqual(await border("Traces"), await border("Cost"));
    assert.notEqual(await colour(page.getByRole("button", { name: "Latest" })),
      await colour(page.getByRole("button", { name: "Longest" })));
    await page.goto(`${spanlink.url}/#/trace/${root.traceId}`);
    const row = page.locator(".span-row:has([aria-selected=true])");
    assert.notEqual(await row.evaluate((node) => getComputedStyle(node).outlineStyle), "none");
    await close(page);
  });
});

describe("clocks that differ", () => {
  let spanlink;
  before(async () => (spanlink = await Spanlink.start(HASTY)));
  after(() => spanlink.remove());

  test("a link that opens nothing is not said to be a flame graph", async () => {
    const end = now() + 3600n * NS;
    const root = span({ trace: id(32), name: "GET /ahead", start: end - MS, end });
    await sendProfile(spanlink, "ahead", [{ stack: ["main"], value: 10_000_000, span: root.spanId }],
      now() - 10n * NS, now());
    await sendSpans(spanlink, "ahead", [root]);
    const page = await open(browser, `${spanlink.url}/#/why?id=${root.spanId}`);
    await page.getByText(/its link opens nothing/).waitFor();
    await page.getByRole("heading", { name: "It is linked, but its flame graph is hard to find" })
      .waitFor();
    assert.equal(await page.locator(".card.good").count(), 0);
    await page.getByRole("link", { name: "Its flame graph" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("a trace of the future is not just now", async () => {
    const end = now() + 2400n * NS;
    await sendSpans(spanlink, "later", [span({ trace: id(32), name: "GET /later",
      start: end - MS, end })]);
    const page = await open(browser, `${spanlink.url}/#/traces?q=later`);
    await page.getByRole("row", { name: /GET .later/ }).getByText("40 min in the future").waitFor();
    await close(page);
  });

  test("a span without a start makes no axis of years", async () => {
    const end = now();
    const root = span({ trace: id(32), name: "GET /root", start: end - 40n * MS, end });
    const child = span({ trace: root.traceId, parent: root.spanId, name: "startless", kind: 1,
      start: 0n, end });
    const alone = span({ trace: id(32), name: "GET /alone", start: 0n, end });
    await sendSpans(spanlink, "odd", [root, child, alone]);
    const page = await open(browser, `${spanlink.url}/#/traces?q=alone`);
    await page.getByRole("row", { name: /GET .alone/ }).getByText("start missing").waitFor();
    for (const [trace, name] of [[root.traceId, "startless"], [alone.traceId, "GET /alone"]]) {
      await page.goto(`${spanlink.url}/#/trace/${trace}`);
      await page.getByRole("treeitem", { name: `odd ${name}` }).click();
      await page.getByRole("region", { name: "Waterfall" }).getByText("start missing").waitFor();
      assert.doesNotMatch(await page.locator("main").innerText(), /\d{4} h/);
    }
    await page.goto(`${spanlink.url}/#/why?id=${alone.spanId}`);
    await page.getByRole("heading", { name: /^It / }).waitFor();
    assert.doesNotMatch(await page.locator("main").innerText(), /\d{4} h/);
    assert.deepEqual(await violations(page), []);
    await close(page);
  });
});

describe("what a search takes", () => {
  let spanlink, root;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    const end = now();
    root = span({ trace: id(32), name: "GET \u202egnp.exe\nlast", start: end - 2_110_000n, end });
    const child = span({ trace: root.traceId, parent: root.spanId, name: "below", kind: 1,
      start: end - MS, end });
    root.child = child.spanId;
    await sendSpans(spanlink, "a\u200bb", [root, child]);
    await sendSpans(spanlink, "other", [span({ trace: id(32), name: "other", start: end - MS, end })]);
    await until(async () => (await spanlink.api(`/api/traces/${root.traceId}`)).spans.length === 2
      && (await spanlink.api("/api/traces")).traces.length === 2, "the spans");
  });
  after(() => spanlink.remove());

  test("names as they are shown", async () => {
    const page = await open(browser, spanlink.url);
    const search = page.getByRole("searchbox", { name: "Search traces" });
    for (const text of ["\\u202egnp.exe", "gnp.exe last", "a\\u200bb", "\\u202e"]) {
      await search.fill("nothing at all");
      await page.getByText("No trace matches").waitFor();
      await search.fill(text);
      await page.getByRole("link", { name: /gnp.exe/ }).waitFor();
      assert.equal(await page.getByRole("link", { name: "other" }).count(), 0);
    }
    await close(page);
  });

  test("a traceparent and a span id, of which Enter opens the span", async () => {
    const page = await open(browser, spanlink.url);
    const search = page.getByRole("searchbox", { name: "Search traces" });
    for (const text of [`00-${root.traceId}-${root.child}-01`, root.child]) {
      await page.goto(`${spanlink.url}/#/traces`);
      await search.fill(text);
      await search.press("Enter");
      await page.waitForURL(`${spanlink.url}/#/trace/${root.traceId}?span=${root.child}`);
      await page.getByRole("heading", { name: "below" }).waitFor();
    }
    await close(page);
  });

  test("the cells of a row do not touch on a phone", async () => {
    const page = await open(browser, spanlink.url, { viewport: { width: 360, height: 700 } });
    await page.getByRole("link", { name: /gnp.exe/ }).waitFor();
    const cells = await page.locator(".rows .number").evaluateAll((nodes) => nodes.filter(
      (node) => node.clientWidth > 0).map((node) => [node.scrollWidth, node.clientWidth]));
    assert.equal(cells.length, 4);
    for (const [content, cell] of cells) assert.ok(content <= cell, `${content} > ${cell}`);
    await close(page);
  });

  test("the want of a name, as it is shown", async () => {
    const end = now();
    await sendSpans(spanlink, "nameless", [span({ trace: id(32), name: "", start: end - MS, end })]);
    const page = await open(browser, `${spanlink.url}/#/traces?q=(no name)`);
    const found = page.getByRole("link", { name: "nameless (no name)" });
    await found.waitFor();
    await page.goto(`${spanlink.url}/#/traces?q=nameless (no name)`);
    await found.waitFor();
    assert.equal(await page.getByRole("link", { name: "other" }).count(), 0);
    await close(page);
  });
});

test("Why tells that a link of its SDK is forwarded though its samples have another name", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now(), own = id(16);
  await sendSpans(spanlink, "shop", [span({ trace: id(32), span: own, name: "GET /", start: end - MS,
    end, attributes: { "pyroscope.profile.id": own } })]);
  await sendProfile(spanlink, "shop-profiler",
    [{ stack: ["main"], value: 10_000_000, span: own }], end - 10n * NS, end);
  await until(async () => (await spanlink.api(`/api/spans/${own}`)).decision === "as_came",
    "the decision");
  const page = await open(browser, `${spanlink.url}/#/why?id=${own}`);
  await page.getByRole("heading",
    { name: "It was forwarded with its SDK's link, which may open nothing" }).waitFor();
  const { trace_id } = await spanlink.api(`/api/spans/${own}`);
  await page.goto(`${spanlink.url}/#/trace/${trace_id}`);
  await page.getByRole("link", { name: "Flame graph of the whole trace" }).click();
  await page.getByText("10 ms").first().waitFor();
  await close(page);
  await spanlink.remove();
});

test("a span with samples and without a link leads from Why to its flame graph", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  const root = span({ trace: id(32), name: "GET /", start: end - MS, end });
  await sendSpans(spanlink, "shop", [root]);
  await sendProfile(spanlink, "shop-profiler",
    [{ stack: ["main"], value: 10_000_000, span: root.spanId }], end - 10n * NS, end);
  await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).reason === "names_differ",
    "the decision");
  const page = await open(browser, `${spanlink.url}/#/why?id=${root.spanId}`);
  await page.getByRole("heading", { name: "It has samples, but no link" }).waitFor();
  await page.goto(`${spanlink.url}/#/pipeline`);
  await page.getByRole("article", { name: "receiver pyroscope" })
    .getByText("1 sample records so far").waitFor();
  await page.goto(`${spanlink.url}/#/why?id=${root.spanId}`);
  await page.getByRole("link", { name: "Its flame graph" }).click();
  await page.getByText("10 ms").first().waitFor();
  await close(page);
  await spanlink.remove();
});

test("a rate is not shown before there is one", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  await sendSpans(spanlink, "shop", [span({ trace: id(32), name: "GET /", start: end - MS, end })]);
  const page = await open(browser, spanlink.url);
  await page.clock.install();
  await page.goto(`${spanlink.url}/#/pipeline`);
  const receiver = page.getByRole("article", { name: "receiver otlp" });
  await receiver.getByText("… spans/s").waitFor();
  await page.clock.runFor(1_500);
  await receiver.getByText(/^\d.* spans\/s/).waitFor();
  await close(page);
  await spanlink.remove();
});

test("a process that stands still is said not to respond", async () => {
  const spanlink = await Spanlink.start({ correlation: "hold: 1s" });
  const page = await open(browser, `${spanlink.url}/#/pipeline`);
  await page.getByRole("article", { name: "receiver otlp" }).waitFor();
  spanlink.process.kill("SIGSTOP");
  await page.getByText("no response").first().waitFor();
  spanlink.process.kill("SIGCONT");
  await page.getByText("no response").first().waitFor({ state: "hidden" });
  await close(page);
  await spanlink.remove();
});

test("traces that are not kept are told where none matches, too", async () => {
  const gaps = "12,120 spans of 10 requests were skipped";
  const spanlink = await Spanlink.start(HASTY);
  await sendRoots(spanlink, "shop", ["GET /"]);
  const page = await open(browser, `${spanlink.url}/#/pipeline`);
  await page.route("**/api/traces?*", async (route) => {
    const answer = await route.fetch();
    const told = await answer.json();
    Object.assign(told.keep, { text: gaps });
    await route.fulfill({ response: answer, json: told });
  });
  await page.goto(`${spanlink.url}/#/traces`);
  await page.getByText(gaps).waitFor();
  await page.goto(`${spanlink.url}/#/traces?service=other`);
  await page.getByText("No trace matches").waitFor();
  await page.getByText(gaps).waitFor();
  await close(page);
  await spanlink.remove();
});

describe("a profiler that sends to the receiver of OTLP", () => {
  let spanlink;
  before(async () => {
    spanlink = await Spanlink.start(HASTY);
    await sendRoots(spanlink, "shop", ["GET /"]);
    await until(async () => (await spanlink.api("/api/services")).services[0]?.reasons.some(
      ({ reason }) => reason === "not_profiled"), "the decision");
    await fetch(`${spanlink.otlp}/push.v1.PusherService/Push`, { method: "POST", body: "profile" });
  });
  after(() => spanlink.remove());

  test("is told where to send in Why and Pipeline", async () => {
    const hint = /point Pyroscope clients at the receiver pyroscope, usually port 4040/;
    const page = await open(browser, `${spanlink.url}/#/why`);
    await page.getByRole("listitem").filter({ hasText: /^otlp refused 1 request: unsupported/ })
      .filter({ hasText: hint }).waitFor();
    const card = page.getByRole("article").filter({ has: page.getByRole("heading",
      { name: "shop", exact: true }) });
    await card.getByText(hint).waitFor();
    assert.equal(await card.getByText("Why no profile came is not known").count(), 0);
    await page.goto(`${spanlink.url}/#/pipeline`);
    await page.getByText("refused 1 request, the last:").filter({ hasText: hint }).waitFor();
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("is told so by top", async () => {
    const out = await spanlink.top();
    assert.match(out, /^! otlp: 1 request refused: unsupported: .* usually port 4040$/m);
    assert.match(out, /^otlp +receiver +spans +1 +- /m);
    assert.match(out, /^file +exporter +spans +- +1 /m);
  });
});

test("a traceparent without flags is explained, and an empty field asks for an id", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const [root] = await sendRoots(spanlink, "shop", ["GET /"]);
  await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).reason, "the decision");
  const page = await open(browser, `${spanlink.url}/#/why`);
  await page.getByRole("button", { name: "Explain" }).click();
  await page.getByRole("heading", { name: "Enter a span id" }).waitFor();
  await page.getByLabel("Span id or traceparent").fill(`00-${root.traceId}-${root.spanId}`);
  await page.getByRole("heading", { name: /^It (has no flame graph|was forwarded unchanged)$/ }).waitFor();
  await close(page);
  await spanlink.remove();
});

test("a search for a service and a name shows traces that begin there first", async () => {
  const spanlink = await Spanlink.start(HASTY);
  const end = now();
  const [wanted] = await sendRoots(spanlink, "shop", ["GET /fail"]);
  const root = span({ trace: id(32), name: "GET /rfail", start: end, end: end + 50n * MS });
  await sendSpans(spanlink, "shop", [root]);
  await sendSpans(spanlink, "pricing", [span({ trace: root.traceId, parent: root.spanId,
    name: "GET /fail", start: end + MS, end: end + 2n * MS })]);
  await until(async () => (await spanlink.api("/api/traces?name=GET%20/fail")).traces.length === 2
    && (await spanlink.api("/api/services")).services.length === 2, "the traces");
  const page = await open(browser, `${spanlink.url}/#/traces?q=shop%20GET%20/fail`);
  await page.getByText("traces whose root span matches come first, then those in which another span does").waitFor();
  const links = page.getByRole("table", { name: "Traces" }).locator("a.stretched");
  assert.deepEqual(await links.evaluateAll((nodes) => nodes.map((node) => node.getAttribute("href"))),
    [wanted.traceId, root.traceId].map((trace) => `#/trace/${trace}`));
  await close(page);
  await spanlink.remove();
});
