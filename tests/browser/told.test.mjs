// SPDX-License-Identifier: Apache-2.0
// What the page says of its numbers: of which time they are, whether they may grow, and under which
// name their samples came.
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { close, launch, open, violations } from "./support/browser.mjs";
import { Spanlink, until } from "./support/spanlink.mjs";
import { id, MS, now, NS, sendLinked, sendProfile, sendRoots, sendSpans,
  span } from "./support/traffic.mjs";

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

describe("CPU and wall time", () => {
  let spanlink, mixed, wall, cpu, child;
  before(async () => {
    spanlink = await Spanlink.start({ correlation: "hold: 2s" });
    const end = now();
    const root = (name, trace = id(32), parent = "") => span({ trace, parent, name, start: end - 90n * MS, end });
    const sample = (to, value) => ({ stack: ["main"], value: value * 1_000_000, span: to.spanId });
    mixed = root("GET /price");
    const below = root("price", mixed.traceId, mixed.spanId);
    [wall, cpu] = [root("GET /price"), root("GET /sum")];
    child = span({ trace: mixed.traceId, parent: mixed.spanId, name: "tax", kind: 1,
      start: end - 80n * MS, end: end - MS });
    await sendProfile(spanlink, "shop", [sample(mixed, 10), sample(cpu, 5000)], end - 10n * NS, end + NS);
    await sendProfile(spanlink, "pricing", [sample(below, 60), sample(wall, 35)], end - 10n * NS, end + NS, "wall");
    await sendSpans(spanlink, "shop", [mixed, child, cpu]);
    await sendSpans(spanlink, "pricing", [below, wall]);
    await until(async () => (await spanlink.api("/api/traces?linked=true")).traces.length === 3
      && (await spanlink.api(`/api/traces/${mixed.traceId}`)).spans.length === 3, "the traces");
  });
  after(() => spanlink.remove());

  test("are not compared with one another", async () => {
    const page = await open(browser,
      `${spanlink.url}/#/flame?trace=${wall.traceId}&vs=trace:${mixed.traceId}`);
    const summary = page.locator(".summary");
    await summary.getByText("60 ms").waitFor();
    assert.match(await summary.innerText(), /^35 ms Wall clock/);
    await page.goto(`${spanlink.url}/#/flame?trace=${mixed.traceId}&vs=trace:${wall.traceId}`);
    await summary.getByText("35 ms").waitFor();
    assert.match(await summary.innerText(), /^60 ms Wall clock/);
    assert.match(await page.getByText("Folded stacks").getAttribute("href"), /type=wall/);
    for (const [one, vs, type] of [[cpu, wall, "CPU time"], [wall, cpu, "Wall clock"]]) {
      await page.goto(`${spanlink.url}/#/flame?span=${one.spanId}&vs=span:${vs.spanId}`);
      await page.getByRole("alert").getByText(`There is nothing to compare with. This has ${type}`).waitFor();
      await summary.getByText(type).waitFor();
      assert.doesNotMatch(await summary.innerText(), /against/);
    }
    assert.deepEqual(await violations(page), []);
    await close(page);
  });

  test("have one scale in the list, and look different", async () => {
    const page = await open(browser, spanlink.url);
    const part = async (text) => {
      const cell = page.getByRole("cell", { name: text, exact: true });
      await cell.waitFor();
      return cell.evaluate((each) => [Number(getComputedStyle(each).getPropertyValue("--part")),
        getComputedStyle(each, "::before").backgroundImage]);
    };
    const [[long, plain], [short, hatched]] = [await part("5 s"), await part("35 ms wall")];
    assert.equal(long, 1);
    assert.ok(short < 0.01, `${short}`);
    assert.notEqual(plain, hatched);
    await close(page);
  });

  test("of a child are in the graph of its local root, which Flame names", async () => {
    for (const vs of ["", "&vs=route"]) {
      const page = await open(browser, `${spanlink.url}/#/flame?span=${child.spanId}${vs}`);
      await page.getByText(/its work is in the flame graph of its local root/).waitFor();
      assert.equal(await page.getByText("the mean of 0").count(), 0);
      assert.deepEqual(await violations(page), []);
      await page.getByRole("link", { name: "shop GET /price" }).click();
      await page.locator(".summary").getByText("10 ms").waitFor();
      await close(page);
    }
  });

  test("are written beside their bars", async () => {
    const page = await open(browser, `${spanlink.url}/#/flame`);
    await page.locator(".cards .number").first().waitFor();
    const free = await page.locator(".cards .number").evaluateAll((all) => all.map((each) => {
      const text = document.createRange();
      text.selectNodeContents(each);
      return each.getBoundingClientRect().bottom - text.getBoundingClientRect().bottom
        - parseFloat(getComputedStyle(each, "::before").height);
    }));
    assert.ok(free.every((room) => room >= 0), `${free}`);
    await page.goto(`${spanlink.url}/#/cost`);
    const chart = page.locator(".plot svg");
    await chart.locator(".grid text").first().waitFor();
    const [ends, begins] = await chart.evaluate((svg) => [[".grid text", "right"], [".column", "left"]].map(
      ([of, side]) => [...svg.querySelectorAll(of)].map((each) => each.getBoundingClientRect()[side])));
    assert.ok(Math.max(...ends) <= Math.min(...begins), `${ends} ${begins}`);
    await close(page);
  });

  test("of a service that is not known are said to be its own lack", async () => {
    const page = await open(browser, `${spanlink.url}/#/cost?service=nope`);
    await page.getByRole("heading", { name: "This service has no CPU time" }).waitFor();
    assert.deepEqual(await violations(page), []);
    await page.getByRole("button", { name: "Show all services" }).click();
    await page.getByRole("link", { name: "shop GET /sum" }).waitFor();
    await close(page);
  });

  test("are found by the first digits of a trace id, and opened by Enter", async () => {
    const page = await open(browser, spanlink.url);
    for (const digits of [16, 8, 31]) {
      await page.getByRole("searchbox").fill(cpu.traceId.slice(0, digits).toUpperCase());
      await page.getByText("1 shown").waitFor();
      await page.getByRole("link", { name: "shop GET /sum" }).waitFor();
      await page.getByRole("searchbox").press("Enter");
      await page.waitForURL(`${spanlink.url}/#/trace/${cpu.traceId}`);
      await page.getByRole("treeitem", { name: "shop GET /sum" }).waitFor();
      await page.goBack();
      await page.getByRole("searchbox").waitFor();
    }
    await page.getByRole("searchbox").fill(`0x${cpu.spanId}`);
    await page.getByRole("searchbox").press("Enter");
    await page.waitForURL(`${spanlink.url}/#/trace/${cpu.traceId}?span=${cpu.spanId}`);
    await close(page);
  });

  test("are filtered while a duration is typed, and Tab goes to the next field", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("link", { name: "shop GET /sum" }).waitFor();
    const names = page.getByLabel("Service").locator("option");
    await names.nth(2).waitFor({ state: "attached" });
    await page.getByLabel("Spans").focus();
    await page.keyboard.press("Tab");
    await page.keyboard.type("1ms");
    await page.keyboard.press("Tab");
    await page.waitForURL(/min_duration=1ms$/);
    await page.getByText(/shown/).waitFor();
    await page.keyboard.type("4s");
    assert.equal(await page.getByLabel("CPU from").inputValue(), "4s");
    await page.waitForURL(/min_duration=1ms&min_cpu=4s$/);
    await page.getByText("1 shown").waitFor();
    assert.equal(await page.getByLabel("CPU from").evaluate((field) => field === document.activeElement), true);
    await page.getByLabel("CPU from").fill("2h");
    await page.getByRole("heading", { name: "No trace matches" }).waitFor();
    await page.getByRole("button", { name: "Clear the search" }).click();
    await page.getByRole("link", { name: "shop GET /sum" }).waitFor();
    for (const label of ["Duration from", "CPU from"]) {
      assert.equal(await page.getByLabel(label).inputValue(), "", label);
    }
    await close(page);
  });

  test("are filtered while a row is chosen: a click opens it, and the focus stays in the list", async () => {
    const page = await open(browser, spanlink.url);
    const row = page.getByRole("link", { name: "shop GET /sum" });
    await row.waitFor();
    const fewer = page.getByLabel("CPU from");
    await fewer.pressSequentially("4s");
    await page.getByRole("link", { name: "pricing GET /price" }).focus();
    await page.getByText("1 shown").waitFor();
    assert.equal(await row.evaluate((link) => link === document.activeElement), true);
    await fewer.fill("");
    await page.getByText("3 shown").waitFor();
    await fewer.pressSequentially("4s");
    await page.getByRole("link", { name: "pricing GET /price" }).click({ delay: 100 });
    await page.waitForURL(`${spanlink.url}/#/trace/${wall.traceId}`);
    await close(page);
  });

  test("stay filtered as their address says, whatever was typed before it was left", async () => {
    const page = await open(browser, `${spanlink.url}/#/traces?service=shop&linked=true&min_cpu=4s`);
    await page.getByText("1 shown").waitFor();
    assert.equal(await page.getByLabel("Service").inputValue(), "shop");
    assert.equal(await page.getByLabel("Spans").inputValue(), "true");
    await page.getByRole("searchbox").fill("GET");
    await page.evaluate(() => (location.hash = "#/cost"));
    await page.getByRole("heading", { name: "Cost by route" }).waitFor();
    await page.waitForTimeout(400);
    assert.equal(page.url(), `${spanlink.url}/#/cost`);
    await close(page);
  });

  test("stay as they were while the list pauses and another view is open", async () => {
    const page = await open(browser, spanlink.url);
    await page.getByRole("link", { name: "shop GET /sum" }).waitFor();
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("link", { name: "shop GET /sum" }).click();
    await page.getByRole("tree").waitFor();
    await sendRoots(spanlink, "fresh", ["GET /fresh"]);
    await until(async () => (await spanlink.api("/api/traces?service=fresh")).traces.length === 1, "it");
    await page.goBack();
    await page.getByRole("button", { name: "Resume" }).waitFor();
    await page.getByRole("link", { name: "shop GET /sum" }).waitFor();
    assert.equal(await page.getByText("GET /fresh").count(), 0);
    await page.getByRole("button", { name: "Resume" }).click();
    await page.getByRole("link", { name: "fresh GET /fresh" }).waitFor();
    await close(page);
  });
});

test("numbers that may grow are said to be so far", async () => {
  const spanlink = await Spanlink.start();
  const end = now() / NS * NS;
  const root = span({ trace: id(32), name: "GET /report", start: end - 3n * NS, end: end + NS / 2n });
  const sample = { stack: ["main"], value: 360_000_000, span: root.spanId };
  await sendProfile(spanlink, "shop", [sample], end - 10n * NS, end);
  await sendSpans(spanlink, "shop", [root]);
  const page = await open(browser, spanlink.url);
  await page.getByRole("cell", { name: "360 ms+" }).waitFor();
  await page.getByRole("link", { name: "shop GET /report" }).click();
  await page.getByRole("region", { name: "Span", exact: true }).getByText(/^So far: /).waitFor();
  assert.deepEqual(await violations(page), []);
  const flame = await open(browser, `${spanlink.url}/#/flame?span=${root.spanId}`);
  await flame.getByText(/^So far: /).waitFor();
  await sendProfile(spanlink, "shop", [sample], end, end + 10n * NS);
  await flame.locator(".summary").getByText("720 ms").waitFor();
  await flame.getByText(/^So far: /).waitFor({ state: "hidden" });
  await page.getByText(/^So far: /).waitFor({ state: "hidden" });
  await page.goBack();
  await page.getByRole("cell", { name: "720 ms", exact: true }).waitFor();
  await close(flame);
  await close(page);
  await spanlink.remove();
});

test("Why draws the windows that came under another name, and says which", async () => {
  const spanlink = await Spanlink.start({ correlation: "hold: 1s" });
  const end = now();
  const root = span({ trace: id(32), name: "GET /bill", start: end - 100n * MS, end });
  await sendProfile(spanlink, "billing-prod", [{ stack: ["main"], value: 50_000_000, span: root.spanId }],
    end - 10n * NS, end);
  await sendSpans(spanlink, "billing", [root]);
  await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).reason === "names_differ",
    "the reason");
  const page = await open(browser, `${spanlink.url}/#/why?id=${root.spanId}`);
  await page.getByText("the windows in the picture came under the name billing-prod").waitFor();
  await page.getByText("1 window as a table").waitFor();
  assert.equal(await page.locator(".window.has").count(), 1);
  assert.equal(await page.getByText(/too far from it/).count(), 0);
  assert.deepEqual(await violations(page), []);
  await close(page);
  await spanlink.remove();
});

test("a rate in Pipeline is the mean of some seconds", async () => {
  const spanlink = await Spanlink.start({ correlation: "hold: 1s" });
  const page = await open(browser, `${spanlink.url}/#/pipeline`);
  await page.getByText("Rates are means of the last 10 s").waitFor();
  const card = page.getByRole("article", { name: "receiver otlp" });
  await card.waitFor();
  await sendRoots(spanlink, "shop", Array.from({ length: 40 }, (_, i) => `GET /${i}`));
  const rate = () => card.locator(".flow b").first().innerText();
  await until(async () => Number(await rate()) > 0, "a rate");
  // Each answer of the API is a look at the rates.
  for (let looks = 0; looks < 3; looks += 1) {
    await page.waitForResponse((answer) => answer.url().endsWith("/api/pipelines"));
    assert.ok(Number(await rate()) > 0);
  }
  await close(page);
  await spanlink.remove();
});

test("of a span whose end is covered nothing more is expected", async () => {
  const spanlink = await Spanlink.start({ correlation: "hold: 1s" });
  const root = await sendLinked(spanlink, "shop", "GET /a", [{ stack: ["main"], value: 10_000_000 }]);
  assert.equal((await spanlink.api(`/api/spans/${root.spanId}`)).so_far, false);
  await spanlink.remove();
});
