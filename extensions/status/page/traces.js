/* The view of all traces that are kept: search, order, live list. */
import { connection, get, poll } from "./api.js";
import { announce, fill, h, segmented, select } from "./dom.js";
import { ago, at, count, duration, isDuration, named, plural } from "./format.js";
import { anchor, button, failure, notice, para, who } from "./parts.js";
import { go, link, note } from "./route.js";
import { Rows } from "./rows.js";
import { firstSteps } from "./start.js";

const PAGE = 200;
const EVERY = 2000;
const SORTS = [["latest", "Latest"], ["cpu", "Most CPU"], ["duration", "Longest"]];

export const title = () => "Traces";

/**
 * What a search means, as queries whose answers are joined: ids, and a part of a name, of a
 * service, or of both.
 * @param {string[]} services those that exist
 */
function queries(params, services) {
	const base = { service: params.service, linked: params.linked, min_duration: params.min_duration,
		min_cpu: params.min_cpu, sort: params.sort };
	const free = [];
	for (const word of (params.q ?? "").trim().split(/\s+/).filter(Boolean)) {
		const id = /^(?:00-)?([0-9a-f]{32})(?:-[0-9a-f]{16}-[0-9a-f]{2})?$/i.exec(word);
		if (id) base.trace_id = id[1].toLowerCase();
		else if (/^[0-9a-f]{16}$/i.test(word)) base.span_id = word.toLowerCase();
		else free.push(word);
	}
	if (free.length === 0) return [base];
	const text = free.join(" ");
	const within = (part) => (base.service ? [] : services.filter(
		(service) => service.toLowerCase().includes(part.toLowerCase())).slice(0, 5));
	return [{ ...base, name: containing(text) },
		...within(text).map((service) => ({ ...base, service })),
		...(free.length > 1 ? within(free[0]) : []).map(
			(service) => ({ ...base, service, name: containing(free.slice(1).join(" ")) }))];
}

/* A pattern of the server for names that have a text in them, in capitals or not. */
function containing(text) {
	const each = (c) => (/[a-z]/i.test(c) ? `[${c.toLowerCase()}${c.toUpperCase()}]`
		: c.replace(/[\\[\]*?]/, "\\$&"));
	return `*${[...text.slice(0, 50)].map(each).join("")}*`;
}

function joined(answers, sort) {
	const rows = new Map();
	for (const { traces } of answers) for (const row of traces) rows.set(rowKey(row), row);
	const by = {
		cpu: (a, b) => b.cpu_ns - a.cpu_ns,
		duration: (a, b) => b.duration_ns - a.duration_ns,
		latest: (a, b) => (BigInt(b.start_unix_nano) > BigInt(a.start_unix_nano) ? 1 : -1),
	};
	const all = [...rows.values()];
	return answers.length > 1 ? all.sort(by[sort ?? "latest"]) : all;
}

const rowKey = (row) => `${row.trace_id} ${row.service}`;

/** The view. `params`: q, service, linked, min_duration, min_cpu, sort. */
export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal, params: route.params, rows: [], next: null, kept: 0 });
		this.paused = false;
		this.services = [];
		this.build();
		this.now = poll(() => this.load(), EVERY, signal, (problem) => this.failed(problem));
		poll(() => this.names(), 15000, signal);
		this.clock = setInterval(() => this.age(), 1000);
		signal.addEventListener("abort", () => clearInterval(this.clock));
	}

	/** Another address of this view. */
	update(route) {
		this.params = route.params;
		this.search.value = this.params.q ?? "";
		this.reload();
	}

	build() {
		this.search = h("input", { type: "search", role: "searchbox", value: this.params.q ?? "",
			autocomplete: "off", spellcheck: "false", "aria-label": "Search traces",
			placeholder: "Trace id, span id, service or name", oninput: () => this.typed() });
		const form = h("form.search", { role: "search", onsubmit: (e) => this.enter(e) },
			this.search);
		this.sort = segmented("Order", SORTS, this.params.sort ?? "latest",
			(value) => this.change("sort", value === "latest" ? "" : value));
		this.pause = button("", () => this.toggle(), { class: "pause" });
		this.status = h("p.muted");
		this.news = button("", () => this.showNew(), { class: "news", hidden: true });
		this.filters = h("div.filters");
		this.host = h("div", { role: "rowgroup", class: "rows" });
		this.table = h("div", { role: "table", class: "table traces", "aria-label": "Traces" },
			h("div", { role: "rowgroup" }, h("div", { role: "row", class: "row head" },
				["Trace", "Duration", "CPU", "Samples", "Spans", "Flame graph"].map(
					(text) => h("span", { role: "columnheader", text })))),
			this.host);
		this.empty = h("div");
		fill(this.root, h("h1.unseen", "Traces"),
			h("div.bar", form, this.sort, this.pause), this.filters,
			h("div.underbar", this.status, this.news), this.table, this.empty);
		this.list = new Rows(this.host, { key: rowKey, render: (row) => this.row(row),
			whole: 100, signal: this.signal,
			reached: (last) => last >= this.rows.length - 20 && this.more() });
		this.host.addEventListener("keydown", (event) => this.key(event));
		this.showPause();
		this.showFilters();
	}

	showPause() {
		this.pause.textContent = this.paused ? "Resume" : "Pause";
		this.pause.setAttribute("aria-pressed", String(this.paused));
	}

	showFilters() {
		const p = this.params;
		const least = (label, key, example) => {
			const input = h("input", { type: "text", value: p[key] ?? "", placeholder: example, size: 6,
				onchange: () => {
					const wrong = input.value !== "" && !isDuration(input.value);
					input.setAttribute("aria-invalid", String(wrong));
					if (wrong) announce(`${label}: write a time such as ${example}`);
					else this.change(key, input.value);
				} });
			return h("label.field", h("span", label), input);
		};
		const known = new Set(this.services);
		if (p.service) known.add(p.service);
		fill(this.filters,
			select("Service", [["", "all"], ...[...known].sort().map((name) => [name, named(name)])],
				p.service ?? "", (value) => this.change("service", value)),
			select("Spans", [["", "all"], ["true", "linked"], ["false", "not linked"]], p.linked ?? "",
				(value) => this.change("linked", value)),
			least("Duration from", "min_duration", "10ms"), least("CPU from", "min_cpu", "5ms"));
	}

	async names() {
		const { services } = await get("/api/services", {}, this.signal);
		const names = services.map((each) => each.service);
		if (names.join("\n") === this.services.join("\n")) return;
		this.services = names;
		if (!this.filters.contains(document.activeElement)) this.showFilters();
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
		const id = queries({ q: text }, [])[0].trace_id;
		if (id) go(link("trace", {}, id));
		else this.change("q", text);
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
		if (!this.filters.contains(document.activeElement)) this.showFilters();
		this.load(true).catch((problem) => problem.name !== "AbortError" && this.failed(problem));
	}

	toggle() {
		this.paused = !this.paused;
		this.showPause();
		announce(this.paused ? "Paused" : "Live again");
		if (!this.paused) this.now();
	}

	/** Whether somebody reads further down, whose rows must not move. */
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
		const rows = joined(answers, this.params.sort);
		this.kept = answers[0].kept;
		if (anew || this.rows.length === 0 || !this.reading()) this.show(rows, answers);
		else this.hold(rows);
	}

	show(rows, answers) {
		this.rows = rows;
		this.next = answers.length === 1 ? answers[0].next : null;
		this.news.hidden = true;
		this.paint();
	}

	/* Rows that are shown get their new figures; new rows wait for a click. */
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
		this.longest = Math.max(1, ...this.rows.slice(0, PAGE).map((row) => row.duration_ns));
		this.costliest = Math.max(1, ...this.rows.slice(0, PAGE).map((row) => row.cpu_ns));
		this.table.hidden = this.rows.length === 0;
		this.table.setAttribute("aria-rowcount", this.next ? -1 : this.rows.length + 1);
		const empty = this.rows.length > 0 ? "" : this.kept > 0 ? "none"
			: connection.waiting > 0 ? "waits" : "start";
		if (empty !== this.state) fill(this.empty, empty && this.nothing(empty));
		this.state = empty;
		this.status.textContent = this.rows.length === 0 ? ""
			: `${count(this.rows.length)}${this.next ? "+" : ""} shown, ${count(this.kept)} kept`;
		this.list.set(this.rows);
	}

	nothing(state) {
		if (state === "start") return firstSteps();
		if (state === "none") {
			return notice("", "No trace matches",
				para("Traces are kept, but none is as the search and the fields above say."),
				button("Clear the search", () => go(link("traces"))));
		}
		return notice("", "Spans have come, and wait for their profile",
			para(`${plural(connection.waiting, "span waits", "spans wait")} for the samples of their time. `,
				"They are listed with the next upload of their profiler, or 45 s after the first of a ",
				"service without one (Node.js: 75 s)."),
			para(anchor(link("pipeline"), "What passes meanwhile")));
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
		const cell = (label, text, kind, share) => h("span", { role: "cell", class: `number ${kind}`,
			dataset: { label },
			style: { "--part": share }, text });
		return h("div", { role: "row", class: "row", "aria-rowindex": "0" },
			h("span", { role: "cell", class: "what" },
				h("a", { href: link("trace", {}, row.trace_id), class: "stretched" },
					who(row.service, row.name)),
				h("time.muted", { dataset: { at: row.start_unix_nano }, text: ago(row.start_unix_nano),
					title: at(row.start_unix_nano) })),
			cell("Duration", duration(row.duration_ns), "measure", row.duration_ns / this.longest),
			cell("CPU", row.cpu_ns ? duration(row.cpu_ns) : "–", "measure cpu",
				row.cpu_ns / this.costliest),
			cell("Samples", count(row.samples), "few"), cell("Spans", count(row.spans), "few"),
			h("span", { role: "cell", class: "link" }, this.linkState(row)));
	}

	linkState(row) {
		if (row.linked) {
			return anchor(link("flame", { trace: row.trace_id }), "linked",
				{ class: "badge good", "aria-label": "linked: flame graph of the trace" });
		}
		return anchor(link("why", { id: row.root_span_id }), row.why ?? "not linked",
			{ class: "reason", title: row.why ?? "Why it has no flame graph" });
	}

	age() {
		for (const time of this.host.querySelectorAll("time")) time.textContent = ago(time.dataset.at);
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
