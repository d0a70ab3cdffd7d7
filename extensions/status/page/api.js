/* Requests to the API, and whether spanlink responds. */

/**
 * message: a sentence to show; status: of HTTP, 0 without a response; waiting: spans that are held.
 */
class ApiError extends Error {
	constructor(status, sentence, waiting) {
		super(sentence);
		Object.assign(this, { status, waiting });
	}
}

/**
 * Dispatches "up", "down", "restart" and "reload". lost: the last request failed; waiting: spans held.
 */
export const connection = Object.assign(new EventTarget(), { lost: false, waiting: 0 });

function setLost(lost) {
	if (connection.lost === lost) return;
	connection.lost = lost;
	connection.dispatchEvent(new Event(lost ? "down" : "up"));
}

/** Formats "/api/x?a=b"; empty parameters are left out, but not an empty name, which spans can have. */
export function url(path, params = {}) {
	const query = new URLSearchParams();
	for (const [key, value] of Object.entries(params)) {
		if (value !== undefined && value !== null && (value !== "" || key === "name")) query.set(key, value);
	}
	const text = query.toString();
	return text ? `${path}?${text}` : path;
}

async function failure(answer) {
	const { error, waiting } = await answer.json().catch(() => ({}));
	return new ApiError(answer.status, typeof error === "string" ? error
		: answer.status === 401 ? "The browser sent no valid credentials."
			: `spanlink responded with ${answer.status} ${answer.statusText}.`, waiting);
}

/* ms, for the first byte of a response */
const PATIENCE = 10_000;

/* As fetch, but gives up on a process that stands still. */
async function patient(address, { signal, ...options }) {
	const giveUp = new AbortController();
	const timer = setTimeout(() => giveUp.abort(new Error("late")), PATIENCE);
	const end = () => giveUp.abort(signal.reason);
	signal?.addEventListener("abort", end, { signal: giveUp.signal });
	if (signal?.aborted) end();
	try {
		return await fetch(address, { ...options, signal: giveUp.signal });
	} finally {
		clearTimeout(timer);
	}
}

/* After a reload, each connection of the browser is answered once by what was before it. */
async function fetched(address, options) {
	for (let tries = 9; ; tries--) {
		const answer = await patient(address, options);
		if (answer.status !== 503 || tries === 0) return answer;
		const { error } = await answer.clone().json().catch(() => ({}));
		if (!/was reloaded/.test(error)) return answer;
		connection.dispatchEvent(new Event("reload"));
		await new Promise((resolve) => { setTimeout(resolve, 100); });
	}
}

/** Returns the JSON of a response. Throws ApiError, or AbortError after the signal. */
export async function get(path, params, signal) {
	let answer;
	try {
		answer = await fetched(url(path, params), { signal, headers: { Accept: "application/json" } });
	} catch (problem) {
		if (problem.name === "AbortError") throw problem;
		setLost(true);
		throw new ApiError(0, `spanlink does not respond on ${location.host}.`);
	}
	setLost(false);
	if (!answer.ok) throw await failure(answer);
	try {
		return await answer.json();
	} catch (problem) {
		if (problem.name === "AbortError") throw problem;
		throw new ApiError(0, "The response was cut short; spanlink may have restarted.");
	}
}

/**
 * Calls work() now and `every` ms after it has ended until the signal aborts, except while the page
 * is hidden. failed() gets what it throws. Returns a function that calls work() at once.
 */
export function poll(work, every, signal, failed = () => {}) {
	let timer = 0;
	let running = false;
	async function turn() {
		clearTimeout(timer);
		if (signal.aborted || running) return;
		running = true;
		try {
			if (!document.hidden) await work();
		} catch (problem) {
			if (problem.name !== "AbortError" && !signal.aborted) failed(problem);
		}
		running = false;
		if (!signal.aborted) timer = setTimeout(turn, every);
	}
	const again = () => turn();
	document.addEventListener("visibilitychange", again, { signal });
	connection.addEventListener("restart", again, { signal });
	signal.addEventListener("abort", () => clearTimeout(timer));
	turn();
	return again;
}

let started = 0;

/** How many columns of `step` ms, the last at `last`, are not before the start; at most `most`. */
export const upTo = (most, last, step) => Math.max(1, Math.min(most, Math.ceil((last - started) / step) + 1));

/** Detects a restart by started_unix_nano in /api/pipelines, given in ms. */
export function noteStart(start) {
	const restarted = started !== 0 && start !== started;
	started = start;
	if (restarted) connection.dispatchEvent(new Event("restart"));
}
