/*
 * Fetches profiles and computes their trees. Receives {id, op, ...}, responds with {id, ...} or
 * {id, error, status}.
 */
import { get } from "./api.js";
import { compare, fromAnswer, functions, sandwich, search } from "./flame-layout.js";

/* {tree, names} */
let shown = null;
let newest = 0;

/** The server computes one large graph at a time, and responds with 503 meanwhile. */
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
	const other = against && await graph(against).catch((problem) => {
		throw Object.assign(problem, { other: true });
	});
	const meta = { unit: answer.unit, type: answer.type, types: answer.types ?? [],
		last: answer.aggregation === "last", total: answer.total, samples: answer.samples,
		missing: [answer.text, answer.fix].filter(Boolean).join(" ") };
	const times = mean ? 1 / Math.max(1, other.spans) : 1;
	const after = fromAnswer(answer);
	let made = after;
	if (other) {
		meta.before = other.total * times;
		meta.spans = other.spans;
		const scale = share ? [1 / (other.total || 1), 1 / (answer.total || 1)] : [times, 1];
		made = compare(fromAnswer(other), after, scale);
	}
	if (id === newest) shown = made;
	return { ...made, meta, costs: functions(made.tree, made.names) };
}

const operations = {
	load,
	search: ({ text }) => search(shown.tree, shown.names, text),
	sandwich: ({ name }) => sandwich(shown.tree, name),
};

self.addEventListener("message", async ({ data }) => {
	try {
		self.postMessage({ id: data.id, ...await operations[data.op](data) });
	} catch (problem) {
		const { message: error, status = null, other, waiting } = problem;
		self.postMessage({ id: data.id, error, status, other, waiting });
	}
});
