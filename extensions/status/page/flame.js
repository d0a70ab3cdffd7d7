/* The flame graph of a span, a trace, a service or a route. */
import { get } from "./api.js";
import { fill, h, refill, select } from "./dom.js";
import { FlamePanel } from "./flame-panel.js";
import { cost, cpuTime, mostOf, named, plural, SO_FAR, waits, wallOnly } from "./format.js";
import { anchor, button, choices, failure, muted, notice, para, RANGES, renewed, routeLink,
	sumOf, who } from "./parts.js";
import { go, link, note } from "./route.js";

const WALL = "wall:wall:nanoseconds:wall:nanoseconds";
const SOURCE = ["span", "trace", "service", "name", "from", "to"];

export const title = ({ params }) => {
	if (params.span) return `Flame graph of span ${params.span}`;
	if (params.trace) return `Flame graph of trace ${params.trace}`;
	return params.service ? `Flame graph of ${named(params.name ?? params.service)}` : "Flame graphs";
};

function split(params) {
	const source = {};
	const state = {};
	for (const [key, value] of Object.entries(params)) {
		if (SOURCE.includes(key)) source[key] = value;
		else state[key] = value;
	}
	return { source, state };
}

export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal });
		this.update(route);
	}

	update(route) {
		const { source, state } = split(route.params);
		const drawn = (of, { type, vs }) => JSON.stringify([of, type, vs]);
		if (this.panel && drawn(source, state) === drawn(this.source, this.panel.state)) {
			this.panel.state = state;
			this.panel.load();
			return;
		}
		renewed(this);
		Object.assign(this, { source, state });
		// That of a service stays until there is a new one: it has what chooses another time.
		if (!this.formed || source.span || source.trace) this.head = h("div");
		this.formed = false;
		const host = h("section", { "aria-label": "Flame graph" });
		if (this.head.isConnected) this.root.lastChild.replaceWith(host);
		else fill(this.root, this.head, host);
		if (source.span) this.spanHead();
		else if (source.trace) this.traceHead();
		else this.serviceHead(host);
		if (!source.span && !source.trace && source.service === undefined) return;
		this.panel = new FlamePanel(host, { source, state, signal: this.scope.signal,
			label: title(route), changed: (now, step) => note(link("flame", { ...source, ...now }), step) });
	}

	async spanHead() {
		const { span, service } = this.source;
		fill(this.head, h("h1", "Flame graph of a span"), para(muted(span)));
		try {
			const known = await get(`/api/spans/${span}`, { service }, this.scope.signal);
			const signal = this.scope.signal;
			if (known.so_far || ["waiting", "unknown"].includes(known.decision)) setTimeout(() => signal.aborted || this.spanHead(), 2000);
			if (this.grows && !known.so_far) this.panel.load();
			this.grows = known.so_far;
			if (known.name === null) return;
			fill(this.head, h("h1", who(known.service, known.name)),
			h("p.crumbs",
				known.trace_id && anchor(link("trace", { span }, known.trace_id), "its trace"),
				anchor(link("why", { id: span, service }), `why it is ${known.decision === "linked" ? "" : "not "}linked`),
				anchor(link("flame", { service: known.service, name: known.name }), "its route")),
			known.so_far && h("span.badge.warn", SO_FAR),
			known.reason === "inherited" && para("The samples are those of an ancestor, ",
				anchor(link("flame", { span: known.profile_id }), known.profile_id), "."));
		} catch {
			// The panel shows the error.
		}
	}

	traceHead() {
		const { trace } = this.source;
		fill(this.head, h("h1", "Flame graph of a trace"),
			h("p.crumbs", anchor(link("trace", {}, trace), trace),
				muted("all samples of its spans, over all services seen here")));
		this.wallHint(trace);
	}

	/* Says what a graph leaves out: spans that wait, and services without CPU time. */
	async wallHint(id) {
		try {
			const { spans, waiting } = await get(`/api/traces/${id}`, {}, this.scope.signal);
			if (waiting.spans > 0) this.head.append(para(h("span.badge.warn", waits(waiting, "more "))));
			if (this.state.vs || (this.state.type ?? "").startsWith("wall")) return;
			const names = [...new Set(spans.filter(wallOnly).map((each) => each.service))];
			if (names.length > 0 && spans.some((each) => each.cpu_ns > 0)) {
				this.head.append(para(`${names.join(", ")}: wall time only, not in a graph of CPU time. `,
					anchor(link("flame", { trace: id, type: WALL }), "Wall clock")));
			}
		} catch {
			// The panel shows the error.
		}
	}

	async serviceHead(host) {
		if (!this.head.firstChild) fill(this.head, h("h1", "Flame graphs"));
		this.formed = true;
		const { signal } = this.scope;
		let routes;
		try {
			const [costs, all] = await Promise.all(["/api/cost", "/api/services"].map(
				(path) => get(path, {}, signal)));
			({ routes } = costs);
			this.profiled = all.services.filter((each) => each.has_profiles).map((each) => each.service);
		} catch (problem) {
			if (signal.aborted) return;
			if (this.source.service === undefined) fill(host,
				failure("The services cannot be shown", problem));
			if (problem.status === 0) setTimeout(() => signal.aborted || this.serviceHead(host), 2000);
			return;
		}
		this.form(routes);
		if (this.source.service === undefined) this.choices(host, routes);
	}

	form(routes) {
		const { service, name, from = "" } = this.source;
		const services = choices(service === undefined ? [["", "choose one"]] : [],
			[...routes.map((each) => each.service), ...this.profiled], service);
		const names = routes.filter((each) => each.service === service && !sumOf(each)).map((each) => each.span_name);
		if (name !== undefined && !names.includes(name)) names.push(name);
		const open = (changes) => go(link("flame", { service, name, from, ...changes }));
		refill(this.head, h("h1", "Flame graphs"), routes.length + services.length > 1 && h("div.filters",
			select("Service", services, service ?? "", (value) => open({ service: value, name: undefined })),
			service !== undefined && [
				select("Route", [["", "all routes"], ...names.map((each) => [`=${each}`, named(each)])],
					name === undefined ? "" : `=${name}`,
					(value) => open({ name: value ? value.slice(1) : undefined })),
				select("Time", RANGES, from, (value) => open({ from: value })),
				button("Refresh", () => {
					this.serviceHead();
					this.panel.load();
				})]),
		from && para(muted("Profiles that overlap the time count whole.")));
	}

	/* Without a source, offers the costliest routes. */
	choices(host, routes) {
		const busy = routes.filter((each) => each.samples || each.cpu_ns).slice(0, 30);
		if (busy.length === 0) {
			fill(host, notice("", "No profile samples yet",
				para("A flame graph needs profiles whose samples carry span ids, every 10 to 60 s."),
				para(anchor(link("why"), "What each service sends, and why spans have no link"))));
			return;
		}
		const most = mostOf(busy);
		fill(host, h("h2", `Where the ${busy.every(wallOnly) ? "wall" : "CPU"} time goes`), h("ul.cards", busy.map((each) => h("li", {},
			routeLink(each, "", [who(each.service, each.span_name, each.tenant),
				h(`span.number.measure.${wallOnly(each) ? "wall-time" : "cpu"}`, {
					style: { "--part": cost(each) / most },
					text: cpuTime(each, " CPU") + (each.samples ? `, ${plural(each.samples, "sample")}` : "") })],
			{ class: "card" })))));
	}
}
