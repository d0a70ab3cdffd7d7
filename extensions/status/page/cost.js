/* CPU time by service and span name over time. */
import { get, poll, upTo } from "./api.js";
import { columns } from "./chart.js";
import { fill, h, segmented, select } from "./dom.js";
import { ago, brief, cost as costOf, count, cpuTime, dateTime, duration, millis, named, percent,
	wallOnly } from "./format.js";
import { anchor, button, choices, failure, notice, number, para, RANGES, renewed,
	routeLink, SAMPLES, serviceOf, table } from "./parts.js";
import { go, link, note } from "./route.js";

/* routes with a colour of their own */
const DRAWN = 7;
const SHOWN = 100;
const PER_REQUEST = "CPU time by all spans of the route that passed, linked or not: a span in which no "
	+ "sample was taken counts as one that took none. Sampling makes it exact only for many spans.";
/* of the chart, at least */
const COLUMNS = 24;

export const title = () => "Cost by route";

/* When the last CPU time was, in unix nanoseconds; null: there is none. */
function latest(cost) {
	const step = Math.max(-1, ...(cost?.routes ?? []).map(
		(each) => each.series.findLastIndex(Boolean)));
	return step < 0 ? null : BigInt(cost.from_unix_nano) + BigInt(step * cost.step_ns);
}

export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal, params: route.params, all: false });
		this.filters = h("div.bar");
		this.body = h("div");
		fill(root, h("h1", "Cost by route"),
			para("CPU time by service and span name. ", SAMPLES),
			this.filters, this.body);
		this.services = [];
		this.tools();
		this.now = poll(() => this.load(), 5000, signal, (problem) => {
			if (!this.text) fill(this.body, failure("The cost cannot be shown", problem));
		});
	}

	update(route) {
		this.params = route.params;
		this.text = null;
		this.tools();
		this.now();
	}

	change(key, value) {
		this.params = { ...this.params, [key]: value };
		this.text = null;
		note(link("cost", this.params));
		this.now();
	}

	tools() {
		const { from = "", service = "" } = this.params;
		fill(this.filters, segmented("Time", RANGES.slice(0, 3), from, (value) => this.change("from", value)),
			select("Service", choices([["", "all"]], this.services, service), service,
				(value) => this.change("service", value)));
	}

	async load() {
		const { from, service } = this.params;
		const cost = await get("/api/cost", { from, service }, this.signal);
		if (from && !cost.routes.some((each) => each.cpu_ns || each.wall_ns)) {
			cost.all = await get("/api/cost", { service }, this.signal);
		}
		if (service && !(cost.all ?? cost).routes.some(costOf)) {
			cost.others = (await get("/api/cost", {}, this.signal)).routes.some(costOf);
		}
		const text = JSON.stringify(cost);
		if (text === this.text || (this.text && this.body.contains(document.activeElement))) return;
		this.text = text;
		const names = [...new Set(cost.routes.map((each) => each.service))];
		if (!service && names.join() !== this.services.join()
			&& !this.filters.contains(document.activeElement)) {
			this.services = names;
			this.tools();
		}
		this.show(cost);
	}

	show(cost) {
		const [cpu, wall] = this.total = [false, true].map((only) => cost.routes.reduce(
			(sum, each) => sum + (wallOnly(each) === only ? costOf(each) : 0), 0));
		if (!cpu && !wall) {
			fill(this.body, this.nothing(cost));
			return;
		}
		renewed(this);
		const chart = h("div.panel");
		const drawn = this.series(cost);
		fill(this.body, wall > 0 && para("A route whose profiles measure no CPU time has its wall time, ",
			"which includes waiting", cpu > 0 && "; the chart is of CPU time", "."),
			cost.text && para(`${cost.text}.`),
			chart, !this.params.from && h("p.muted", "The chart shows the last ",
				duration(drawn.times.length * cost.step_ns), ", the table all since the start, or since a reload that "
					+ "changed this extension."),
			this.table(cost.routes));
		columns(chart, { label: `${cpu ? "CPU" : "Wall"} time by route`, words: duration, ...drawn },
			this.scope.signal);
	}

	nothing({ all, others }) {
		const last = latest(all);
		if (others) {
			return notice("", "This service has no CPU time", para(named(this.params.service),
				": no sample of a service of this name has come, though samples of others have. ",
				anchor(link("why"), "What each service sends")),
			button("Show all services", () => go(link("cost", { from: this.params.from }))));
		}
		if (!last) {
			return notice("", "No CPU time is known yet",
				para("It comes from profiles whose samples carry span ids, every 10 to 60 s."),
				para(anchor(link("why"), "What each service sends")));
		}
		return notice("", "No CPU time in this range",
			para(`The latest is from ${dateTime(last)}, ${ago(last)}.`),
			button("Show all", () => go(link("cost", { service: this.params.service }))));
	}

	/* Of CPU time, if there is any. */
	isDrawn(each) {
		return costOf(each) > 0 && wallOnly(each) === !this.total[0];
	}

	/* The chart begins with the first time in it. */
	series(cost) {
		const { routes: all, from_unix_nano, step_ns } = cost;
		const routes = all.filter((each) => this.isDrawn(each));
		const length = Math.max(0, ...routes.map((each) => each.series.length));
		const used = routes.map((each) => each.series.findIndex((value) => value > 0))
			.filter((i) => i >= 0);
		const shown = upTo(COLUMNS, millis(cost.to_unix_nano), step_ns / 1e6);
		const begin = Math.max(0, Math.min(length - shown, ...used));
		const times = Array.from({ length: length - begin },
			(_, i) => millis(from_unix_nano) + ((begin + i) * step_ns) / 1e6);
		const series = routes.slice(0,
			DRAWN).map((each, i) => ({ name: `${serviceOf(each)} ${named(each.span_name)}`,
			tone: `var(--series-${i + 1})`, values: each.series.slice(begin) }));
		const rest = routes.slice(DRAWN);
		if (rest.length > 0) {
			series.push({ name: `${count(rest.length)} others`, tone: "var(--series-0)",
				values: times.map((_, i) => rest.reduce((sum, each) => sum + (each.series[begin + i] ?? 0),
					0)) });
		}
		return { times, series };
	}

	table(routes) {
		const shown = this.all ? routes : routes.slice(0, SHOWN);
		const rows = table("Routes", ["Route", "CPU", "Share", h("th", { scope: "col", title: PER_REQUEST, text: "Per request" }), h("th", { scope: "col", title: SAMPLES }, "Samples"), "Spans",
			"Linked"],
			shown.map((each, i) => this.row(each, i)), { class: "scroll panel routes" });
		if (shown.length < routes.length) {
			rows.append(button(`Show all ${count(routes.length)} routes`, () => {
				this.all = true;
				rows.replaceWith(this.table(routes));
			}));
		}
		return rows;
	}

	row(each, i) {
		const tone = i < DRAWN && this.isDrawn(each) ? `var(--series-${i + 1})` : "var(--series-0)";
		const wall = wallOnly(each);
		const share = costOf(each) / this.total[Number(wall)];
		return [[h("i.dotted", { style: { background: tone } }),
			routeLink(each, this.params.from, `${serviceOf(each)} ${named(each.span_name)}`)],
		number(cpuTime(each)), costOf(each)
			? number(percent(share) + (wall ? " of wall time" : ""), share, wall ? "of-wall" : "cpu")
			: number("–"),
		number(each.spans ? brief({ ...each, cpu_ns: each.cpu_ns / each.spans,
			wall_ns: each.wall_ns / each.spans }) : "–"),
		...["samples", "spans", "linked"].map((key) => number(count(each[key])))];
	}
}
