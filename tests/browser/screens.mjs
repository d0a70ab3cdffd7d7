// SPDX-License-Identifier: Apache-2.0
// Takes the pictures of docs/status.md, of a small shop that is made up:
//   tests/browser/setup.sh && build/browser/node tests/browser/screens.mjs
import { mkdirSync } from "node:fs";
import path from "node:path";
import { launch, open } from "./support/browser.mjs";
import { ROOT, Spanlink, until } from "./support/spanlink.mjs";
import { id, now, NS, sendProfile, sendSpans, span } from "./support/traffic.mjs";

const MS = 1_000_000n;
const SAMPLE = 10_000_000;
const ROUTES = ["POST /order", "GET /cart", "GET /product/{id}"];
const serve = ["http.Server.serve", "http.Handler.run", "shop.app.dispatch"];
/* Stacks below each route, and how many samples each has. */
const STACKS = {
  shop: [
    [[...serve, "shop.order.place", "shop.price.total", "shop.price.discount", "re.match"], 9],
    [[...serve, "shop.order.place", "shop.price.total", "shop.price.tax"], 4],
    [[...serve, "shop.order.place", "shop.cart.load", "json.loads", "json.scan_once"], 7],
    [[...serve, "shop.order.place", "shop.cart.load", "sql.fetch_all"], 3],
    [[...serve, "shop.order.place", "shop.mail.render", "template.render", "template.escape"], 6],
    [[...serve, "shop.order.place", "shop.mail.render", "template.compile"], 3],
    [[...serve, "shop.session.verify", "hmac.digest"], 3],
    [[...serve, "json.dumps", "json.encode"], 4],
  ],
  payments: [
    [["net.accept", "payments.api.charge", "crypto.rsa.sign", "crypto.big.exp"], 8],
    [["net.accept", "payments.api.charge", "payments.audit.write", "json.dumps"], 3],
    [["net.accept", "tls.handshake"], 2],
  ],
};

function order(at, number) {
  const trace = id(32);
  const length = BigInt(280 + (number * 37) % 160) * MS;
  const part = (share) => at + (length * BigInt(share)) / 100n;
  const make = (name, from, to, more) => span({ trace, name, start: part(from), end: part(to),
    kind: 1, ...more });
  const root = make(ROUTES[number % 3], 0, 100, { kind: 2,
    attributes: { "http.request.method": ROUTES[number % 3].split(" ")[0],
      "http.response.status_code": 200 } });
  const below = (parent, name, from, to, more) => make(name, from, to,
    { parent: parent.spanId, ...more });
  const cart = below(root, "load cart", 3, 24);
  const charge = below(root, "charge", 38, 78, { kind: 3 });
  const remote = below(charge, "POST /charge", 41, 76, { kind: 2 });
  const again = { name: "retry", at: part(62), attributes: { reason: "connection reset" } };
  return { shop: [root, cart, below(cart, "SELECT cart", 6, 19, { kind: 3 }),
    below(root, "total", 25, 36), charge,
    below(root, "send mail", 80, 96)], payments: [remote, below(remote, "sign", 44, 59),
    below(remote, "INSERT audit", 61, 72, { kind: 3, events: [again] })], root, remote };
}

async function fill(spanlink) {
  const begin = now();
  await until(() => now() > begin + 3n * NS, "three seconds");
  const orders = Array.from({ length: 24 }, (_, i) => order(begin + BigInt(i) * 100n * MS, i));
  for (const service of ["shop", "payments"]) {
    const samples = orders.flatMap((each, i) => STACKS[service].map(([stack, count]) => ({ stack,
      value: Math.ceil((count * (1 + ((i * 7) % 5))) / 3) * SAMPLE / 2,
      span: i % 4 === 3 ? undefined : (service === "shop" ? each.root : each.remote).spanId })));
    await sendSpans(spanlink, service, orders.flatMap((each) => each[service]));
    await sendProfile(spanlink, service, samples, begin - 7n * NS, now());
  }
  const plain = orders[3].root.spanId;
  await until(async () => (await spanlink.api(`/api/spans/${plain}`)).decision === "not_linked",
    "the decisions");
  return { trace: orders[9].root.traceId, root: orders[9].root.spanId, plain };
}

const spanlink = await Spanlink.start();
const { trace, root, plain } = await fill(spanlink);
const browser = await launch();
mkdirSync(path.join(ROOT, "docs/images"), { recursive: true });
for (const [name, view, colorScheme, width, height] of [
  ["status-trace", `trace/${trace}?span=${root}`, "light", 1280, 700],
  ["status-flame", "flame?service=shop&show=both", "dark", 1280, 560],
  ["status-why", `why?id=${plain}`, "light", 1280, 580]]) {
  const page = await open(browser, `${spanlink.url}/#/${view}`,
    { colorScheme, viewport: { width, height }, reducedMotion: "reduce" });
  await page.locator("main").locator(".flame, .card").first().waitFor();
  await page.locator("[aria-busy]").first().waitFor({ state: "detached" });
  await page.locator("[data-state=up]").waitFor();
  await page.screenshot({ path: path.join(ROOT, "docs/images", `${name}.png`) });
  await page.context().close();
}
await browser.close();
await spanlink.remove();
