/* Views and their parameters in location.hash, such as #/trace/0af7...?span=b7ad... */

import { url } from "./api.js";

/** @returns {{view: string, id: string, params: Object<string, string>}} */
export function current() {
	const text = location.hash.replace(/^#\/?/, "");
	const cut = text.indexOf("?");
	const path = (cut < 0 ? text : text.slice(0, cut)).split("/");
	const params = Object.fromEntries(new URLSearchParams(cut < 0 ? "" : text.slice(cut + 1)));
	return { view: path[0] || "traces", id: decoded(path[1] ?? ""), params };
}

function decoded(text) {
	try {
		return decodeURIComponent(text);
	} catch {
		return text;
	}
}

export const link = (view, params, id = "") =>
	url(`#/${view}${id ? `/${encodeURIComponent(id)}` : ""}`, params);

export function go(address) {
	location.hash = address;
}

/** Puts the state of the view into its address; without `step`, without an entry in the history. */
export function note(address, step) {
	if (location.hash !== address) history[step ? "pushState" : "replaceState"](null, "", address);
}
