/* The view of a trace: its spans as a waterfall, and the details and flame graph of one of them. */
import { get, poll } from "./api.js";
import { announce, copyButton, fill, h } from "./dom.js";
import { FlamePanel } from "./flame-panel.js";
import { between, count, dateTime, duration, hue, named, percent, plural, word } from "./format.js";
import { anchor, code, facts, failure, muted, para, renewed, swatch, who } from "./parts.js";
import { link, note } from "./route.js";
import { Rows } from "./rows.js";

export const title = ({ id }) => `Trace ${id}`;

/**
 * Spans in the order of a tree, as {span, level, children, index, size}: siblings by their start,
 * and spans whose parent is not here, or that are their own ancestors, as roots.
 */
function treeOf(spans) {
	const nodes = spans.map((span) => ({ span, level: 1, children: [], parent: null }));
	const byId = new Map(nodes.map((node) => [node.span.span_id, node]));
	const roots = [];
	for (const node of nodes) {
		const parent = byId.get(node.span.parent_span_id);
		if (parent && parent !== node) {
			parent.children.push(node);
			node.parent = parent;
		} else roots.push(node);
	}
	const start = (a, b) => (BigInt(a.span.start_unix_nano) < BigInt(b.span.start_unix_nano) ? -1
		: 1);
	const order = [];
	const seen = new Set();
	const walk = (from) => {
		const stack = [from];
		while (stack.length > 0) {
			const node = stack.pop();
			if (seen.has(node)) continue;
			seen.add(node);
			order.push(node);
			node.children = node.children.filter((child) => !seen.has(child)).sort(start);
			node.children.forEach((child, i) => Object.assign(child,
				{ level: node.level + 1, index: i + 1, size: node.children.length }));
			stack.push(...node.children.toReversed());
		}
	};
	roots.sort(start).forEach((root, i) => Object.assign(root, { index: i + 1, size: roots.length }));
	roots.forEach(walk);
	for (const node of nodes) {
		if (seen.has(node)) continue;
		Object.assign(node, { parent: null, index: 1, size: 1 });
		walk(node);
	}
	order.forEach((node, i) => (node.key = `${i} ${node.span.span_id}`));
	return order;
}

export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal, id: route.id, chosen: route.params.span });
		this.closed = new Set();
		fill(root, para(muted("Reading the trace…")));
		poll(() => this.load(), 4000, signal, (problem) => this.failed(problem));
	}

	update(route) {
		const node = this.order?.find(({ span }) => span.span_id === route.params.span);
		if (node) this.choose(node);
	}

	async load() {
		const trace = await get(`/api/traces/${encodeURIComponent(this.id)}`, {}, this.signal);
		const text = JSON.stringify(trace);
		if (text === this.text) return;
		this.text = text;
		this.spans = trace.spans;
		this.cut = trace.truncated;
		this.order = treeOf(trace.spans);
		if (!this.tree) this.build();
		this.measure();
		this.showHead();
		this.paint();
		this.showChosen();
	}

	failed(problem) {
		if (this.tree) return;
		fill(this.root, h("h1", "Trace"), failure("This trace cannot be shown", problem,
			para(muted("The latest traces are kept; keep_mib of the status extension says how much.")),
			para(anchor(link("traces"), "The traces that are kept"))));
	}

	build() {
		this.head = h("div");
		this.tree = h("div", { role: "tree", class: "rows", "aria-label": "Spans" });
		this.ruler = h("div.span-row.ruler", { "aria-hidden": "true" });
		this.details = h("section.details", { "aria-label": "Span", tabindex: "-1" });
		fill(this.root, this.head, h("div.trace-view",
			h("section.spans", { "aria-label": "Waterfall" }, this.ruler, this.tree), this.details));
		this.list = new Rows(this.tree, { key: (node) => node.key, render: (node) => this.row(node),
			state: (node) => this.state(node), whole: 500, signal: this.signal });
		this.tree.addEventListener("keydown", (event) => this.key(event));
		this.tree.addEventListener("click", (event) => this.click(event));
	}

	measure() {
		const starts = this.spans.map((span) => BigInt(span.start_unix_nano));
		this.from = starts.reduce((a, b) => (a < b ? a : b));
		const most = (of) => this.spans.reduce((max, span) => Math.max(max, of(span)), 1);
		this.length = most((span) => this.offset(span) + span.duration_ns);
		this.mostCpu = most((span) => span.cpu_ns);
		this.node = this.order.find(({ span }) => span.span_id === this.chosen) ?? this.first();
		this.focus ??= this.node;
		this.focus = this.order.find(({ key }) => key === this.focus.key) ?? this.node;
	}

	/* What is shown without a choice: the span with the most CPU, else the root. */
	first() {
		return this.order.reduce((best, node) => (node.span.cpu_ns > best.span.cpu_ns ? node : best),
			this.order[0]);
	}

	offset(span) {
		return between(this.from, span.start_unix_nano);
	}

	showHead() {
		const [root] = this.order;
		const services = new Map();
		for (const span of this.spans) {
			const sum = services.get(span.service) ?? { spans: 0, cpu: 0 };
			services.set(span.service, { spans: sum.spans + 1, cpu: sum.cpu + span.cpu_ns });
		}
		const cpu = this.spans.reduce((sum, span) => sum + span.cpu_ns, 0);
		const linked = this.spans.filter((span) => span.profile_id).length;
		fill(this.head, h("h1", who(root.span.service, root.span.name)),
		h("p.crumbs", code(this.id), copyButton(this.id, "Copy the trace id"),
			muted(dateTime(root.span.start_unix_nano))),
		facts(["Duration", duration(this.length)], ["Spans", count(this.spans.length)],
			["Linked", count(linked)],
			["CPU", cpu ? duration(cpu) : "–"]),
		h("div.chips", [...services].map(([name, sum]) => h("span.chip",
			swatch(name), named(name, "no service"),
			muted(`${plural(sum.spans, "span")}${sum.cpu ? `, ${duration(sum.cpu)} CPU` : ""}`))),
		this.cut && h("span.badge.warn", "not all spans are here"),
		linked > 0 && anchor(link("flame", { trace: this.id }), "Flame graph of the whole trace",
			{ class: "button" })));
		const ticks = [0, 0.25, 0.5, 0.75].map((part) => h("span", {
			style: { left: `${part * 100}%` }, text: duration(this.length * part) }));
		fill(this.ruler, h("span.tree-cell", "Span"),
			h("span.time-cell", { "aria-hidden": "true" }, ticks), h("span.cpu-cell", "CPU"));
	}

	lines() {
		const out = [];
		let hidden = Infinity;
		for (const node of this.order) {
			if (node.level > hidden) continue;
			hidden = this.closed.has(node.key) ? node.level : Infinity;
			out.push(node);
		}
		return out;
	}

	paint() {
		this.shown = this.lines();
		this.list.set(this.shown);
	}

	state(node) {
		return [node.span.cpu_ns, node.span.decision, node.span.reason, this.closed.has(node.key),
			this.length,
			this.mostCpu, node === this.node, node === this.focus, node.size].join();
	}

	row(node) {
		const { span } = node;
		const open = node.children.length === 0 ? null : String(!this.closed.has(node.key));
		const left = (100 * this.offset(span)) / this.length;
		const wide = (100 * span.duration_ns) / this.length;
		const color = { "--hue": hue(span.service) };
		const failed = span.status?.code === 2 || span.status?.code === "ERROR";
		const item = h("div.tree-cell", { role: "treeitem", "aria-level": node.level, "aria-expanded": open,
			"aria-selected": String(node === this.node), "aria-posinset": node.index,
			"aria-setsize": node.size, style: { "--level": Math.min(node.level - 1, 24) },
			"aria-label": `${named(span.service, "no service")} ${named(span.name)}`,
			"aria-description": duration(span.duration_ns) +
				(span.profile_id ? `, ${duration(span.cpu_ns)} CPU` : "") +
				(failed ? ", error" : ""),
			tabindex: node === this.focus ? "0" : "-1", title: `${span.service} ${span.name}` },
		h("span", { class: `twisty ${open === null ? "" : open === "true" ? "open" : "shut"}` }),
		swatch(span.service),
		h("span.label", node.parent?.span.service === span.service
			? h("span.name", named(span.name)) : who(span.service, span.name).slice(1)),
		failed && h("span.badge.bad.failed"));
		// What is beside the item is in its description, too.
		return h("div.span-row", { role: "none", dataset: { key: node.key } }, item,
			h("span.time-cell", { "aria-hidden": "true" },
				h("i.bar", { style: { ...color, left: `${left}%`, width: `max(3px, ${wide}%)` } }),
				(span.events ?? []).slice(0, 20).map((event) => h("i.tick", { style: {
					left: `${(100 * between(this.from, event.time_unix_nano)) / this.length}%` } })),
				h("span", { class: `length ${left + wide >= 70 && left < 30 ? "inside" : ""}`,
					style: left + wide < 70 ? { left: `calc(max(3px, ${wide}%) + ${left}% + 6px)` }
						: { right: `calc(${Math.max(0, 100 - left)}% + 6px)` } }, duration(span.duration_ns))),
			h("span.cpu-cell", { "aria-hidden": "true" }, this.cpu(span)));
	}

	cpu(span) {
		if (!span.profile_id) return muted(span.decision === "waiting" ? "waits" : "");
		return h("a", { href: link("trace", { span: span.span_id }, this.id), tabindex: "-1",
			class: "cpu-link",
			style: { "--part": span.cpu_ns / this.mostCpu },
			text: span.cpu_ns ? duration(span.cpu_ns) : plural(span.samples, "sample") });
	}

	nodeOf(target) {
		const key = target.closest(".span-row")?.dataset.key;
		return this.shown.find((node) => node.key === key);
	}

	click(event) {
		const node = this.nodeOf(event.target);
		if (!node || event.ctrlKey || event.metaKey) return;
		const graph = event.target.closest(".cpu-link");
		if (graph) event.preventDefault();
		if (event.target.closest(".twisty") && node.children.length > 0) this.toggle(node);
		else this.choose(node, graph ? "graph" : "");
		this.moveTo(node);
	}

	toggle(node, open = this.closed.has(node.key)) {
		if (open) this.closed.delete(node.key);
		else this.closed.add(node.key);
		this.paint();
	}

	choose(node, then) {
		this.node = node;
		this.chosen = node.span.span_id;
		note(link("trace", { span: this.chosen }, this.id));
		this.paint();
		this.showChosen();
		announce(`${named(node.span.service)} ${named(node.span.name)} is shown`);
		if (then === "graph") this.details.scrollIntoView({ block: "nearest" });
	}

	moveTo(node) {
		this.focus = node;
		this.paint();
		this.list.reveal(this.shown.indexOf(node))?.firstElementChild.focus({ preventScroll: true });
	}

	key(event) {
		const node = this.nodeOf(event.target);
		if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
		const at = this.shown.indexOf(node);
		const shut = this.closed.has(node.key);
		const to = {
			ArrowDown: () => this.shown[at + 1], ArrowUp: () => this.shown[at - 1],
			Home: () => this.shown[0], End: () => this.shown.at(-1),
			ArrowRight: () => {
				if (node.children.length === 0) return undefined;
				return shut ? this.toggle(node, true) : node.children[0];
			},
			ArrowLeft: () => (node.children.length > 0 && !shut ? this.toggle(node, false) : node.parent),
			Enter: () => this.choose(node, "graph"), " ": () => this.choose(node, "graph"),
		}[event.key];
		if (!to) return;
		event.preventDefault();
		const next = to();
		if (next) this.moveTo(next);
	}

	showChosen() {
		const { span } = this.node;
		const state = JSON.stringify(span);
		if (state === this.detailed) return;
		this.detailed = state;
		renewed(this);
		const graph = h("div");
		fill(this.details, h("h2", who(span.service, span.name)),
		this.facts(span), this.decision(span), graph, this.attributes(span), this.events(span),
			this.links(span));
		if (span.profile_id) this.flame(graph, span);
	}

	facts(span) {
		return facts(["Duration", duration(span.duration_ns)], ["After", duration(this.offset(span))],
			["Kind", (span.kind ?? "").toLowerCase()],
			["CPU", span.samples > 0
				&& `${duration(span.cpu_ns)}, ${percent(span.cpu_ns / (span.duration_ns || 1))}`],
			["Samples", span.samples > 0 && count(span.samples)], ["Status", span.status?.message],
			["Span id", [code(span.span_id), " ", copyButton(span.span_id, "Copy the span id")]]);
	}

	decision(span) {
		const words = { linked: "linked", not_linked: "not linked", as_came: span.reason
			? "left as it came" : "did not wait", waiting: "waits for samples" };
		const state = span.profile_id ? "linked" : words[span.decision] ?? "not linked";
		return h("p.decision",
			h("span", { class: `badge ${span.profile_id ? "good" : ""}`, text: state }),
			span.reason && !span.profile_id ? ` ${word(span.reason)} ` : " ",
			anchor(link("why", { id: span.span_id }), "Why?"),
			span.profile_id && anchor(link("flame", { span: span.span_id }), "Larger"),
			span.profile_id && anchor(link("flame", { span: span.span_id, vs: "route" }),
				"Against its route's mean"));
	}

	flame(host, span) {
		this.panel = new FlamePanel(host, { source: { span: span.span_id }, state: this.panelState,
			compact: true,
			changed: (state) => { this.panelState = { up: state.up, show: state.show, q: state.q }; },
			label: `Flame graph of ${named(span.name)}`, signal: this.scope.signal });
	}

	attributes(span) {
		return [["Attributes", span.attributes], ["Resource", span.resource]].map(([heading, all]) => {
			const entries = Object.entries(all ?? {});
			return entries.length > 0 && h("div", h("h3", heading), pairs(entries));
		});
	}

	events(span) {
		const all = span.events ?? [];
		if (all.length === 0) return null;
		return h("div", h("h3", plural(all.length, "event")), h("ol.events",
			all.slice(0, 200).map((event) => h("li", h("b", named(event.name)), " ",
				muted(`after ${duration(between(span.start_unix_nano, event.time_unix_nano))}`),
				pairs(Object.entries(event.attributes ?? {}))))));
	}

	links(span) {
		const all = span.links ?? [];
		if (all.length === 0) return null;
		return h("div", h("h3", "Links"), h("ul.plain", all.slice(0, 100).map((each) => h("li", {},
			anchor(link("trace", { span: each.span_id }, each.trace_id),
				`${each.trace_id} ${each.span_id}`)))));
	}
}

function pairs(entries) {
	const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
	return entries.length === 0 ? null : h("dl.pairs", entries.map(
		([key, value]) => [h("dt", key), h("dd", text(value))]));
}
