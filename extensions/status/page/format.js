/* Formats numbers, times and names. */

const grouped = new Intl.NumberFormat("en-GB");

/* As in the log: 2026-11-22 12:06:14.123Z */
const utc = (unixMillis) => new Date(unixMillis).toISOString().replace("T", " ");

/* Three digits, without trailing zeros. */
function significant(value) {
	const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
	return String(Number(value.toFixed(digits)));
}

/** Nanoseconds, as in "12.3 ms". */
export function duration(ns) {
	if (ns < 0) return `−${duration(-ns)}`;
	if (ns === 0) return "0";
	if (ns < 1e3) return `${significant(ns)} ns`;
	if (ns < 1e6) return `${significant(ns / 1e3)} µs`;
	if (ns < 1e9) return `${significant(ns / 1e6)} ms`;
	if (ns < 120e9) return `${significant(ns / 1e9)} s`;
	const minutes = Math.floor(ns / 60e9);
	if (minutes < 120) return `${minutes} min ${Math.floor(ns / 1e9) % 60} s`;
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Whether profiles measure no CPU time, but wall time, which includes waiting. */
export const wallOnly = ({ cpu_known, wall_ns }) => cpu_known === false && wall_ns > 0;

/** The CPU time of a span, trace, service or route; else its wall time. */
export function cpuTime(of, unit = "") {
	if (wallOnly(of)) return `wall time only: ${duration(of.wall_ns)}`;
	return of.cpu_ns ? duration(of.cpu_ns) + unit : "–";
}

/** The same in short, as in "3 ms wall". */
export const brief = (of) => (wallOnly(of) ? `${duration(of.wall_ns)} wall` : cpuTime(of));

/** Said of numbers that may grow. */
export const SO_FAR = "So far: the profile that covers its end has not come yet, so more samples may come.";

/** What is compared: CPU time, or else wall time. */
export const cost = (of) => (wallOnly(of) ? of.wall_ns : of.cpu_ns);

/** The largest of them, to divide by: one scale for CPU and wall time. */
export const mostOf = (all) => all.reduce((most, each) => Math.max(most, cost(each)), 1);

/** 12,345 */
export function count(value) {
	return value === null ? "–" : grouped.format(Math.round(value ?? 0));
}

/** "1 span", "2 spans" */
export function plural(value, one, many = `${one}s`) {
	return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share of one, as in "12.3 %". */
export function percent(share) {
	if (!Number.isFinite(share)) return "–";
	return share > 0 && share < 1e-4 ? "< 0.01 %" : `${significant(share * 100)} %`;
}

/**
 * "2 more spans wait for their samples, for up to 38 s more as far as is known", from `waiting` of
 * a response; "": none does.
 */
export function waits({ spans, until_unix_nano: until } = {}, more = "") {
	if (!spans) return "";
	const left = until ? Math.ceil((millis(until) - Date.now()) / 1000) : 0;
	return `${plural(spans, `${more}span`)} ${spans === 1 ? "waits for its" : "wait for their"} samples`
		+ (left > 0 ? `, for up to ${left} s more as far as is known` : "");
}

/** The span id in an id or a traceparent; null: there is none. */
export function spanIdOf(text) {
	const parent = /(?:^|[^0-9a-f])[0-9a-f]{2}-[0-9a-f]{32}-([0-9a-f]{16})(?![0-9a-f])/i.exec(text);
	const alone = parent ?? /^\s*(?:0x)?([0-9a-f]{16})\s*$/i.exec(text);
	return alone ? alone[1].toLowerCase() : null;
}

/** The trace id in an id or a traceparent; null: there is none. */
export const traceIdOf = (text) => /\b[0-9a-f]{32}\b/i.exec(text)?.[0].toLowerCase() ?? null;

export function bytes(value) {
	if (value < 1024) return `${value} B`;
	const units = ["KiB", "MiB", "GiB", "TiB"];
	let unit = -1;
	do {
		value /= 1024;
		unit++;
	} while (value >= 1024 && unit < units.length - 1);
	return `${significant(value)} ${units[unit]}`;
}

/** A rate in a second, as in "1,234" or "0.5". */
export function rate(value) {
	return value < 10 ? String(Number(value.toFixed(1))) : count(value);
}

export function inUnit(value, unit) {
	if (unit === "nanoseconds") return duration(value);
	if (unit === "bytes") return bytes(Math.round(value));
	return Number.isInteger(value) ? count(value) : significant(value);
}

/** Unix milliseconds from a string of unix nanoseconds. */
export function millis(unixNano) {
	return Number(BigInt(unixNano) / 1000n) / 1000;
}

/** Nanoseconds between two strings of unix nanoseconds. */
export function between(from, to) {
	return Number(BigInt(to) - BigInt(from));
}

/** The local root of a span among those of its trace; undefined: it is not here. */
export function localRoot(spans, span) {
	for (let left = spans.length; span && !span.local_root && left > 0; left -= 1) {
		const { parent_span_id: parent, service } = span;
		const all = spans.filter((each) => each.span_id === parent);
		span = all.find((each) => each.service === service) ?? all[0];
	}
	return span?.local_root ? span : undefined;
}

/** Whether a span or trace states no start. */
export const startless = (span) => span.start_unix_nano === "0";

/** 12:06:14Z, from unix milliseconds */
export const clock = (unixMillis) => `${utc(unixMillis).slice(11, 19)}Z`;

/** The same from unix nanoseconds */
export const at = (unixNano) => clock(millis(unixNano));

/** 2026-11-22 12:06:14.123Z */
export const dateTime = (unixNano) => utc(millis(unixNano));

/** "4 s ago"; of a clock that is ahead, "4 min in the future" */
export function ago(unixNano, now = Date.now()) {
	const since = (now - millis(unixNano)) / 1000;
	const seconds = Math.abs(since);
	if (seconds < 1 || (since < 0 && seconds < 5)) return "just now";
	return (seconds < 90 ? `${Math.floor(seconds)} s` : seconds < 90 * 60
		? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`)
		+ (since < 0 ? " in the future" : " ago");
}

/** What is wrong with the process, from /api/pipelines: [{ id, bad, text }]. */
export function problems({ components, trouble, refused_reload: refused }) {
	const concerns = components.filter(({ concern }) => concern).map(({ id, concern: text }) => ({ id, text }));
	const of = ({ id, delivery: to }) => {
		const seconds = (ns) => duration(Math.floor(ns / 1e9) * 1e9);
		const wait = to?.oldest_ns > 10e9 ? `the oldest request has waited ${seconds(to.oldest_ns)}` : "";
		const since = to?.failing_since_unix_nano, again = to?.delivering_since_unix_nano;
		if (since) return [{ id, bad: !again, text: (again
			? `failed from ${at(since)}, delivering again since ${at(again)}`
			: `failing since ${at(since)}`) +
			` (${ago(again ?? since)})${wait && `, ${wait}`}: ${to.error}` }];
		const slow = to?.slow_ns > 0 && `a request took ${duration(to.slow_ns)}`;
		if (!slow && wait && to.retry_ns) return [{ id,
			text: `${wait}, and is tried again in ${seconds(to.retry_ns)}` }];
		return slow || wait ? [{ id, text: `is slow: ${[slow, wait].filter(Boolean).join(", ")}` }] : [];
	};
	/* Of clients that send what is not taken here, and go on. */
	const misled = ({ id, refusals }) => refusals.filter(({ cause, text, last_unix_nano: last }) => text
		&& cause === "unsupported" && Date.now() - millis(last) < 60e3).map(({ count: n, text }) => (
		{ id, text: `refused ${plural(n, "request")}, the last: ${text}` }));
	return [...trouble ? [{ bad: true, text: trouble }] : [], ...components.flatMap(of), ...components.flatMap(misled),
		...concerns, ...refused ? [{ text: `The configuration of ${at(refused.at_unix_nano)} was refused: ` +
			refused.error }] : []];
}

/** Whether the API accepts a text as a duration, such as 10ms or 1.5s. */
export function isDuration(text) {
	const [, number, unit] = /^(\d+(?:\.\d*)?)(ns|us|ms|s|m|h)$/.exec(text) ?? [];
	return number * { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 }[unit] < 9e18;
}

/** "process_cpu:cpu:nanoseconds:cpu:nanoseconds" in words. */
export function profileType(id) {
	const [kind, sample] = (id ?? "").split(":");
	const words = { process_cpu: "CPU", wall: "Wall clock", memory: "Memory", mutex: "Mutex",
		block: "Block", goroutine: "Goroutines" };
	if (kind === "process_cpu" && sample === "cpu") return "CPU time";
	const more = sample && sample !== kind ? `, ${word(sample)}` : "";
	return (words[kind] ?? kind) + more;
}

/** A name that may be empty, or too long to draw. */
export function named(text, what = "no name") {
	return text === "" || text === null || text === undefined ? `(${what})`
		: text.length > 1000 ? `${text.slice(0, 1000)}…` : text;
}

/** A message of the API as a sentence, unless it begins with the name of a parameter. */
export const sentence = (text) => text.replace(/^[a-z](?=[a-z]*\s)/, (c) => c.toUpperCase())
	.replace(/[^.!?]$/, "$&.");

/** "no sample" from no_sample */
export const word = (text) => (text === "no_local_root" ? "not a local root" : text.replaceAll("_", " "));

const HUES = [210, 28, 150, 330, 265, 50, 185, 0, 95, 300];
const hues = new Map();

/** A hue of a service, another one for each as long as there are others. */
export function serviceHue(name) {
	if (!hues.has(name)) {
		let at = hue(name);
		if (hues.size < HUES.length) while ([...hues.values()].includes(HUES[at % HUES.length])) at++;
		hues.set(name, HUES[at % HUES.length]);
	}
	return hues.get(name);
}

/** A hue from 0 to 359, always the same for a name. */
export function hue(name) {
	let hash = 2166136261;
	for (let i = 0; i < name.length; i++) {
		hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
	}
	hash ^= hash >>> 15;
	return (Math.imul(hash, 0x9e3779b1) >>> 8) % 360;
}
