/* The pipelines as a picture with what passes now, and the configuration. */
import { connection, get, poll } from "./api.js";
import { spark } from "./chart.js";
import { fill, h, s } from "./dom.js";
import { bytes, count, duration, plural, rate } from "./format.js";
import { code, failure, muted, number, para, table } from "./parts.js";

const EVERY = 1000;
const KEPT = 60; // rates behind each small line
const SIGNALS = { traces: "--series-1", profiles: "--series-3", metrics: "--series-4", logs: "--series-2" };
/* What each kind of component passes on, and what it loses or refuses. */
const FLOW = { receiver: "accepted", processor: "outgoing", exporter: "sent" };
const TROUBLE = ["refused", "failed", "send_failed", "enqueue_failed", "dropped"];

export const title = () => "Pipeline";

/** The rate in a second of every counter, from two answers: {component: {counter: {item: n}}}. */
export function rates(before, now) {
  const seconds = (now.uptime_ns - before.uptime_ns) / 1e9;
  const old = new Map(before.components.map((each) => [`${each.kind} ${each.id}`, each.counters]));
  return new Map(now.components.map((each) => {
    const was = old.get(`${each.kind} ${each.id}`) ?? {};
    const parts = Object.entries(each.counters ?? {}).map(([name, items]) => [name,
      Object.fromEntries(Object.entries(items).map(([item, n]) => [item,
        Math.max(0, n - (was[name]?.[item] ?? 0)) / (seconds || 1)]))]);
    return [`${each.kind} ${each.id}`, Object.fromEntries(parts)];
  }));
}

const all = (items) => Object.values(items ?? {}).reduce((sum, n) => sum + n, 0);

export class View {
  constructor(root, _route, signal) {
    Object.assign(this, { root, signal });
    this.history = new Map();
    this.gauges = h("dl", { class: "gauges" });
    this.picture = h("div", { class: "graph" });
    this.trouble = h("div");
    this.config = h("section", { class: "config" });
    fill(root, h("h1", { text: "Pipeline" }), this.gauges, this.picture, this.trouble, this.config);
    poll(() => this.load(), EVERY, signal, (problem) => {
      if (!this.last) fill(this.picture, failure("The pipelines cannot be shown", problem));
    });
    this.configuration();
    connection.addEventListener("restart", () => this.configuration(), { signal });
    const observer = new ResizeObserver(() => this.wires());
    observer.observe(this.picture);
    signal.addEventListener("abort", () => observer.disconnect());
  }

  update() {}

  async load() {
    const now = await get("/api/pipelines", {}, this.signal);
    const known = this.last && now.uptime_ns > this.last.uptime_ns;
    this.rates = known ? rates(this.last, now) : new Map();
    if (!known) this.history.clear();
    this.last = now;
    this.showGauges(now);
    const shape = JSON.stringify([now.pipelines, now.components.map((each) => [each.kind, each.id, each.doc])]);
    if (shape !== this.shape) this.draw(now);
    this.shape = shape;
    this.refresh(now);
    this.showTrouble(now);
  }

  showGauges({ version, uptime_ns, budget, hold, journal }) {
    const gauge = (label, value, more, part) => h("div", { class: "gauge" }, h("dt", { text: label }),
      h("dd", {}, h("b", { text: value }), more && muted(more),
        part !== undefined && h("i", { class: `meter ${part > 0.9 ? "bad" : part > 0.7 ? "warn" : ""}`,
          style: { "--part": `${Math.min(100, part * 100)}%` } })));
    fill(this.gauges,
      gauge("Running", duration(Math.floor(uptime_ns / 1e9) * 1e9 || 1e9), `version ${version}`),
      budget && gauge("Memory budget", bytes(budget.used_bytes), `of ${bytes(budget.limit_bytes)}`,
        budget.used_bytes / (budget.limit_bytes || 1)),
      hold && gauge("Waiting for samples", plural(hold.spans, "span"),
        hold.spans ? `${bytes(hold.bytes)}, oldest ${duration(hold.oldest_ns)}` : "none is held"),
      journal ? gauge("Journal", bytes(journal.bytes), `${count(journal.entries)} requests` +
        (journal.replay_left ? `, ${count(journal.replay_left)} to replay` : ""))
        : gauge("Journal", "off", "accepted data are in memory"));
  }

  /* Stages from left to right: receivers, the processors by their place, exporters. */
  draw({ pipelines, components }) {
    const stage = new Map();
    const deepest = Math.max(0, ...pipelines.map((each) => each.processors.length));
    for (const each of pipelines) {
      each.receivers.forEach((id) => stage.set(`receiver ${id}`, 0));
      each.processors.forEach((id, i) => stage.set(`processor ${id}`,
        Math.max(i + 1, stage.get(`processor ${id}`) ?? 0)));
      each.exporters.forEach((id) => stage.set(`exporter ${id}`, deepest + 1));
    }
    this.nodes = new Map();
    const cards = Array.from({ length: deepest + 2 }, () => []);
    for (const each of components) {
      const key = `${each.kind} ${each.id}`;
      if (!stage.has(key)) continue;
      const card = { ...this.card(each), stage: stage.get(key) };
      this.nodes.set(key, card);
      cards[card.stage].push(card.element);
    }
    this.columns = cards;
    this.edges = pipelines.flatMap(edgesOf);
    this.lines = s("svg", { class: "wires", "aria-hidden": "true" });
    const others = components.filter((each) => each.kind === "extension");
    fill(this.picture, h("ul", { class: "legend" }, [...new Set(pipelines.map((each) => each.signal))].map((signal) => h("li", {},
      h("i", { style: { background: `var(${SIGNALS[signal] ?? "--series-0"})` } }), signal))),
    h("div", { class: "stages" }, this.lines, cards.filter((list) => list.length > 0).map((list, i, { length }) => h("section", {
      class: "stage", "aria-label": i === 0 ? "Receivers" : i === length - 1 ? "Exporters" : `Processors, step ${i}` }, list))),
    others.length > 0 && h("p", { class: "extensions" }, muted("Extensions: "),
      others.map((each) => h("span", { class: "chip" }, documentation(each)))));
    this.wires();
  }

  card(component) {
    const now = h("p", { class: "flow" });
    const more = h("p", { class: "muted more" });
    const line = h("div", { class: "line" });
    const element = h("article", { class: "node", "aria-label": `${component.kind} ${component.id}` },
      h("h3", {}, documentation(component)), h("p", { class: "kind muted", text: component.kind }), now, line, more);
    return { element, now, more, line };
  }

  refresh({ components }) {
    for (const each of components) {
      const key = `${each.kind} ${each.id}`;
      const node = this.nodes.get(key);
      if (!node) continue;
      const passing = this.rates.get(key)?.[FLOW[each.kind]];
      const history = this.history.get(key) ?? [];
      if (passing) history.push(all(passing));
      this.history.set(key, history.slice(-KEPT));
      const items = Object.entries(each.counters?.[FLOW[each.kind]] ?? {}).filter(([, n]) => n > 0);
      fill(node.now, items.length === 0 ? muted("nothing yet")
        : items.map(([item, n]) => h("span", { title: `${count(n)} ${words(item)} so far` },
          h("b", { text: rate(passing?.[item] ?? 0) }), ` ${words(item)}/s`)));
      fill(node.line, spark(this.history.get(key)));
      const lost = TROUBLE.reduce((sum, name) => sum + all(each.counters?.[name]), 0);
      const total = items.reduce((sum, [, n]) => sum + n, 0);
      node.element.classList.toggle("trouble", TROUBLE.some((name) => all(this.rates.get(key)?.[name]) > 0));
      fill(node.more, `${count(total)} so far`, lost > 0 && h("span", { class: "badge bad", text: `${count(lost)} refused or lost` }),
        each.queue && h("span", { class: "queue" }, `queue ${count(each.queue.size)} of ${count(each.queue.capacity)}`,
          h("i", { class: "meter", style: { "--part": `${(100 * each.queue.size) / (each.queue.capacity || 1)}%` } })));
    }
    this.flowing();
  }

  /*
   * Curves between the cards: to the right, or downwards where the stages stand below each other.
   * One that passes a stage goes below its cards.
   */
  wires() {
    if (!this.lines) return;
    const stages = this.lines.parentElement;
    const host = stages.getBoundingClientRect();
    const down = getComputedStyle(stages).flexDirection === "column";
    const box = (node) => {
      const { left, top, width, height } = node.getBoundingClientRect();
      return down ? { a: top - host.top, b: left - host.left + stages.scrollLeft, long: height, wide: width }
        : { a: left - host.left + stages.scrollLeft, b: top - host.top, long: width, wide: height };
    };
    const point = (a, b) => (down ? `${b} ${a}` : `${a} ${b}`);
    fill(this.lines, this.edges.map(({ from, to, signal, offset }) => {
      const [one, two] = [this.nodes.get(from), this.nodes.get(to)];
      if (!one || !two) return null;
      const [x, y] = [box(one.element), box(two.element)];
      const passed = this.columns.slice(one.stage + 1, two.stage).flat().map(box);
      const low = Math.max(...passed.map((each) => each.b + each.wide)) + 14 + offset;
      let path = `M${point(x.a + x.long, x.b + x.wide / 2 + offset)}`;
      let at = [x.a + x.long, x.b + x.wide / 2 + offset];
      const curve = (a, b) => {
        const half = (at[0] + a) / 2;
        path += `C${point(half, at[1])} ${point(half, b)} ${point(a, b)}`;
        at = [a, b];
      };
      if (passed.length > 0 && !down) {
        curve(Math.min(...passed.map((each) => each.a)), low);
        curve(Math.max(...passed.map((each) => each.a + each.long)), low);
      }
      curve(y.a, y.b + y.wide / 2 + offset);
      return s("path", { class: "wire", "data-from": from, d: path,
        style: { stroke: `var(${SIGNALS[signal] ?? "--series-0"})` } });
    }));
    this.flowing();
  }

  flowing() {
    for (const wire of this.lines.children) {
      const kind = wire.dataset.from.split(" ")[0];
      wire.classList.toggle("flows", all(this.rates.get(wire.dataset.from)?.[FLOW[kind]]) > 0);
    }
  }

  showTrouble({ components }) {
    const rows = components.flatMap((each) => (each.refusals ?? []).filter(({ count: n }) => n > 0).map((refusal) => ({ each, ...refusal })));
    const state = JSON.stringify(rows.map(({ each, cause, count: n }) => [each.id, cause, n]));
    if (state === this.refused) return;
    this.refused = state;
    fill(this.trouble, h("h2", { text: "Refused" }), rows.length === 0
      ? para(muted("Nothing has been refused or dropped."))
      : table("Refused", ["Component", "Cause", "Requests"], rows.map(({ each, cause, count: n }) => [
        documentation(each), cause, number(count(n))]), { class: "scroll panel" }));
  }

  async configuration() {
    try {
      const { yaml, defaults } = await get("/api/config", {}, this.signal);
      const host = h("div");
      const find = h("input", { type: "search", placeholder: "Find a key", "aria-label": "Find a key",
        oninput: () => fill(host, defaultsTable(defaults, find.value)) });
      fill(this.config, h("h2", { text: "Configuration" }),
        para(muted("In force now, with variables and files resolved. Secrets are left out.")),
        h("div", { class: "code" }, h("pre", { tabindex: "0", role: "region", "aria-label": "Configuration", text: yaml })),
        h("details", {}, h("summary", { text: `${plural(defaults.length, "default")} in force` }), find, host));
      fill(host, defaultsTable(defaults, ""));
    } catch (problem) {
      if (problem.name === "AbortError") return;
      fill(this.config, h("h2", { text: "Configuration" }), failure("It cannot be shown", problem));
    }
  }
}

function edgesOf({ signal, receivers, processors, exporters }, number) {
  const offset = [0, 8, -8, 14][number % 4];
  const edge = (from, to) => ({ from, to, signal, offset });
  const inner = processors.map((id) => `processor ${id}`);
  const [ins, outs] = [receivers.map((id) => `receiver ${id}`), exporters.map((id) => `exporter ${id}`)];
  if (inner.length === 0) return ins.flatMap((from) => outs.map((to) => edge(from, to)));
  return [...ins.map((from) => edge(from, inner[0])), ...inner.slice(1).map((to, i) => edge(inner[i], to)),
    ...outs.map((to) => edge(inner.at(-1), to))];
}

function words(item) {
  return { spans: "spans", profile_samples: "samples", metric_points: "points", log_records: "records" }[item] ?? item;
}

function documentation({ doc, id }) {
  if (!/^https?:\/\//.test(doc ?? "")) return h("span", { text: id });
  return h("a", { href: doc, text: id, rel: "noreferrer noopener", target: "_blank" });
}

function defaultsTable(defaults, text) {
  const found = defaults.filter(({ path }) => path.toLowerCase().includes(text.toLowerCase()));
  return found.length === 0 ? para(muted("No key has this in its path.")) : table("Defaults", ["Key", "Value", "Meaning"],
    found.map(({ path, value, text: meaning }) => [code(path), code(String(value)), meaning ?? ""]));
}
