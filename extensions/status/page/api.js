/* Requests to the process that served this page, and whether it answers. */

/** Its message is a sentence for people. status 0: nobody answered. */
class ApiError extends Error {
	constructor(status, sentence) {
		super(sentence);
		this.status = status;
	}
}

/**
 * Dispatches "up", "down" and "restart"; `lost`: nobody answers now; `waiting`: spans that are held.
 */
export const connection = Object.assign(new EventTarget(), { lost: false, waiting: 0 });

function heard(lost) {
	if (connection.lost === lost) return;
	connection.lost = lost;
	connection.dispatchEvent(new Event(lost ? "down" : "up"));
}

/** "/api/x?a=b", without parameters that are empty. */
export function url(path, params = {}) {
	const query = new URLSearchParams();
	for (const [key, value] of Object.entries(params)) {
		if (value !== undefined && value !== null && value !== "") query.set(key, value);
	}
	const text = query.toString();
	return text ? `${path}?${text}` : path;
}

async function sentence(answer) {
	try {
		const body = await answer.json();
		if (typeof body.error === "string") return body.error;
	} catch {
		// No JSON: the status has to do.
	}
	if (answer.status === 401) return "This page wants credentials that the browser did not send.";
	return `The server answered ${answer.status} ${answer.statusText}.`;
}

/** The JSON of an answer. Throws ApiError, or AbortError when the signal says so. */
export async function get(path, params, signal) {
	let answer;
	try {
		answer = await fetch(url(path, params), { signal, headers: { Accept: "application/json" } });
	} catch (problem) {
		if (problem.name === "AbortError") throw problem;
		heard(true);
		throw new ApiError(0, `spanlink does not answer on ${location.host}.`);
	}
	heard(false);
	if (!answer.ok) throw new ApiError(answer.status, await sentence(answer));
	try {
		return await answer.json();
	} catch (problem) {
		if (problem.name === "AbortError") throw problem;
		throw new ApiError(0, "The answer ended early; spanlink may have restarted.");
	}
}

/**
 * Calls work() at once and again some milliseconds after it ended, until the signal aborts; not
 * while the page is hidden. What work() throws goes to failed().
 * @returns {() => void} calls it now
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

/** Notices a restart by the uptime of an answer of /api/pipelines. */
export function heardUptime(uptimeNs) {
	const start = Date.now() - uptimeNs / 1e6;
	const restarted = started !== 0 && start - started > 2000;
	started = start;
	if (restarted) connection.dispatchEvent(new Event("restart"));
}
