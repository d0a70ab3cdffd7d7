/*
 * A flame graph with its tools: type, icicle or flame, search, table, comparison, sandwich and
 * downloads.
 */
import { get, url } from "./api.js";
import { announce, fill, focusOn, h, keepFocus, plain, segmented, select } from "./dom.js";
import { FlameCanvas } from "./flame-canvas.js";
import { matcher } from "./flame-layout.js";
import { count, inUnit, localRoot, named, percent, plural, profileType, sentence, spanIdOf,
	traceIdOf } from "./format.js";
import { anchor, button, code, failure, muted, notice, number, para, renewed,
	table } from "./parts.js";
import { link } from "./route.js";

const TABLE_STEP = 100;

/* Requests to the worker. One whose script could not be loaded is dead for good. */
class Helper {
	constructor(signal) {
		this.worker = new Worker("/flame-worker.js", { type: "module" });
		this.open = new Map();
		this.last = 0;
		this.worker.onmessage = ({ data }) => {
			const { resolve, reject } = this.open.get(data.id);
			this.open.delete(data.id);
			if (data.error === undefined) resolve(data);
			else reject(Object.assign(new Error(data.error), data));
		};
		this.worker.onerror = () => {
			for (const { reject } of this.open.values()) {
				reject(Object.assign(new Error(`spanlink does not respond on ${location.host}.`),
					{ status: 0 }));
			}
			this.dead = true;
			this.open.clear();
		};
		signal.addEventListener("abort", () => this.worker.terminate());
	}

	ask(op, args = {}) {
		return new Promise((resolve, reject) => {
			this.open.set(++this.last, { resolve, reject });
			this.worker.postMessage({ id: this.last, op, ...args });
		});
	}
}

/** What `vs` in the address compares with, or null: {query, words, mean, was}; was: its values. */
async function counterpart(source, vs, signal) {
	const [kind, id] = (vs ?? "").split(":");
	if (kind === "span" || kind === "trace") {
		return { query: { [kind]: id }, words: `${kind} ${id}`, was: "other" };
	}
	if (kind === "before" && source.from) {
		const length = /^-(\d+)m$/.exec(source.from)?.[1] ?? 5;
		return { query: { service: source.service, name: source.name, from: `-${2 * length}m`,
			to: `-${length}m` }, words: `the ${length} minutes before`, was: "before" };
	}
	if (kind !== "route" || !source.span) return null;
	const { service, name } = await get(`/api/spans/${source.span}`, { service: source.service }, signal);
	return { query: { service, name }, mean: true, words: name, was: "mean" };
}

export class FlamePanel {
	/**
	 * @param options.source query of /api/flamegraph: span, trace or service, name, from, to
	 * @param options.state type, show, up, q, vs, by, fn: what the tools are set to
	 * @param [options.changed] notes the state
	 * @param [options.compact] with the most used tools only
	 */
	constructor(host, { source, state = {}, changed, compact = false, label, signal }) {
		Object.assign(this, { host, source, state: { ...state }, changed, compact, signal });
		this.label = label ?? "Flame graph";
		this.helper = new Helper(signal);
		this.rows = TABLE_STEP;
		this.sort = { key: "self", down: true };
		host.classList.add("panel");
		host.ariaBusy = true;
		fill(host, para(muted("Adding up the samples…")));
		this.load();
	}

	set(changes, step) {
		Object.assign(this.state, changes);
		for (const key of Object.keys(this.state)) if (!this.state[key]) delete this.state[key];
		this.changed?.({ ...this.state }, step);
	}

	query() {
		return { ...this.source, type: this.state.type };
	}

	async load() {
		const turn = (this.loads = (this.loads ?? 0) + 1);
		clearTimeout(this.retry);
		if (this.helper.dead) this.helper = new Helper(this.signal);
		try {
			const against = this.wrong?.vs === this.state.vs ? null
				: await counterpart(this.source, this.state.vs, this.signal);
			const answer = await this.helper.ask("load",
				{ query: this.query(), share: this.state.by === "share", mean: against?.mean,
					against: against?.query });
			if (this.signal.aborted || turn !== this.loads) return;
			Object.assign(this, answer, { against, names: answer.names.map(plain), said: "" });
			this.unit = against && this.state.by === "share" ? null : answer.meta.unit;
			keepFocus(this.host, () => this.build());
		} catch (problem) {
			if (this.signal.aborted || turn !== this.loads || problem.name === "AbortError") return;
			if (problem.other) {
				this.wrong = { vs: this.state.vs,
					text: `There is nothing to compare with. ${sentence(problem.message)}` };
				this.load();
				return;
			}
			this.failed(problem);
		}
		this.host.ariaBusy = null;
	}

	failed(problem) {
		const gone = problem.status === 0;
		// What is not here may come.
		if (gone || problem.status === 404) {
			this.retry = setTimeout(() => this.signal.aborted || this.load(), 2000);
		}
		const said = problem.message + this.state.vs;
		if ((gone && this.graph) || said === this.said) return;
		this.said = said;
		fill(this.host, failure(gone ? "The flame graph could not be loaded" : "There is no flame graph", problem,
			gone && para(muted("It is drawn as soon as spanlink answers.")),
			this.state.vs && button("Do not compare", () => this.compareWith("")), this.whyLink()));
	}

	whyLink() {
		return this.source.span
			? para(anchor(link("why", { id: this.source.span, service: this.source.service }), "Why this span has none"))
			: null;
	}

	nothing() {
		const { span, from, name } = this.source;
		const next = h("p", this.meta.missing || (span ? "No sample names this span."
			: from ? `No ${name === undefined ? "profile" : "sample of this route"} of this time is kept.`
				: "No sample is here."));
		if (span) this.sayRoot(next);
		else if (!from) this.sayWhy(next);
		const types = this.meta.types.filter((type) => type !== this.meta.type);
		return notice("", "No samples here", next, types.length > 0 ? this.types() : null,
			this.source.from && para(anchor(link("flame", { ...this.source, from: "", to: "" }),
				"All that is kept")), this.whyLink());
	}

	/* Why a span has no samples: a child's are those of its local root. */
	async sayRoot(line) {
		const { span: id, service } = this.source;
		const { trace_id: trace, reason, decision, text } = await get(`/api/spans/${id}`, { service }, this.signal);
		if (reason !== "no_local_root") {
			if (text && decision !== "linked") line.textContent = text;
			return;
		}
		line.textContent = `${text} `;
		if (!trace) return;
		const { spans } = await get(`/api/traces/${trace}`, {}, this.signal);
		const root = localRoot(spans, spans.find((each) => each.span_id === id));
		if (root) line.append("This is its graph: ", anchor(link("flame", { span: root.span_id }),
			`${named(root.service)} ${named(root.name)}`));
		else line.append("Its local root is not here.");
	}

	/* What is known of a service without samples. */
	async sayWhy(line) {
		const { service, name } = this.source;
		if (service === undefined) return;
		const { services } = await get("/api/services", {}, this.signal);
		const known = services.find((each) => each.service === service);
		const [other] = known?.profile_services_unmatched ?? [];
		fill(line, !known ? "Nothing of a service of this name has arrived. "
			: other ? ["Samples of its spans came under another name, ",
				anchor(link("flame", { service: other }), other), ". "]
				: known.has_profiles ? this.meta.missing ? `${this.meta.missing} ` : `Its profiles have no sample ${name !== undefined ? "of this route" : "yet"}. `
					: "No profile of it has arrived; they come 10 to 60 s after the spans. ",
		anchor(link("why"), "Why"));
	}

	build() {
		if (this.meta.total === 0 && !this.meta.before) {
			fill(this.host, this.nothing());
			return;
		}
		renewed(this);
		this.graph = this.canvas({ label: this.label, up: this.state.up === "1",
			most: this.compact ? 420 : 620, selected: (node) => this.selected(node),
			zoomed: () => this.zoomed() });
		this.chosen = h("div");
		this.stage = h("div");
		fill(this.host, this.toolbar(), this.state.vs && this.wrong?.vs === this.state.vs
			&& h("p", { role: "alert" }, h("span.badge.bad", this.wrong.text)), this.summary(), this.stage, this.chosen);
		this.graph.show({ tree: this.tree, names: this.names, unit: this.unit, was: this.against?.was });
		this.arrange();
		this.searchNow(false);
		this.selected(0);
	}

	canvas(options) {
		return new FlameCanvas({ ...options, signal: this.scope.signal });
	}

	toolbar() {
		const { state } = this;
		this.find = h("input", { type: "search", value: state.q ?? "", placeholder: "Find functions",
			"aria-label": "Find functions in the flame graph", spellcheck: "false", autocomplete: "off",
			oninput: () => { this.set({ q: this.find.value }); this.searchNow(true); } });
		this.share = h("output.muted.share");
		const shows = [["graph", "Graph"], ["table", "Table"], ["both", "Both"],
			["sandwich", "Sandwich"]];
		this.shows = segmented("Show", shows.slice(0, this.compact ? 2 : this.against ? 3 : 4),
			this.showing(), (show) => {
			this.set({ show: show === "graph" ? "" : show });
			this.arrange();
		});
		return h("div.tools",
			this.meta.types.length > 1 ? this.types() : null, this.shows,
			segmented("Direction", [["", "Icicle"], ["1", "Flame"]], state.up ?? "", (up) => {
				this.set({ up });
				this.graph.setUp(up === "1");
			}),
			h("div.find", this.find, this.share),
			this.compact ? null : this.comparison(), this.downloads());
	}

	types() {
		return select("Type", this.meta.types.map((type) => [type, profileType(type)]), this.meta.type,
			(type) => { this.set({ type, fn: "" }); this.load(); });
	}

	summary() {
		const parts = [h("b", inUnit(this.meta.total, this.meta.unit)),
			` ${profileType(this.meta.type)}`];
		if (this.meta.samples) parts.push(`, ${plural(this.meta.samples, "sample")}`);
		if (this.meta.last) parts.push(", from the last profile of each series");
		if (this.meta.missing) parts.push(" ", h("span.badge.warn", this.meta.missing));
		if (!this.against) return h("p.summary", parts);
		return h("p.summary", parts, " against ",
			h("b", inUnit(this.meta.before, this.meta.unit)), this.against.mean
				? `, the mean of ${plural(this.meta.spans, "span")} that samples name, of ` : " of ",
			`${this.against.words}${this.meta.before ? "" : ", which has no samples"} `,
			this.meta.lacks && h("span.badge.warn", this.meta.lacks), " ",
			h("span.legend", ["less", "more"].map((kind) => [h(`i.${kind}`),
				kind, this.against.was === "before" && " now"])));
	}

	comparison() {
		const { source, state } = this;
		const kind = source.span ? "span" : source.trace ? "trace" : "service";
		const choices = [["", "nothing"]];
		if (kind === "span") choices.push(["route", "its route's mean"], ["span", "another span…"]);
		if (kind === "trace") choices.push(["trace", "another trace…"]);
		if (kind === "service" && source.from) choices.push(["before", "the time before"]);
		if (choices.length === 1) return muted("Choose a time to compare it with the time before.");
		const now = (state.vs ?? "").split(":")[0];
		const id = h("input", { placeholder: `${kind} id`,
			hidden: now !== kind,
			"aria-label": `Id of the other ${kind}`, value: now === kind ? state.vs.split(":")[1] : "",
			onchange: () => id.value.trim() && this.compareWithId(kind, id.value.trim()) });
		const pick = select("Compare with", choices, now, (vs) => {
			id.hidden = vs !== kind;
			if (vs === kind) id.focus();
			else this.compareWith(vs);
		});
		const by = this.against && segmented("Compare by", [["", "Values"], ["share", "Shares"]],
			state.by ?? "", (value) => { this.set({ by: value }); this.load(); });
		return h("div.compare", pick, id, by);
	}

	compareWithId(kind, text) {
		const id = kind === "span" ? spanIdOf(text) : traceIdOf(text);
		const vs = `${kind}:${id ?? text}`;
		this.wrong = id ? null : { vs, text: `This is not a ${kind} id: expected `
			+ `${kind === "span" ? 16 : 32} hex digits, or a traceparent.` };
		this.compareWith(vs);
	}

	compareWith(vs) {
		this.set({ vs });
		this.load();
	}

	downloads() {
		const menu = h("details.menu", h("summary", "Download"));
		const name = (this.source.span ?? this.source.trace ?? this.source.service ?? "profile")
			.replace(/[^\w.-]+/g, "_");
		const kinds = [["pprof", "pprof", "pb.gz"], ["folded", "Folded stacks", "folded.txt"],
			["svg", "SVG", "svg"]];
		const close = () => (menu.open = false);
		menu.append(h("div.menu-list", this.against && para(muted("Without the comparison")), kinds.map(([format, text, ending]) => h("a", {
			href: url("/api/flamegraph", { ...this.query(), ...(this.against && { type: this.meta.type }), format }), download: `${name}.${ending}`,
				text,
			onclick: close }))));
		menu.addEventListener("keydown", (event) => {
			if (event.key !== "Escape" || !menu.open) return;
			close();
			menu.firstElementChild.focus();
			event.stopPropagation();
		});
		menu.addEventListener("focusout", (event) => {
			if (event.relatedTarget && !menu.contains(event.relatedTarget)) close();
		});
		return menu;
	}

	showing() {
		const { show = "graph" } = this.state;
		return this.against && show === "sandwich" ? "graph" : show;
	}

	arrange() {
		const show = this.showing();
		this.shows.set(show);
		this.stage.className = show === "both" || show === "sandwich" ? "split" : "";
		this.chosen.hidden = show === "sandwich" || show === "table";
		if (show === "sandwich") {
			this.showSandwich();
			return;
		}
		this.table = h("div.functions");
		fill(this.stage, show !== "graph" && this.table, show !== "table" && this.graph.element);
		this.showTable();
		// Away from the document it has lost its place.
		this.graph.setUp(this.graph.up);
	}

	async searchNow(speak) {
		const text = this.state.q ?? "";
		const { fault } = matcher(text);
		this.find.ariaInvalid = Boolean(fault);
		if (!text || fault) {
			this.share.textContent = fault ? `Not a valid pattern: ${fault}` : "";
			if (speak) announce(this.share.textContent);
			this.turn = (this.turn ?? 0) + 1;
			this.graph.setMask(null);
			this.showTable();
			return;
		}
		const turn = (this.turn = (this.turn ?? 0) + 1);
		const found = await this.helper.ask("search", { text });
		if (turn !== this.turn || this.signal.aborted) return;
		this.graph.setMask(found.mask);
		const share = percent(found.total / (this.tree.total[0] || 1));
		this.share.textContent = found.functions === 0 ? "no function"
			: `${share} in ${plural(found.functions, "function")}`;
		if (speak) announce(`Found ${this.share.textContent}`);
		const [only, another] = speak && this.showing() === "sandwich" ? this.ordered() : [];
		if (only !== undefined && another === undefined) this.openSandwich(this.names[only], true);
		else this.showTable();
	}

	zoomed() {
		this.selected(this.graph.focus);
	}

	selected(node) {
		if (this.last === node && this.lastZoom === this.graph.zoom && this.chosen.firstChild) return;
		this.last = node;
		this.lastZoom = this.graph.zoom;
		const name = this.names[this.tree.name[node]];
		const tool = (text, onclick) => button(text, onclick, { class: "small" });
		fill(this.chosen, para(code(name), " ",
			muted(this.graph.describe(node).slice(name.length + 2))),
		h("div.row-tools",
			node !== 0 && !this.compact && !this.against
				&& tool("Callers and callees", () => this.openSandwich(name)),
			node !== 0 && tool("Find all", () => this.findAll(name)),
			this.graph.zoom !== 0 && tool("Reset zoom", () => {
				this.graph.zoomTo(0);
				this.graph.moveTo(0);
			})),
		h("p.hint.muted", { text:
			"Click a frame, or Tab into the graph: arrows move, Enter zooms, Esc shows all." }));
	}

	findAll(name) {
		this.find.value = name;
		this.set({ q: name });
		this.searchNow(true);
	}

	openSandwich(name, typed) {
		this.set({ show: "sandwich", fn: name }, !typed);
		this.arrange();
		if (typed) return;
		this.stage.querySelector(".scroll").focus({ preventScroll: true });
		focusOn(this.stage, name);
		announce(`Callers and callees of ${name}`);
	}

	/* The functions that match the search, in the order of the table. */
	ordered() {
		const { costs, names, sort } = this;
		const fits = matcher(this.state.q ?? "");
		const used = [...names.keys()].filter((i) => costs.total[i] > 0 && i !== this.tree.name[0]
			&& fits(names[i]));
		const sign = sort.down ? -1 : 1;
		const value = costs[sort.key];
		return used.sort(sort.key === "function" ? (a, b) => sign * names[a].localeCompare(names[b])
			: sort.key === "change" ? (a, b) => sign * (Math.abs(value[a]) - Math.abs(value[b]))
				: (a, b) => sign * (value[a] - value[b]));
	}

	showTable() {
		if (!this.table?.isConnected) return;
		const columns = this.against ? { function: "Function",
			before: { mean: "Mean", other: "Other", before: "Before" }[this.against.was],
			after: this.against.was === "before" ? "Now" : "This", change: "Change" }
			: { function: "Function", self: "Self", total: "Total" };
		if (!columns[this.sort.key]) this.sort = { key: this.against ? "change" : "self", down: true };
		const { key, down } = this.sort;
		const order = this.ordered();
		const shown = order.slice(0, this.rows);
		fill(this.table, table("Functions", Object.entries(columns).map(([of, text]) => h("th", { scope: "col",
			"aria-sort": key === of ? (down ? "descending" : "ascending") : null },
		button(text, () => this.sortBy(of), { class: "sort", id: `sort-${of}` }))),
		shown.map((i) => this.tableRow(i))),
		order.length > shown.length && button(`Show more of ${count(order.length)} functions`, () => {
			this.rows += TABLE_STEP;
			this.showTable();
		}),
		order.length === 0 && para(muted("No function has this in its name.")));
	}

	sortBy(key) {
		this.sort = { key, down: this.sort.key === key ? !this.sort.down : key !== "function" };
		this.showTable();
		document.getElementById(`sort-${key}`)?.focus();
	}

	tableRow(i) {
		const { costs } = this;
		const name = this.names[i];
		const words = (value) => this.graph.value(value);
		const share = (value) => value / (this.tree.total[0] || 1);
		const cell = (value) => {
			const made = number(words(value), share(value));
			made.append(h("span.muted.share", percent(share(value))));
			return made;
		};
		if (!this.against) {
			return [button(name, () => this.openSandwich(name),
				{ class: "as-link", title: "Callers and callees" }),
				cell(costs.self[i]), cell(costs.total[i])];
		}
		const change = costs.change[i];
		return [button(name, () => this.findAll(name),
			{ class: "as-link", title: "Find it in the graph" }),
			number(words(costs.before[i])), number(words(costs.after[i])),
			h("td", { class: `number ${change > 0 ? "more" : "less"}`,
				text: `${change < 0 ? "−" : "+"}${words(Math.abs(change))}` })];
	}

	async showSandwich() {
		this.sort.key = "self";
		const fn = this.state.fn || this.names[this.ordered()[0] ?? 0];
		const name = this.names.indexOf(fn);
		this.table = h("div.functions");
		const middle = h("div");
		fill(this.stage, this.table, middle);
		this.showTable();
		if (name < 0) {
			fill(middle, notice("", "This function is not in the graph", para(fn)));
			return;
		}
		const { callers, callees } = await this.helper.ask("sandwich", { name });
		if (this.signal.aborted || this.showing() !== "sandwich") return;
		const graph = (label, tree, up) => {
			const made = this.canvas({ label, up, most: 320 });
			made.rooted = true;
			made.show({ tree, names: this.names, unit: this.unit });
			return made;
		};
		const above = graph(`Callers of ${fn}`, callers, true);
		const below = graph(`Callees of ${fn}`, callees, false);
		fill(middle, h("p.summary", code(fn), " ",
			h("b", above.value(callees.total[0])),
			` · ${percent(callees.total[0] / (this.tree.total[0] || 1))} of all, `,
			`${above.value(this.costs.self[name])} itself`),
		h("h2", "Callers"), above.element, h("h2", "Callees"), below.element);
		above.later();
		below.later();
		if (this.state.fn !== fn) this.set({ fn });
	}
}
