/*
 * Fetches profiles and works out their trees beside the page. Takes {id, op, ...} and answers
 * {id, ...} or {id, error, status}.
 */
import { get } from "./api.js";
import { buffers, compare, fromAnswer, functions, sandwich, search } from "./flame-layout.js";

let shown = null; // {tree, names}
let newest = 0;

function copyOf(tree) {
	return Object.fromEntries(Object.entries(tree).map(
		([key, value]) => [key, ArrayBuffer.isView(value) ? value.slice() : value]));
}

/** One graph; the server sends one large graph at a time, and answers 503 meanwhile. */
async function graph(query) {
	for (let tries = 5; ; tries -= 1) {
		try {
			return await get("/api/flamegraph", query);
		} catch (problem) {
			if (problem.status !== 503 || tries === 0) throw problem;
			await new Promise((resolve) => { setTimeout(resolve, 500); });
		}
	}
}

async function load({ id, query, against, share, mean }) {
	newest = id;
	const answer = await graph(query);
	const other = against && await graph(against);
	const meta = { unit: answer.unit, type: answer.type, types: answer.types ?? [],
		total: answer.total,
		samples: answer.samples, missing: [answer.text, answer.fix].filter(Boolean).join(" ") };
	const times = mean ? 1 / Math.max(1, other.spans) : 1;
	const after = fromAnswer(answer);
	let made = after;
	if (other) {
		meta.before = other.total * times;
		meta.spans = other.spans;
		meta.after = answer.total;
		const scale = share ? [1 / (other.total || 1), 1 / (answer.total || 1)] : [times, 1];
		made = compare(fromAnswer(other), after, scale);
	}
	const tree = copyOf(made.tree);
	const costs = functions(made.tree, made.names);
	if (id === newest) shown = made;
	return [{ tree, names: made.names, meta, costs }, [...buffers(tree), ...buffers(costs)]];
}

const operations = {
	load,
	search({ text }) {
		const found = search(shown.tree, shown.names, text);
		return [found, [found.mask.buffer]];
	},
	sandwich({ name }) {
		const both = sandwich(shown.tree, name);
		return [both, [...buffers(both.callers), ...buffers(both.callees)]];
	},
};

self.addEventListener("message", async ({ data }) => {
	try {
		const [answer, handed] = await operations[data.op](data);
		self.postMessage({ id: data.id, ...answer }, handed);
	} catch (problem) {
		self.postMessage({ id: data.id, error: problem.message, status: problem.status ?? null });
	}
});
