/* The live list of traces, with search and order. */
import { connection, get, poll } from "./api.js";
import { announce, fill, h, plain, segmented, select } from "./dom.js";
import { ago, at, between, brief, cost, count, cpuTime, dateTime, duration, isDuration, mostOf, named, plural,
	SO_FAR, spanIdOf, startless, traceIdOf, waits, wallOnly, word } from "./format.js";
import { anchor, button, choices, failure, muted, notice, para, SAMPLES, who } from "./parts.js";
import { go, link, note } from "./route.js";
import { Rows } from "./rows.js";
import { firstSteps, waitingSteps } from "./start.js";

const PAGE = 200;
const EVERY = 2000;
const SORTS = [["latest", "Latest"], ["cpu", "Most CPU"], ["duration", "Longest"]];

/* of a trace id */
const BEGINNING = /^[0-9a-f]{8,31}$/i;

export const title = () => "Traces";

/* The view whose list was paused, while another is shown; null: it was not. */
let held = null;

/**
 * Turns a search for ids or a part of a name, a service or both into queries whose responses are
 * merged.
 * @param services those that exist
 */
function queries(params, services) {
	const base = { service: params.service, linked: params.linked, min_duration: params.min_duration,
		min_cpu: params.min_cpu, sort: params.sort };
	const free = [];
	/* of a trace id, or a word */
	let prefix = null;
	for (const part of (params.q ?? "").trim().split(/\s+/).filter(Boolean)) {
		const id = traceIdOf(part);
		if (id) base.trace_id = id;
		else if (spanIdOf(part)) base.span_id = spanIdOf(part);
		else free.push(part);
		if (BEGINNING.test(part)) prefix = part.toLowerCase();
	}
	if (free.length === 0) return [base, ...(prefix && !base.trace_id
		? [{ ...base, span_id: undefined, trace_id: prefix }] : [])];
	const text = free.join(" ");
	const within = (part) => (!base.service && services.some(
		(service) => plain(service).toLowerCase().includes(part.toLowerCase())) ? [containing(part)] : []);
	return [{ ...base, name: containing(text) },
		...(prefix && free.length === 1 ? [{ ...base, trace_id: prefix }] : []),
		...within(text).map((service) => ({ ...base, service })),
		...(free.length > 1 ? within(free[0]) : []).map(
			(service) => ({ ...base, service, name: containing(free.slice(1).join(" ")) }))];
}

/*
 * A pattern of the API for names that contain a text, in any case, which may be as the page shows it:
 * characters as \u202e, ends of lines as spaces, and none as (no name).
 */
function containing(text) {
	if (text === named("")) return "";
	const each = (c) => (/[a-z]/i.test(c) ? `[${c.toLowerCase()}${c.toUpperCase()}]`
		: c === " " ? "?" : c.replace(/[\\[\]*?]/, "\\$&"));
	const unescaped = text.slice(0, 50).replace(/\\u([0-9a-f]{4})/gi, (shown, code) => {
		const control = String.fromCharCode(parseInt(code, 16));
		return plain(control) === control ? shown : control;
	});
	return `*${[...unescaped].map(each).join("")}*`;
}

function joined(answers, sort) {
	const rows = new Map();
	for (const { traces } of answers) for (const row of traces) rows.set(rowKey(row), row);
	const all = [...rows.values()];
	return answers.length === 1 ? all : all.sort((a, b) => (sort === "cpu"
		? b.cpu_ns - a.cpu_ns || cost(b) - cost(a)
		: sort === "duration" ? b.duration_ns - a.duration_ns : between(a.start_unix_nano, b.start_unix_nano)));
}

/* The traces whose root span has all words of a search, and the others. */
function ranked(rows, search) {
	const text = search.trim().replace(/\s+/g, " ").toLowerCase();
	const isWhole = ({ service, name }) => plain(`${service} ${name}`).toLowerCase().includes(text);
	return [rows.filter(isWhole), rows.filter((row) => !isWhole(row))];
}

const age = (start) => (start === "0" ? "start missing" : ago(start));

const rowKey = (row) => `${row.trace_id} ${row.service}`;

/** The view. `params`: q, service, linked, min_duration, min_cpu, sort. */
export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal, params: route.params, rows: [], next: null, kept: 0 });
		this.paused = held !== null;
		this.services = [];
		this.build();
		if (this.paused && held.params === JSON.stringify(this.params)) this.keep(held);
		this.now = poll(() => this.load(), EVERY, signal, (problem) => this.failed(problem));
		poll(() => this.names(), 15000, signal);
		this.clock = setInterval(() => this.age(), 1000);
		signal.addEventListener("abort", () => {
			clearInterval(this.clock);
			clearTimeout(this.typing);
			clearTimeout(this.setting);
			held = this.paused ? { ...this, params: JSON.stringify(this.params) } : null;
		});
	}

	/* Shows a list that was paused. */
	keep({ rows, next, kept, keep }) {
		Object.assign(this, { rows, next, kept, keep });
		this.paint();
	}

	update(route) {
		this.params = route.params;
		this.search.value = this.params.q ?? "";
		this.showFilters();
		this.reload();
	}

	build() {
		this.search = h("input", { type: "search", value: this.params.q ?? "",
			autocomplete: "off", spellcheck: "false", "aria-label": "Search traces",
			placeholder: "Trace id, span id, service or span name", oninput: () => this.typed() });
		const form = h("form.search", { role: "search", onsubmit: (e) => this.enter(e) },
			this.search);
		this.sort = segmented("Order", SORTS, this.params.sort ?? "latest",
			(value) => this.change("sort", value === "latest" ? "" : value));
		this.pause = button("", () => this.toggle(), { class: "pause" });
		this.status = h("p.muted");
		this.news = button("", () => this.showNew(), { class: "news", hidden: true });
		this.service = select("Service", [], "", (value) => this.change("service", value));
		this.service.select.addEventListener("blur", () => this.showServices());
		this.linked = select("Spans", [["", "all"], ["true", "linked"], ["false", "not linked"]], "",
			(value) => this.change("linked", value));
		this.hint = h("span", { role: "alert", id: "hint" });
		this.least = [this.atLeast("Duration from", "min_duration", "10ms"),
			this.atLeast("CPU from", "min_cpu", "5ms")];
		this.host = h("div.rows", { role: "rowgroup", onkeydown: (event) => this.key(event) });
		this.table = h("div.table.traces", { role: "table", "aria-label": "Traces" },
			h("div", { role: "rowgroup" }, h("div.row.head", { role: "row" },
				["Trace", "Duration", "CPU", "Samples", "Spans", "Flame graph"].map(
					(text) => h("span", { role: "columnheader", text,
						title: text === "Samples" && SAMPLES })))),
			this.host);
		this.empty = h("div");
		this.later = h("span");
		this.gaps = h("span");
		fill(this.root, h("h1.unseen", "Traces"),
			h("div.bar", form, this.sort, this.pause),
			h("div.filters", this.service, this.linked, this.least, this.hint),
			h("div.underbar", this.status, this.news), this.table, this.empty);
		this.list = new Rows(this.host, { key: rowKey, render: (row) => this.row(row),
			whole: 100, signal: this.signal,
			reached: (last) => last >= this.rows.length - 20 && this.more() });
		this.showPause();
		this.showFilters();
	}

	showPause() {
		this.pause.textContent = this.paused ? "Resume" : "Pause";
	}

	showFilters() {
		clearTimeout(this.setting);
		this.showServices();
		this.linked.select.value = this.params.linked ?? "";
		for (const { lastChild: input } of this.least) {
			input.value = this.params[input.name] ?? "";
			input.ariaInvalid = null;
		}
		this.hint.textContent = "";
	}

	showServices() {
		this.service.set(choices([["", "all"]], this.services, this.params.service), this.params.service ?? "");
	}

	/* A field whose value is applied when it is left and, after a pause, while it is typed. */
	atLeast(label, name, example) {
		const value = () => input.value.replace(/\s+/g, "").replace(/[µμ]s$/, "us");
		const isRight = () => value() === "" || isDuration(value());
		const apply = () => {
			clearTimeout(this.setting);
			const right = isRight();
			input.ariaInvalid = !right;
			this.hint.textContent = right ? "" : `${label}: write one number and its unit, such as ${example}`;
			if (right && value() !== (this.params[name] ?? "") && !this.signal.aborted) {
				this.change(name, value());
			}
		};
		/* Not at once: a click that ends the typing is on a row that may not stay. */
		const soon = (otherwise) => {
			clearTimeout(this.setting);
			this.setting = setTimeout(apply, isRight() ? 300 : otherwise);
		};
		const input = h("input", { name, placeholder: example, size: 6, "aria-describedby": "hint",
			oninput: () => soon(1500),
			onchange: () => {
				input.value = value();
				soon(0);
			} });
		return h("label.field", h("span", label), input);
	}

	async names() {
		const { services } = await get("/api/services", {}, this.signal);
		const names = services.map((each) => each.service);
		if (names.join("\n") === this.services.join("\n")) return;
		this.services = names;
		if (document.activeElement !== this.service.select) this.showServices();
		if (this.params.q) this.now();
	}

	typed() {
		clearTimeout(this.typing);
		this.typing = setTimeout(() => this.change("q", this.search.value.trim()), 150);
	}

	enter(event) {
		event.preventDefault();
		clearTimeout(this.typing);
		const text = this.search.value.trim();
		this.change("q", text);
		this.find(text).then((to) => to && this.search.value.trim() === text && go(to), () => {});
	}

	/* The address of the span or trace of an id, or of the only trace whose id begins so. */
	async find(text) {
		const span = spanIdOf(text);
		const id = traceIdOf(text) ?? (span && (await get(`/api/spans/${span}`, {}, this.signal)).trace_id);
		if (id) return link("trace", { span }, id);
		const start = span ?? text.toLowerCase();
		if (!BEGINNING.test(start)) return null;
		const { traces } = await get("/api/traces", { trace_id: start }, this.signal);
		const [only, ...more] = new Set(traces.map((each) => each.trace_id));
		return more.length === 0 && only && link("trace", {}, only);
	}

	change(key, value) {
		this.params = { ...this.params, [key]: value };
		note(link("traces", this.params));
		this.reload();
	}

	reload() {
		this.generation = (this.generation ?? 0) + 1;
		this.rows = [];
		this.next = null;
		this.sort.set(this.params.sort || "latest");
		this.load(true).catch((problem) => problem.name !== "AbortError" && this.failed(problem));
	}

	toggle() {
		this.paused = !this.paused;
		this.showPause();
		announce(this.paused ? "Paused" : "Live again");
		if (!this.paused) this.now();
	}

	/** Whether somebody reads further down: rows must not move. */
	reading() {
		return scrollY > 200 || this.host.contains(document.activeElement);
	}

	async load(anew = false) {
		if (this.paused && !anew && this.rows.length > 0) return;
		const generation = this.generation;
		const asked = queries(this.params, this.services);
		const answers = await Promise.all(asked.map(
			(query) => get("/api/traces", { ...query, limit: PAGE }, this.signal)));
		if (generation !== this.generation) return;
		const all = joined(answers, this.params.sort);
		const [first, others] = asked.length > 1 && /\S\s+\S/.test(this.params.q)
			? ranked(all, this.params.q) : [[], all];
		const rows = [...first, ...others];
		this.ranked = first.length > 0 && others.length > 0;
		const by = asked.findIndex((each) => each.trace_id || each.span_id);
		Object.assign(this, { kept: answers[0].kept, keep: answers[0].keep, byId: by >= 0,
			waiting: answers[Math.max(by, 0)].waiting });
		if (anew || this.rows.length === 0 || !this.reading()) this.show(rows, answers);
		else this.hold(rows);
	}

	show(rows, answers) {
		this.rows = rows;
		this.next = answers.length === 1 ? answers[0].next : null;
		this.news.hidden = true;
		this.paint();
	}

	/* Updates the rows that are shown; new ones wait for a click. */
	hold(rows) {
		const fresh = new Map(rows.map((row) => [rowKey(row), row]));
		const shown = new Set(this.rows.map(rowKey));
		this.rows = this.rows.map((row) => fresh.get(rowKey(row)) ?? row);
		const added = rows.filter((row) => !shown.has(rowKey(row))).length;
		this.news.hidden = added === 0;
		this.news.textContent = `Show ${plural(added, "new trace")}`;
		this.paint();
	}

	showNew() {
		this.rows = [];
		this.news.hidden = true;
		scrollTo({ top: 0, behavior: "instant" });
		this.search.focus({ preventScroll: true });
		this.now();
	}

	async more() {
		if (!this.next || this.fetching) return;
		this.fetching = true;
		const generation = this.generation;
		try {
			const [query] = queries(this.params, this.services);
			const answer = await get("/api/traces", { ...query, limit: PAGE, page: this.next },
				this.signal);
			if (generation !== this.generation) return;
			const shown = new Set(this.rows.map(rowKey));
			this.rows = [...this.rows, ...answer.traces.filter((row) => !shown.has(rowKey(row)))];
			this.next = answer.next;
			this.paint();
		} catch (problem) {
			if (problem.name !== "AbortError") this.next = null;
		} finally {
			this.fetching = false;
		}
	}

	paint() {
		this.longest = Math.max(1, ...this.rows.slice(0, PAGE).map((row) => (startless(row)
			? 0 : row.duration_ns)));
		this.most = mostOf(this.rows.slice(0, PAGE));
		this.table.hidden = this.rows.length === 0;
		this.table.ariaRowCount = this.next ? -1 : this.rows.length + 1;
		const later = waits(this.waiting);
		const empty = this.rows.length > 0 ? "" : later && this.byId ? "waits" : this.kept > 0 ? "none"
			: connection.waiting > 0 ? "waits" : "start";
		if (empty !== this.state) fill(this.empty, empty && this.nothing(empty));
		this.state = empty;
		this.later.textContent = later || (empty === "waits" ? waits({ spans: connection.waiting }) : "");
		const { whole_since_unix_nano: since, skipped_requests: skipped, text } = this.keep ?? {};
		this.gaps.textContent = text ?? (skipped > 0 ? `${plural(skipped, "request")} skipped to save CPU time` : "");
		this.status.textContent = this.rows.length === 0 ? "" : [
			`${count(this.rows.length)}${this.next ? "+" : ""} shown, ${count(this.kept)} kept`,
			since && `traces before ${at(since)} are evicted or incomplete, raise keep_mib ` +
				"of the status extension to keep more",
			this.ranked && "traces whose root span matches come first, then those in which another span does",
			later, this.gaps.textContent,
		].filter(Boolean).join("; ");
		this.list.set(this.rows);
	}

	nothing(state) {
		if (state === "start") return firstSteps(this.signal);
		if (state === "none") {
			return notice("", "No trace matches",
				para("Traces are kept, but none matches the search and the fields above. The search takes ids, 8 or "
					+ "more digits of a trace id, and parts of the names of services and spans (of the first 12 different ones "
					+ "of a trace)."), para(this.later), para(this.gaps),
				button("Clear the search", () => go(link("traces"))));
		}
		return waitingSteps(this.later);
	}

	failed(problem) {
		if (problem.status === 0 && this.rows.length > 0) return;
		this.table.hidden = true;
		this.status.textContent = "";
		this.rows = [];
		this.state = "failed";
		fill(this.empty, failure("The traces cannot be shown", problem));
	}

	row(row) {
		const cell = (label, text, kind, share, title) => h("span", { role: "cell", class: `number ${kind}`,
			dataset: { label }, title,
			style: { "--part": share }, text });
		const wall = wallOnly(row);
		const beginning = !row.root_seen ? " root not here yet" : row.root_has_parent && " parent not here";
		return h("div.row", { role: "row", "aria-rowindex": "0" },
			h("span.what", { role: "cell" },
				h("a", { href: link("trace", {}, row.trace_id), class: "stretched",
					title: !row.root_seen ? "Its local root, the first span of the trace in this process, " +
						"has not arrived." : row.root_has_parent ? "The trace begins in a span that waits, is sent "
						+ "elsewhere, or is not kept any more." : `${named(row.service)} ${named(row.name)}` },
					who(row.service, row.name), beginning && muted(beginning),
					row.waiting_spans > 0 && muted(`, ${count(row.waiting_spans)} more wait${row.waiting_spans === 1 ? "s" : ""}`)),
				row.failed && h("span.badge.bad.failed"),
				h("time.muted", { dataset: { at: row.start_unix_nano }, text: age(row.start_unix_nano),
					title: dateTime(row.start_unix_nano) })),
			startless(row) ? cell("Duration", "–", "") : cell("Duration", duration(row.duration_ns),
				"measure", row.duration_ns / this.longest),
			cell(wall ? "" : "CPU", brief(row) + (row.so_far ? "+" : ""), cost(row) ? `measure ${wall ? "wall-time" : "cpu"}` : "",
				cost(row) / this.most, [wall && cpuTime(row), row.so_far && SO_FAR].filter(Boolean).join(". ") || null),
			cell("Samples", count(row.samples), "few"), cell("Spans", count(row.spans), "few"),
			h("span.link", { role: "cell" }, this.linkState(row)));
	}

	/* That of the service that is asked for, if it has no link; else that of the trace. */
	linkState(row) {
		const of = row.asked && !row.asked.linked ? row.asked : row;
		const why = anchor(link("why", { id: of.root_span_id, service: row.asked?.service }),
			of.reason ? word(of.reason) : of.why ?? "not linked",
			{ class: "reason", title: of.why ?? "Why it has no flame graph" });
		if (!row.linked) return why;
		const text = of.reason ? `${count(row.linked_spans)} linked` : "linked";
		return [anchor(link("flame", { trace: row.trace_id }), text,
			{ class: "badge good", "aria-label": `${text}: flame graph of the trace` }), of.reason && why];
	}

	age() {
		for (const time of this.host.querySelectorAll("time")) time.textContent = age(time.dataset.at);
	}

	key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity }[event.key];
		const row = event.target.closest(".row");
		if (step === undefined || !row || event.target.matches("input, select")) return;
		event.preventDefault();
		const index = Number(row.getAttribute("aria-rowindex")) - 2;
		const to = Math.min(this.rows.length - 1, Math.max(0, index + step));
		this.list.reveal(to)?.querySelector("a").focus({ preventScroll: true });
	}
}
