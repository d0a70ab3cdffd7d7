/* CPU time by service and span name over time. */
import { get, poll } from "./api.js";
import { columns } from "./chart.js";
import { fill, h, segmented, select } from "./dom.js";
import { count, duration, millis, named, percent } from "./format.js";
import { anchor, button, failure, notice, number, para, renewed, table } from "./parts.js";
import { link, note } from "./route.js";

const RANGES = [["", "All"], ["-5m", "5 min"], ["-15m", "15 min"], ["-60m", "1 h"]];
const DRAWN = 7; // routes with a colour of their own
const SHOWN = 100;
const COLUMNS = 24; // of the chart, at least

export const title = () => "Cost by route";

export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal, params: route.params, all: false });
		this.filters = h("div.bar");
		this.body = h("div");
		fill(root, h("h1", "Cost by route"),
			para("CPU time of the samples that carry a span's id, by service and name of the span."),
			this.filters, this.body);
		this.services = [];
		this.tools();
		this.now = poll(() => this.load(), 5000, signal, (problem) => {
			if (!this.text) fill(this.body, failure("The cost cannot be shown", problem));
		});
	}

	update(route) {
		this.params = route.params;
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
		const names = [...new Set([...this.services, ...(service ? [service] : [])])].sort();
		fill(this.filters, segmented("Time", RANGES, from, (value) => this.change("from", value)),
			select("Service", [["", "all"], ...names.map((name) => [name, named(name)])], service,
				(value) => this.change("service", value)));
	}

	async load() {
		const { from, service } = this.params;
		const cost = await get("/api/cost", { from, service }, this.signal);
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
		const total = cost.routes.reduce((sum, each) => sum + each.cpu_ns, 0);
		if (total === 0) {
			fill(this.body, notice("", "No CPU time is known yet",
				para("It comes from profiles whose samples carry span ids, every 10 to 60 s."),
				para(anchor(link("why"), "What each service sends"))));
			return;
		}
		renewed(this);
		const chart = h("div.panel");
		fill(this.body, chart, this.table(cost.routes, total));
		columns(chart, { label: "CPU time by route", words: duration, ...this.series(cost) },
			this.scope.signal);
	}

	/* The chart begins where the first CPU time is. */
	series({ routes, from_unix_nano, step_ns }) {
		const length = Math.max(0, ...routes.map((each) => each.series.length));
		const used = routes.map((each) => each.series.findIndex((value) => value > 0))
			.filter((i) => i >= 0);
		const begin = Math.max(0, Math.min(length - COLUMNS, ...used));
		const times = Array.from({ length: length - begin },
			(_, i) => millis(from_unix_nano) + ((begin + i) * step_ns) / 1e6);
		const series = routes.slice(0,
			DRAWN).map((each, i) => ({ name: `${named(each.service)} ${named(each.span_name)}`,
			tone: `var(--series-${i + 1})`, values: each.series.slice(begin) }));
		const rest = routes.slice(DRAWN);
		if (rest.length > 0) {
			series.push({ name: `${count(rest.length)} others`, tone: "var(--series-0)",
				values: times.map((_, i) => rest.reduce((sum, each) => sum + (each.series[begin + i] ?? 0),
					0)) });
		}
		return { times, series };
	}

	table(routes, total) {
		const shown = this.all ? routes : routes.slice(0, SHOWN);
		const rows = table("Routes", ["Route", "CPU", "Share", "Per linked span", "Samples", "Spans",
			"Linked"],
			shown.map((each, i) => this.row(each, i, total)), { class: "scroll panel routes" });
		if (shown.length < routes.length) {
			rows.append(button(`Show all ${count(routes.length)} routes`, () => {
				this.all = true;
				rows.replaceWith(this.table(routes, total));
			}));
		}
		return rows;
	}

	row(each, i, total) {
		const tone = i < DRAWN ? `var(--series-${i + 1})` : "var(--series-0)";
		const share = each.cpu_ns / total;
		return [[h("i.dotted", { style: { background: tone } }),
			anchor(link("flame", { service: each.service,
			name: each.span_name, from: this.params.from }),
				`${named(each.service)} ${named(each.span_name)}`)],
		number(duration(each.cpu_ns)), number(percent(share), share, "cpu"),
		number(each.linked ? duration(each.cpu_ns / each.linked) : "–"), number(count(each.samples)),
		number(count(each.spans)), number(count(each.linked))];
	}
}
