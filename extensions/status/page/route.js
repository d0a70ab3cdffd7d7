/* Views and their parameters in location.hash, such as #/trace/0af7...?span=b7ad... */

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

/** The address of a view; parameters that are empty are left out. */
export function link(view, params = {}, id = "") {
	const query = new URLSearchParams();
	for (const [key, value] of Object.entries(params)) {
		if (value !== undefined && value !== null && value !== "") query.set(key, value);
	}
	const tail = query.toString();
	return `#/${view}${id ? `/${encodeURIComponent(id)}` : ""}${tail ? `?${tail}` : ""}`;
}

/** Goes there as a click on a link does. */
export function go(address) {
	location.hash = address;
}

/** Notes the state of the present view in its address, without a step in the history. */
export function note(address) {
	if (location.hash !== address) history.replaceState(null, "", address);
}
