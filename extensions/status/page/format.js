/* Numbers, times and names as people read them. */

const grouped = new Intl.NumberFormat("en-GB");
const clock = new Intl.DateTimeFormat("en-GB", {
	hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3,
});
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

function significant(value) {
	if (value >= 100) return value.toFixed(0);
	return value >= 10 ? trimmed(value.toFixed(1)) : trimmed(value.toFixed(2));
}

function trimmed(text) {
	return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Nanoseconds, as in "12.3 ms". */
export function duration(ns) {
	const value = Math.abs(ns);
	const sign = ns < 0 ? "−" : "";
	if (value === 0) return "0";
	if (value < 1e3) return `${sign}${significant(value)} ns`;
	if (value < 1e6) return `${sign}${significant(value / 1e3)} µs`;
	if (value < 1e9) return `${sign}${significant(value / 1e6)} ms`;
	if (value < 120e9) return `${sign}${significant(value / 1e9)} s`;
	const minutes = value / 60e9;
	if (minutes < 120) return `${sign}${Math.floor(minutes)} min ${Math.round(value / 1e9) % 60} s`;
	return `${sign}${Math.floor(minutes / 60)} h ${Math.floor(minutes) % 60} min`;
}

/** 12,345 */
export function count(value) {
	return grouped.format(Math.round(value ?? 0));
}

/** "1 span", "2 spans" */
export function plural(value, one, many = `${one}s`) {
	return `${count(value)} ${value === 1 ? one : many}`;
}

/** A share of one, as in "12.3 %". */
export function percent(share) {
	if (!Number.isFinite(share)) return "–";
	const value = share * 100;
	if (value === 0) return "0 %";
	if (Math.abs(value) < 0.01) return "< 0.01 %";
	return `${Math.abs(value) >= 10 ? trimmed(value.toFixed(1)) : trimmed(value.toFixed(2))} %`;
}

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
	if (value === 0) return "0";
	return value < 10 ? trimmed(value.toFixed(1)) : count(value);
}

/** A value of a profile in its unit. */
export function inUnit(value, unit) {
	if (unit === "nanoseconds") return duration(value);
	if (unit === "bytes") return bytes(Math.round(value));
	return Number.isInteger(value) ? count(value) : significant(value);
}

/** Milliseconds since 1970 of a string of unix nanoseconds. */
export function millis(unixNano) {
	return Number(BigInt(unixNano) / 1000n) / 1000;
}

/** Nanoseconds from one string of unix nanoseconds to another. */
export function between(from, to) {
	return Number(BigInt(to) - BigInt(from));
}

/** 12:06:14.123 */
export function at(unixNano) {
	return clock.format(millis(unixNano));
}

/** 22 Nov 2026, 12:06:14.123 */
export function dateTime(unixNano) {
	return `${day.format(millis(unixNano))}, ${at(unixNano)}`;
}

/** "4 s ago" */
export function ago(unixNano, now = Date.now()) {
	const seconds = Math.max(0, (now - millis(unixNano)) / 1000);
	if (seconds < 1) return "just now";
	if (seconds < 90) return `${Math.floor(seconds)} s ago`;
	if (seconds < 90 * 60) return `${Math.round(seconds / 60)} min ago`;
	return `${Math.round(seconds / 3600)} h ago`;
}

/** Whether a text is a duration as the server reads it, such as 10ms or 1.5s. */
export function isDuration(text) {
	return /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/.test(text);
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

/** A name that may be empty. */
export function named(text, what = "no name") {
	return text === "" || text === null || text === undefined ? `(${what})` : text;
}

/** A word of the API, such as no_sample, as people write it. */
export const word = (text) => text.replaceAll("_", " ");

/** A hue from 0 to 359 that a name always has. */
export function hue(name) {
	let hash = 2166136261;
	for (let i = 0; i < name.length; i++) {
		hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
	}
	hash ^= hash >>> 15;
	return (Math.imul(hash, 0x9e3779b1) >>> 8) % 360;
}
