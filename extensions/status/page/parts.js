/* What several views are made of. */
import { h } from "./dom.js";
import { hue, named } from "./format.js";

export const muted = (text) => h("span.muted", { text });
export const para = (...content) => h("p", content);
export const code = (text) => h("code", { text });
export const anchor = (href, text, props) => h("a", { href, text, ...props });

export function button(text, onclick, props) {
	return h("button", { type: "button", text, onclick, ...props });
}

/** A square in the colour of a service. */
export const swatch = (service) => h("i.swatch", { style: { "--hue": hue(service) } });

/** A span as people call it: service and name, with the service's colour. */
export function who(service, name) {
	return [swatch(service), h("span.service", named(service, "no service")), " ",
		h("span.name", named(name))];
}

/** What an empty view shows: a heading, and what to do next. */
export function notice(kind, heading, ...body) {
	return h("div", { class: `notice ${kind}`, role: kind === "error" ? "alert" : null },
		h("h2", heading), body);
}

export const failure = (heading, problem, ...body) => notice("error", heading,
	para(problem.message), body);

/** Short facts: pairs of a name and a text or nodes; those without a value are left out. */
export function facts(...pairs) {
	return h("dl.facts", pairs.filter(([, value]) => value).map(
		([name, value]) => h("div", h("dt", name), h("dd", value))));
}

/** A table whose rows' first cell is a heading. Cells: text, nodes, or an element td. */
export function table(label, head, rows, props) {
	const cell = (content, i) => content instanceof HTMLTableCellElement ? content
		: i === 0 ? h("th", { scope: "row" }, content) : h("td", content);
	return h("div.scroll", { tabindex: "0", role: "region", "aria-label": label, ...props },
		h("table", h("thead", h("tr", head.map(
			(text) => (text instanceof Node ? text : h("th", { scope: "col", text }))))),
			h("tbody", rows.map((row) => h("tr", row.map(cell))))));
}

/** A cell with a number, and a bar behind it if there is a share. */
export function number(text, share, kind = "") {
	return h("td", { class: share === undefined ? "number" : `number measure ${kind}`,
		style: { "--part": share }, text });
}

/** A new scope of a view, which ends the one before: what is drawn anew stops what was drawn. */
export function renewed(view) {
	if (view.scope) view.scope.abort();
	else view.signal.addEventListener("abort", () => view.scope.abort());
	view.scope = new AbortController();
	return view.scope.signal;
}
