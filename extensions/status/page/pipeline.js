/* A live picture of the pipelines, and the configuration. */
import { connection, get, poll } from "./api.js";
import { spark } from "./chart.js";
import { fill, h, onResize, refill, s } from "./dom.js";
import { bytes, count, duration, plural, problems, rate } from "./format.js";
import { anchor, code, failure, muted, number, para, table, troubles } from "./parts.js";

const EVERY = 1000;
/* rates in a sparkline */
const KEPT = 60;
/* ms that a rate is the mean of: SDKs send every few seconds */
const MEAN = 10_000;
const SIGNALS = { traces: "--series-1", profiles: "--series-3", metrics: "--series-4",
	logs: "--series-2" };
const ITEMS = { traces: "spans", profiles: "profile_samples", metrics: "metric_points",
	logs: "log_records" };
/* The counters of what components pass on. */
const FLOW = { receiver: "accepted", processor: "outgoing", exporter: "sent" };

export const title = () => "Pipeline";

const colour = (signal) => `var(${SIGNALS[signal] ?? "--series-0"})`;

/** Rates per second from two responses: {component: {counter: {item: n}}}. */
function rates(before, now, seconds) {
	const old = new Map(before.components.map((each) => [`${each.kind} ${each.id}`, each.counters]));
	return new Map(now.components.map((each) => {
		const was = old.get(`${each.kind} ${each.id}`) ?? {};
		const parts = Object.entries(each.counters ?? {}).map(([name, items]) => [name,
			Object.fromEntries(Object.entries(items).map(([item, n]) => [item,
				Math.max(0, n - (was[name]?.[item] ?? 0)) / seconds]))]);
		return [`${each.kind} ${each.id}`, Object.fromEntries(parts)];
	}));
}

/* Of the items of a counter, those that there are. */
const some = (items) => Object.entries(items ?? {}).filter(([, n]) => n > 0);
const counted = (items) => items.map(([item, n]) => `${count(n)} ${words(item)}`).join(", ");

const all = (items) => Object.values(items ?? {}).reduce((sum, n) => sum + n, 0);

export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal });
		this.history = new Map();
		this.bad = new Map();
		this.wrong = h("div");
		this.gauges = h("dl.gauges");
		this.picture = h("div");
		this.trouble = h("div");
		this.config = h("section");
		fill(root, h("h1", "Pipeline"), this.wrong, this.gauges, this.picture, this.trouble, this.config);
		poll(() => this.load(), EVERY, signal, (problem) => {
			if (!this.last) fill(this.picture, failure("The pipelines cannot be shown", problem));
		});
		this.configuration();
		connection.addEventListener("restart", () => this.configuration(), { signal });
		onResize(this.picture, signal, () => this.wires());
	}

	update() {}

	async load() {
		const now = await get("/api/pipelines", {}, this.signal);
		const known = this.last && now.uptime_ns >= this.last.uptime_ns;
		const clock = performance.now();
		if (!known) {
			this.history.clear();
			this.looks = [];
		}
		while (clock - this.looks[1]?.clock >= MEAN) this.looks.shift();
		const [old] = this.looks;
		this.rates = old ? rates(old.now, now, (clock - old.clock) / 1000) : new Map();
		this.looks.push({ now, clock });
		this.last = now;
		this.wrongs = problems(now);
		const wrong = h("div", troubles(this.wrongs));
		if (wrong.textContent !== this.wrong.textContent) fill(this.wrong, wrong);
		this.showGauges(now);
		const shape = JSON.stringify([now.pipelines,
			now.components.map((each) => [each.kind, each.id, each.doc])]);
		if (shape !== this.shape) this.draw(now);
		this.shape = shape;
		this.refresh(now);
		this.showTrouble(now);
	}

	showGauges({ version, uptime_ns, rss_bytes, budget, hold, journal }) {
		const counted = budget?.used_bytes + budget?.beyond_bytes;
		const threshold = budget?.threshold_bytes || budget?.limit_bytes || 1;
		const gauges = [
			["Running", "", duration(Math.floor(uptime_ns / 1e9) * 1e9 || 1e9), `version ${version}`],
			budget && ["Memory budget", "processors/memory_limiter", bytes(counted),
				`of ${bytes(budget.limit_bytes)}, refuses above ${bytes(threshold)}, ` +
				`${bytes(rss_bytes)} resident`, counted / threshold],
			hold && ["Waiting for samples", "processors/correlation", plural(hold.spans, "span"),
				hold.spans ? `${bytes(hold.bytes)}, oldest ${duration(hold.oldest_ns)}` : ""],
			journal ? ["Journal", "extensions/journal", bytes(journal.bytes),
				`of ${bytes(journal.limit_bytes)}, ${count(journal.entries)} requests` +
				(journal.replay_left ? `, ${count(journal.replay_left)} to replay` : ""),
				journal.bytes / (journal.limit_bytes || 1)]
				: ["Journal", "extensions/journal", "off", "accepted data is in memory only"],
		].filter(Boolean);
		const shape = gauges.map(([label]) => label).join();
		/* A link that is made anew loses the focus. */
		if (shape !== this.gaugeShape) {
			this.values = gauges.map(() => h("dd"));
			fill(this.gauges, gauges.map(([label, doc], i) => h("div.gauge",
				h("dt", doc ? documentation({ doc: `/docs/${doc}`, id: label }) : label), this.values[i])));
			this.gaugeShape = shape;
		}
		gauges.forEach(([, , value, more, part], i) => fill(this.values[i], h("b", value),
			more && muted(more), part !== undefined && h("i",
				{ class: `meter ${part > 0.9 ? "bad" : part > 0.7 ? "warn" : ""}`,
				style: { "--part": `${Math.min(100, part * 100)}%` } })));
	}

	/* Stages: receivers, the processors by their position, exporters. */
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
		this.edges = pipelines.flatMap(edgesOf).filter(({ from, to }) => this.nodes.has(from)
			&& this.nodes.has(to)).map((edge) => ({
			...edge, one: this.nodes.get(edge.from), two: this.nodes.get(edge.to),
			wire: s("path.wire", { style: { stroke: colour(edge.signal) } }) }));
		this.lines = s("svg.wires", { "aria-hidden": "true" }, this.edges.map(({ wire }) => wire));
		const others = components.filter((each) => each.kind === "extension");
		fill(this.picture, h("h2.unseen", "Components"), para(muted("Rates are means of the last 10 s, or since this view was opened.")),
			h("ul.legend", [...new Set(pipelines.map((each) => each.signal))].map((signal) => h("li", {},
			h("i", { style: { background: colour(signal) } }), signal))),
		h("div.stages", this.lines,
			cards.filter((list) => list.length > 0).map((list, i, { length }) => h("section.stage", {
			"aria-label": i === 0 ? "Receivers" : i === length - 1 ? "Exporters"
				: `Processors, step ${i}` }, list))),
		others.length > 0 && h("p.extensions", muted("Extensions: "),
			others.map((each) => h("span.chip", documentation(each)))));
	}

	card(component) {
		const now = h("p.flow");
		const more = h("p.muted.more");
		const line = h("div");
		const element = h("article.node", { "aria-label": `${component.kind} ${component.id}` },
			h("h3", documentation(component)), h("p.kind.muted", component.kind), now, line, more);
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
			const items = some(each.counters?.[FLOW[each.kind]]);
			const came = some(each.counters?.incoming);
			const apart = all(each.counters?.incoming) > all(each.counters?.outgoing)
				&& `, ${counted(came)} came in`;
			fill(node.now, items.length === 0 ? muted(came.length > 0 ? "nothing goes out" : "nothing yet")
				: items.map(([item, n]) => h("span", { title: `${count(n)} ${words(item)} so far` },
					h("b", passing ? rate(passing[item] ?? 0) : "…"), ` ${words(item)}/s`)));
			fill(node.line, spark(this.history.get(key)));
			const lost = some(each.counters?.dropped);
			const refused = each.refusals.reduce((sum, { count: n }) => sum + n, 0);
			const retries = all(each.counters?.retries);
			const bad = refused + all(each.counters?.dropped);
			const wrong = each.refusing ? { bad: true }
				: this.wrongs.find(({ id }) => id === each.id && each.delivery);
			const { classList } = node.element;
			classList.toggle("trouble", bad > (this.bad.get(key) ?? bad) || Boolean(wrong?.bad));
			classList.toggle("slow", Boolean(wrong) && !wrong.bad);
			this.bad.set(key, bad);
			fill(node.more, `${counted(items) || "0"} so far${apart || ""}` +
				(retries > 0 ? `, ${plural(retries, "retry", "retries")}` : ""),
				lost.map(([item, n]) => h("span.badge.bad", `${count(n)} ${words(item)} lost`)),
				refused > 0 && h("span.badge.warn", `${plural(refused, "request")} refused`),
				each.delivery?.urls.map((url) => h("span.queue", url)),
				each.queue && queue(each.queue));
		}
		this.wires();
		this.flowing();
	}

	/*
	 * Draws curves between the cards, to the right or, on a narrow screen, downwards. A curve that
	 * skips a stage passes below its cards.
	 */
	wires() {
		if (!this.lines) return;
		const stages = this.lines.parentElement;
		const host = stages.getBoundingClientRect();
		const down = getComputedStyle(stages).flexDirection === "column";
		const box = (node) => {
			const { left, top, width, height } = node.getBoundingClientRect();
			const [x, y] = [left - host.left + stages.scrollLeft, top - host.top];
			return down ? { a: y, b: x, long: height, wide: width }
				: { a: x, b: y, long: width, wide: height };
		};
		const point = (a, b) => (down ? `${b} ${a}` : `${a} ${b}`);
		for (const { one, two, offset, wire } of this.edges) {
			const [x, y] = [box(one.element), box(two.element)];
			const passed = this.columns.slice(one.stage + 1, two.stage).flat().map(box);
			const low = Math.max(...passed.map((each) => each.b + each.wide)) + 18 + offset;
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
			wire.setAttribute("d", path);
		}
	}

	flowing() {
		for (const { from, signal, wire } of this.edges) {
			const passing = this.rates.get(from)?.[FLOW[from.split(" ")[0]]];
			wire.classList.toggle("flows", (passing?.[ITEMS[signal]] ?? 0) > 0);
		}
	}

	showTrouble({ components }) {
		const rows = components.flatMap((each) => [each.refusals, each.drops].flatMap((causes, lost) =>
			causes.map((cause) => ({ each, lost, ...cause }))));
		const state = JSON.stringify(rows.map(({ each, cause, count: n }) => [each.id, cause, n]));
		if (state === this.refused) return;
		this.refused = state;
		refill(this.trouble, h("h2", "Refused and lost"), rows.length === 0
			? para(muted("Nothing has been refused or lost."))
			: table("Refused and lost", ["Component", "Cause", "Effect", "Count"],
				rows.map(({ each, cause, item, lost, count: n }) => [documentation(each), cause,
					lost ? `${words(item)} lost` : "requests refused: the client was told",
					number(count(n))]), { class: "scroll panel" }));
	}

	async configuration() {
		try {
			const { yaml, defaults } = await get("/api/config", {}, this.signal);
			const host = h("div");
			const find = h("input", { type: "search", placeholder: "Find a key",
				"aria-label": "Find a key",
				oninput: () => fill(host, defaultsTable(defaults, find.value)) });
			const list = h("details", h("summary", `${plural(defaults.length, "default")} in effect`),
				find, host);
			fill(this.config, h("h2", "Configuration"),
				para("As it is in effect, with variables and files resolved, without secrets."),
				h("div.code", h("pre", { tabindex: "0", role: "region", "aria-label": "Configuration",
					text: yaml })), list);
			fill(host, defaultsTable(defaults, ""));
		} catch (problem) {
			if (problem.name === "AbortError") return;
			fill(this.config, h("h2", "Configuration"), failure("It cannot be shown", problem));
		}
	}
}

function edgesOf({ signal, receivers, processors, exporters }, number) {
	const offset = [0, 8, -8, 14][number % 4];
	const edge = (from, to) => ({ from, to, signal, offset });
	const inner = processors.map((id) => `processor ${id}`);
	const [ins, outs] = [receivers.map((id) => `receiver ${id}`),
		exporters.map((id) => `exporter ${id}`)];
	if (inner.length === 0) return ins.flatMap((from) => outs.map((to) => edge(from, to)));
	return [...ins.map((from) => edge(from, inner[0])),
		...inner.slice(1).map((to, i) => edge(inner[i], to)),
		...outs.map((to) => edge(inner.at(-1), to))];
}

/* With more consumers than places, what is in flight can exceed the capacity. */
function queue({ size, capacity }) {
	const held = Math.min(size, capacity);
	return h("span.queue", `queue ${count(held)} of ${count(capacity)}`,
		size > held && `, ${count(size - held)} more in flight`,
		h("i.meter", { style: { "--part": `${(100 * held) / capacity}%` } }));
}

function words(item) {
	return item.replace("profile_samples", "sample records").replace(/^(metric|log)_/, "");
}

const documentation = ({ doc, id }) => anchor(doc, id,
	{ title: "Its documentation", rel: "noopener", target: "_blank" });

function defaultsTable(defaults, text) {
	const found = defaults.filter(({ path }) => path.toLowerCase().includes(text.toLowerCase()));
	return found.length === 0 ? para(muted("No key matches."))
		: table("Defaults", ["Key", "Value", "Meaning"],
		found.map(({ path, value, text: meaning }) => [
			code(path), code(String(value)), meaning ?? ""]));
}
