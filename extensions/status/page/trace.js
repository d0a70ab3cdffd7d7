/* A trace as a waterfall, with the details and the flame graph of one span. */
import { get, poll } from "./api.js";
import { announce, copyButton, fill, h } from "./dom.js";
import { FlamePanel } from "./flame-panel.js";
import { between, brief, cost, count, cpuTime, dateTime, duration, named, percent, plural,
	serviceHue, SO_FAR, startless, waits, wallOnly, word } from "./format.js";
import { anchor, code, facts, failure, muted, para, renewed, swatch, who } from "./parts.js";
import { link, note } from "./route.js";
import { Rows } from "./rows.js";

export const title = ({ id }) => `Trace ${id}`;

/**
 * Orders spans as a tree of {span, level, children, index, size}, siblings by their start. A span
 * without a known parent is a root, and so is one in a cycle.
 */
function treeOf(spans) {
	const nodes = spans.map((span) => ({ span, level: 1, children: [], parent: null }));
	const byId = Map.groupBy(nodes, (node) => node.span.span_id);
	const roots = [];
	for (const node of nodes) {
		// Spans of two services may share an id: a span is a child of its own service's.
		const parents = byId.get(node.span.parent_span_id) ?? [];
		const parent = parents.find(({ span }) => span.service === node.span.service) ?? parents[0];
		node.shared = byId.get(node.span.span_id).length > 1;
		if (parent && parent !== node) {
			parent.children.push(node);
			node.parent = parent;
		} else {
			node.orphan = !parent && Boolean(node.span.parent_span_id);
			roots.push(node);
		}
	}
	const start = (a, b) => between(b.span.start_unix_nano, a.span.start_unix_nano);
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

const hasFailed = ({ status }) => status?.code === "ERROR";
const isLinked = (span) => span.decision === "linked";
/* A span without a link may have samples, such as under another service name. */
const isDrawn = (span) => isLinked(span) || span.samples > 0;

const begins = (span, known) => (startless(span) ? "start missing" : known);

/* A sample counts for a whole period of the profiler, which may be longer than a span. */
function cpuOf({ cpu_ns: cpu, duration_ns: length, samples }) {
	const period = cpu / samples;
	const whole = cpu > length && (length < period || cpu < length + period);
	return whole ? `${duration(cpu)}, more than its duration: a sample counts for ${duration(period)}`
		: `${duration(cpu)}, ${percent(cpu / (length || 1))}`
			+ (cpu > length ? ": several threads, or a busy machine" : "");
}

/* The CPU time of spans, and the wall time of those without CPU time. */
function times(spans, unit = "", whose = false) {
	const [cpu, wall] = [false, true].map((only) => spans.reduce(
		(sum, span) => sum + (wallOnly(span) === only ? cost(span) : 0), 0));
	const names = new Set(spans.filter(wallOnly).map(({ service }) => service));
	const of = whose && cpu ? ` of ${[...names].join(", ")}` : "";
	return [cpu && duration(cpu) + unit, wall && `wall time only${of}: ${duration(wall)}`]
		.filter(Boolean).join(", ");
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
		this.cut = trace.text;
		this.waiting = trace.waiting;
		this.order = treeOf(trace.spans);
		const first = !this.tree;
		if (first) this.build();
		this.measure();
		this.showHead();
		this.paint();
		this.showChosen();
		if (first && this.chosen) this.list.reveal(this.shown.indexOf(this.node));
	}

	failed(problem) {
		if (this.tree) return;
		fill(this.root, h("h1", "Trace"), failure("This trace cannot be shown", problem,
			para(muted("Only the latest traces are kept, up to keep_mib of the status extension.")),
			para(anchor(link("traces"), "Traces"))));
	}

	build() {
		this.head = h("div");
		this.tree = h("div.rows", { role: "tree", "aria-label": "Spans",
			onkeydown: (event) => this.key(event), onclick: (event) => this.click(event),
			onfocus: () => this.tree.matches(":focus-visible") && this.moveTo(this.focus) });
		this.ruler = h("div.span-row.ruler", { "aria-hidden": "true" });
		this.details = h("section.details", { "aria-label": "Span", tabindex: "-1" });
		fill(this.root, this.head, h("div.trace-view",
			h("section.spans", { "aria-label": "Waterfall" }, this.ruler, this.tree), this.details));
		this.list = new Rows(this.tree, { key: (node) => node.key, render: (node) => this.row(node),
			state: (node) => this.state(node), whole: 500, signal: this.signal,
			/* The row that Tab goes to may be far away. */
			reached: () => (this.tree.tabIndex = this.tree.querySelector("[tabindex='0']") ? -1 : 0) });
	}

	measure() {
		const begun = this.spans.filter((span) => !startless(span));
		this.from = begun.reduce((a, { start_unix_nano: b }) => (a && a < BigInt(b) ? a : BigInt(b)), 0n);
		const most = (of) => this.spans.reduce((max, span) => Math.max(max, of(span)), 1);
		this.length = most((span) => (startless(span) ? 0 : this.offset(span) + span.duration_ns));
		this.mostCpu = most((span) => span.cpu_ns);
		const same = this.order.find(({ key }) => key === this.node?.key);
		const wanted = this.order.find(({ span }) => span.span_id === this.chosen);
		this.absent = this.chosen && !wanted;
		this.node = (wanted && same?.span.span_id !== this.chosen ? wanted : same) ?? this.first();
		this.focus ??= this.node;
		this.focus = this.order.find(({ key }) => key === this.focus.key) ?? this.node;
	}

	/* The costliest span, else the root. */
	first() {
		return this.order.reduce((best, node) => (cost(node.span) > cost(best.span) ? node : best),
			this.order[0]);
	}

	offset(span) {
		return between(this.from, span.start_unix_nano);
	}

	showHead() {
		/* As the list names it. */
		const rank = (span) => (span.parent_span_id ? Number(span.local_root) : 2);
		const root = this.spans.reduce((a, b) => ((rank(b) - rank(a)
			|| between(b.start_unix_nano, a.start_unix_nano)) > 0 ? b : a));
		const services = Map.groupBy(this.spans, (span) => span.service);
		const linked = this.spans.filter(isLinked);
		fill(this.head, h("h1", who(root.service, root.name)),
		h("p.crumbs", code(this.id), copyButton(this.id, "Copy the trace id"),
			muted(begins(root, dateTime(root.start_unix_nano)))),
		this.missing(),
		facts(["Duration", begins(root, duration(root.duration_ns))],
			["All spans", this.length > root.duration_ns && `within ${duration(this.length)}`],
			["Spans", count(this.spans.length)],
			["Linked", count(linked.length)], ["CPU", times(this.spans, "", true) || "–"]),
		h("div.chips", [...services].map(([name, spans]) => h("span.chip",
			swatch(name), named(name, "no service"),
			muted([plural(spans.length, "span"), times(spans, " CPU")].filter(Boolean).join(", ")))),
		this.cut && h("span.badge.warn", this.cut),
		this.spans.some((each) => isLinked(each) || each.samples) && anchor(link("flame", { trace: this.id }), "Flame graph of the whole trace",
			{ class: "button" })));
		const ticks = [0, 0.25, 0.5, 0.75].map((part) => h("span", {
			style: { left: `${part * 100}%` }, text: duration(this.length * part) }));
		fill(this.ruler, h("span.tree-cell", "Span"),
			h("span.time-cell", { "aria-hidden": "true" }, ticks), h("span.cpu-cell", "CPU"));
	}

	/* What of the trace is not here. */
	missing() {
		const orphans = this.order.filter((node) => node.orphan).length;
		const later = waits(this.waiting, "more ");
		return (orphans > 0 || later || this.absent) && h("p", later && h("span.badge.warn", later), " ",
			this.absent && h("span.badge.warn", `Span ${this.chosen} is not here`), " ",
			orphans > 0 && muted((orphans === 1 ? "The parent of one span is"
				: `The parents of ${count(orphans)} spans are`)
				+ ` not here${later ? " yet" : ": sent elsewhere, or not kept"}`));
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
		return [cost(node.span), node.span.so_far, node.span.decision, node.span.reason, this.closed.has(node.key),
			this.length,
			this.mostCpu, node === this.node, node === this.focus, node.size].join();
	}

	row(node) {
		const { span } = node;
		const open = node.children.length === 0 ? null : String(!this.closed.has(node.key));
		const [left, wide] = startless(span) ? [0, 0]
			: [this.offset(span), span.duration_ns].map((ns) => (100 * ns) / this.length);
		const inside = left + wide >= 70 && left < 30;
		const length = begins(span, duration(span.duration_ns));
		const color = { "--hue": serviceHue(span.service) };
		const item = h("div.tree-cell", { role: "treeitem", "aria-level": node.level,
			"aria-expanded": open, "aria-selected": String(node === this.node), "aria-posinset": node.index,
			"aria-setsize": node.size, style: { "--deep": (node.level - 1) / (node.level + 4) },
			"aria-label": `${named(span.service, "no service")} ${named(span.name)}`
				+ (node.orphan ? " parent not here" : ""),
			"aria-description": length +
				(isDrawn(span) ? `, ${cpuTime(span, " CPU")}` : "") +
				(hasFailed(span) ? ", error" : ""),
			tabindex: node === this.focus ? "0" : "-1", title: `${named(span.service)} ${named(span.name)}` },
		h("span", { class: `twisty ${open === null ? "" : open === "true" ? "open" : "shut"}` }),
		swatch(span.service),
		h("span.label", node.parent?.span.service === span.service
			? h("span.name", named(span.name)) : who(span.service, span.name).slice(1),
		node.orphan && muted(" parent not here")),
		hasFailed(span) && h("span.badge.bad.failed"));
		// aria-description repeats what is hidden here.
		return h("div.span-row", { role: "none", dataset: { key: node.key } }, item,
			h("span.time-cell", { "aria-hidden": "true" },
				!startless(span) && h("i.bar", { style: { ...color, left: `${left}%`, width: `max(3px, ${wide}%)` } }),
				(span.events ?? []).slice(0, 20).map((event) => h("i.tick", { style: {
					left: `${(100 * between(this.from, event.time_unix_nano)) / this.length}%` } })),
				h("span", { class: `length ${inside ? "inside" : ""}`,
					style: left + wide < 70 ? { left: `calc(max(3px, ${wide}%) + ${left}% + 6px)` }
						: inside ? { left: `calc(${left}% + 6px)` }
							: { right: `calc(${Math.max(0, 100 - left)}% + 6px)` } }, length)),
			h("span.cpu-cell", { "aria-hidden": "true" }, this.cpu(span)));
	}

	cpu(span) {
		if (!isDrawn(span)) return muted(span.decision === "waiting" ? "waits" : "");
		const wall = wallOnly(span);
		return h("a", { href: link("trace", { span: span.span_id }, this.id), tabindex: "-1",
			class: `cpu-link ${wall ? "wall" : ""}`, title: span.so_far ? SO_FAR : wall && cpuTime(span),
			style: { "--part": span.cpu_ns / this.mostCpu },
			text: (wall ? brief(span) : span.cpu_ns ? duration(span.cpu_ns)
				: span.reason === "inherited" ? "of an ancestor" : plural(span.samples, "sample"))
				+ (span.so_far ? "+" : "") });
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
		announce(`Showing ${named(node.span.service)} ${named(node.span.name)}`);
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
		let root = this.node;
		while (root && !root.span.local_root) root = root.parent;
		const owner = isDrawn(span) || !root || !isDrawn(root.span) ? this.node : root;
		this.source = { span: owner.span.span_id, service: owner.shared && owner.span.service || "" };
		const state = JSON.stringify([span, owner.span.samples, owner.span.so_far, root?.key]);
		if (state === this.detailed) return;
		this.detailed = state;
		renewed(this);
		const graph = h("div");
		fill(this.details, h("h2", who(span.service, span.name)),
		this.facts(span), owner.span.so_far && h("span.badge.warn", SO_FAR), this.decision(span, owner.span, root), graph, this.attributes(span), this.events(span),
			this.links(span));
		if (isDrawn(owner.span)) this.flame(graph, owner.span);
	}

	facts(span) {
		return facts(["Duration", begins(span, duration(span.duration_ns))],
			["Starts after", !startless(span) && duration(this.offset(span))], ["Kind", (span.kind ?? "").toLowerCase()],
			["CPU", span.samples > 0 && (wallOnly(span) ? cpuTime(span)
				: cpuOf(span))],
			["Samples", span.samples > 0 && count(span.samples)],
			["Status", [hasFailed(span) && "error", span.status?.message].filter(Boolean).join(": ")],
			["Span id", [code(span.span_id), " ", copyButton(span.span_id, "Copy the span id")]]);
	}

	decision(span, owner, root) {
		const words = { linked: "linked", not_linked: "not linked", as_came: span.reason
			? "forwarded unchanged" : "did not wait", waiting: "waits for samples" };
		const inherited = span.reason === "inherited";
		const linked = isLinked(span);
		const state = inherited ? "linked by an ancestor" : words[span.decision] ?? "not linked";
		return h("p.decision",
			h("span", { class: `badge ${linked ? "good" : ""}`, text: state }),
			span.reason && !linked ? ` ${word(span.reason)} ` : " ",
			anchor(link("why", { id: span.span_id, service: this.node.shared && span.service || "" }), "Why?"),
			isDrawn(owner) && anchor(link("flame", this.source), "Larger"),
			isDrawn(span) && !inherited && anchor(link("flame", { ...this.source, vs: "route" }),
				"Against its route's mean"),
			inherited ? this.owner(span, "an ancestor") : owner !== span ? ["No sample names it. ",
				this.owner({ profile_id: owner.span_id })]
				: !root && para("No sample names it, and its local root is not here."));
	}

	/* Whose flame graph a child shows. */
	owner({ profile_id }, whose = "its local root") {
		const root = this.spans.find((each) => each.span_id === profile_id);
		return para(`This flame graph is that of ${whose}, `, root
			? anchor(link("trace", { span: profile_id }, this.id), named(root.name)) : code(profile_id),
		": what the whole of it did.");
	}

	flame(host, span) {
		this.panel = new FlamePanel(host, { source: this.source, state: this.panelState,
			compact: true,
			changed: (state) => { this.panelState = { up: state.up, show: state.show, q: state.q }; },
			label: `Flame graph of ${named(span.name)}`, signal: this.scope.signal });
	}

	attributes(span) {
		return [["Attributes", span.attributes], ["Resource", span.resource]].map(([heading, all]) => {
			const entries = Object.entries(all ?? {});
			const early = [["cpu_time_ns", "cpu_ns"], ["samples", "samples"]].some(([name, now]) =>
				Number(all?.[`pyroscope.profile.${name}`] ?? span[now]) !== span[now]);
			return entries.length > 0 && h("div", h("h3", heading), pairs(entries), early
				&& para(muted("The pyroscope.profile numbers count the samples that had confirmed the link "
					+ "when the span was sent; CPU and samples above count all until now.")));
		});
	}

	events(span) {
		const all = span.events ?? [];
		if (all.length === 0) return null;
		return h("div", h("h3", plural(all.length, "event")), h("ol.events",
			all.slice(0, 200).map((event) => h("li", h("b", named(event.name)), " ",
				muted(startless(span) ? dateTime(event.time_unix_nano)
					: `after ${duration(between(span.start_unix_nano, event.time_unix_nano))}`),
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
