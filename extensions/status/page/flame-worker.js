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

async function load({ id, query, against, share, mean }) {
	newest = id;
	const answers = await Promise.all([query, against].filter(Boolean).map(
		(each) => get("/api/flamegraph", each)));
	const [answer, other] = answers;
	const meta = { unit: answer.unit, type: answer.type, types: answer.types ?? [],
		total: answer.total,
		samples: answer.samples, truncated: answer.truncated };
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
