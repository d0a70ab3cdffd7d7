/*
 * Fetches profiles and computes their trees. Receives {id, op, ...}, responds with {id, ...} or
 * {id, error, status}.
 */
import { get } from "./api.js";
import { compare, fromAnswer, functions, sandwich, search } from "./flame-layout.js";
import { profileType } from "./format.js";

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

const apart = (problem) => { throw Object.assign(problem, { other: true }); };

/* As the server chooses one: CPU time before wall time. */
const rank = (type) => (type.includes(":cpu:nanoseconds:") ? 0 : type.startsWith("wall:") ? 1
	: type.includes(":samples:count:") ? 3 : 2);

/* Both sides of a comparison, of one type: the chosen one, else the first of which both have samples. */
async function pair(query, against) {
	const both = async (type) => [await graph({ ...query, type }), await graph({ ...against, type }).catch(apart)];
	const first = await both();
	const [here, there] = first.map((answer) => answer.types ?? []);
	if (here.length === 0 || there.length === 0) return [...first, here];
	const shared = here.filter((type) => there.includes(type)).sort((a, b) => rank(a) - rank(b));
	if (shared.length === 0) {
		const [has, other] = [here, there].map((types) => [...new Set(types.map(profileType))].join(", "));
		apart(new Error(`this has ${has}, the other only ${other}`));
	}
	if (shared.includes(query.type)) return [...await both(query.type), shared];
	if (first[0].type === first[1].type) return [...first, shared];
	let made;
	for (const type of shared) {
		const next = await both(type);
		made ??= next;
		if (next.every(({ total }) => total > 0)) return [...next, shared];
	}
	return [...made, shared];
}

const lacks = ({ text, fix }) => [text, fix].filter(Boolean).join(" ");

async function load({ id, query, against, share, mean }) {
	newest = id;
	const [answer, other, types = answer.types ?? []] = against ? await pair(query, against) : [await graph(query)];
	const { unit, type, aggregation } = other && !answer.types?.length ? other : answer;
	const meta = { unit, type, types, last: aggregation === "last", total: answer.total, samples: answer.samples,
		missing: lacks(answer) };
	const times = mean ? 1 / Math.max(1, other.spans) : 1;
	const after = fromAnswer(answer);
	let made = after;
	if (other) {
		meta.before = other.total * times;
		meta.spans = other.spans;
		meta.lacks = lacks(other);
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
