/* Parts that several views share. */
import { h } from "./dom.js";
import { named, sentence, serviceHue, waits } from "./format.js";
import { link } from "./route.js";

/** Time ranges that end now: `from` of the API, and a label. */
export const RANGES = [["", "All"], ["-5m", "5 min"], ["-15m", "15 min"], ["-60m", "1 h"]];

export const SAMPLES = "Samples: how many times the profiler took one, each for a period (10 ms in Go and " +
	"Python): periods differ by language, so compare CPU.";

export const muted = (text) => h("span.muted", { text });
export const para = (...content) => h("p", content);
export const code = (text) => h("code", { text });
export const anchor = (href, text, props) => h("a", { href, text, ...props });

export function button(text, onclick, props) {
	return h("button", { type: "button", text, onclick, ...props });
}

export const swatch = (service) => h("i.swatch", { style: { "--hue": serviceHue(service) } });

/** The name of a service, with its tenant. */
export const serviceOf = ({ service, tenant }, what) => named(service, what) + (tenant ? ` (${tenant})` : "");

/** The service and name of a span, with the service's colour. */
export function who(service, name, tenant) {
	return [swatch(service), h("span.service", serviceOf({ service, tenant }, "no service")), " ",
		name !== null && h("span.name", named(name))];
}

const SUMS = { others: "Routes that there was no room for, together.",
	no_span: "Samples that name no span that has passed here: work outside of spans or in threads of "
		+ "their own, and spans that were not sampled.",
	not_looked_at: "Samples of spans that passed while more came than is looked at: no route counts "
		+ "these spans." };

/** What a row of /api/cost is that is no route. */
export const sumOf = ({ kind, span_name: name }) => SUMS[kind ?? (name === "(others)" && "others")];

/** A row of /api/cost, as a link to its flame graph; a row that is no route, to that of its service. */
export function routeLink(row, from, content, props) {
	const { service, span_name: name } = row;
	const sum = sumOf(row);
	if (sum && service === "(others)") return h("span", { title: sum, ...props }, content);
	return h("a", { href: link("flame", { service, name: sum ? undefined : name, from }),
		title: sum && `${sum} The link is to all of the service.`, ...props }, content);
}

/** The choices of a select: a first one, and names in order, with the chosen one. */
export const choices = (first, names, chosen) => [...first,
	...[...new Set(chosen ? [...names, chosen] : names)].sort().map((name) => [name, named(name)])];

/** What an empty view shows. */
export function notice(kind, heading, ...body) {
	return h("div", { class: `notice ${kind}`, role: kind === "error" ? "alert" : null },
		h("h2", heading), body);
}

/** What failed, or that it waits. */
export const failure = (heading, problem, ...body) => (problem.waiting?.spans
	? notice("", "It waits for its samples", para(waits(problem.waiting), "."),
		para(muted("It is shown here when they are decided.")))
	: notice("error", heading, para(sentence(problem.message)), body));

/** What is wrong with the process, from problems(). */
export const troubles = (all) => all.map(({ id, bad, text }) => para(
	h(`span.badge.${bad ? "bad" : "warn"}`, id ?? "spanlink"), ` ${text}`));

/** Pairs of a name and a text or nodes; those without a value are left out. */
export function facts(...pairs) {
	return h("dl.facts", pairs.filter(([, value]) => value).map(
		([name, value]) => h("div", h("dt", name), h("dd", value))));
}

/** A table whose first column has headings. Cells: text, nodes or a td. */
export function table(label, head, rows, props) {
	const cell = (content, i) => content instanceof HTMLTableCellElement ? content
		: i === 0 ? h("th", { scope: "row" }, content) : h("td", content);
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": label, ...props },
		h("table", h("thead", h("tr", head.map(
			(text) => (text instanceof Node ? text : h("th", { scope: "col", text }))))),
			h("tbody", rows.map((row) => h("tr", row.map(cell))))));
}

/** A cell with a number, and a bar if there is a share. */
export function number(text, share, kind = "") {
	return h("td", { class: share === undefined ? "number" : `number measure ${kind}`,
		style: { "--part": share }, text });
}

/** Ends a view's scope, which stops what was drawn, and begins a new one. */
export function renewed(view) {
	if (view.scope) view.scope.abort();
	else view.signal.addEventListener("abort", () => view.scope.abort());
	view.scope = new AbortController();
	return view.scope.signal;
}
