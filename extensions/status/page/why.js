/* Explains why a span has a flame graph or not, and shows reasons by service over time. */
import { get, poll, upTo } from "./api.js";
import { columns, fitted, round } from "./chart.js";
import { announce, fill, h, s } from "./dom.js";
import { ago, between, cost, count, cpuTime, dateTime, duration, hue, millis, named, percent, plural,
	problems, profileType, SO_FAR, spanIdOf, traceIdOf, waits, word } from "./format.js";
import { anchor, code, facts, failure, muted, notice, number, para, renewed, serviceOf, swatch, table, troubles,
	who } from "./parts.js";
import { link, note } from "./route.js";
import { firstSteps, waitingSteps } from "./start.js";

export const title = ({ params }) => (params.id ? `Why: span ${params.id}` : "Why");

const THREADS = "If it computes: SDKs label threads, so work in a thread pool or in tasks of asyncio may have no "
	+ "label, or that of another span; docs/sdks.md says how to label it.";

/* of a chart, at least */
const COLUMNS = 24;

/* steps that the API has */
const HISTORY = 40;

const HEADINGS = { linked: "It has a flame graph", not_linked: "It has no flame graph",
	as_came: "It was forwarded unchanged", waiting: "It waits for its samples",
	unknown: "This span is not known" };

/* A linked span has something to do if its link opens nothing. */
function headingOf({ decision, fix, samples, profile_id }) {
	if (decision === "as_came" && profile_id) {
		return "It was forwarded with its SDK's link, which may open nothing";
	}
	if (decision === "linked" && fix) return "It is linked, but its flame graph is hard to find";
	return samples > 0 && ["not_linked", "as_came"].includes(decision)
		? "It has samples, but no link" : HEADINGS[decision] ?? decision;
}

export class View {
	constructor(root, route, signal) {
		Object.assign(this, { root, signal, params: route.params });
		this.input = h("input", { id: "why-id", spellcheck: "false", autocomplete: "off",
			value: route.params.id ?? "", placeholder: "b7ad6b7169203331, or 00-…-b7ad6b7169203331-01",
			oninput: () => spanIdOf(this.input.value) && this.ask() });
		this.answer = h("div", { "aria-live": "polite" });
		this.services = h("div");
		this.trouble = h("div");
		fill(root, h("h1", "Why does my span have no flame graph?"),
			h("form.search", { onsubmit: (event) => { event.preventDefault(); this.ask(); } },
				h("label", { for: "why-id", text: "Span id or traceparent" }),
				h("div.bar", this.input,
					h("button.primary", { type: "submit", text: "Explain" }))),
			this.answer, this.trouble, h("h2", "By service"), this.services);
		if (route.params.id) this.ask();
		poll(() => this.load(), 5000, signal, (problem) => {
			if (!this.text) fill(this.services, failure("The services cannot be shown", problem));
		});
	}

	update(route) {
		this.params = route.params;
		if (this.input.value !== (route.params.id ?? "")) this.input.value = route.params.id ?? "";
		if (this.input.value) this.ask();
		else fill(this.answer);
	}

	async ask() {
		const id = spanIdOf(this.input.value);
		this.question?.abort();
		const question = (this.question = new AbortController());
		this.signal.addEventListener("abort", () => question.abort());
		if (!id) {
			this.input.ariaInvalid = true;
			const trace = traceIdOf(this.input.value);
			fill(this.answer, trace ? notice("error", "This is a trace id", para(
				anchor(link("trace", {}, trace), "Open the trace"),
				", and choose one of its spans.")) : notice("error",
				this.input.value.trim() ? "This is not a span id" : "Enter a span id",
				para("A span id has 16 hex digits. It is the third part of a traceparent.")));
			return;
		}
		this.input.ariaInvalid = null;
		const { id: asked, service, trace_id } = this.params;
		const which = spanIdOf(asked ?? "") === id ? { service, trace_id } : {};
		note(link("why", { id: this.input.value.trim(), ...which }));
		let before = "";
		poll(async () => {
			const span = await get(`/api/spans/${id}`, which, question.signal);
			const text = JSON.stringify(span);
			if (text === before) return;
			before = text;
			this.show(span);
			if (!span.so_far && !["waiting", "unknown"].includes(span.decision)) question.abort();
		}, 2000, question.signal, (problem) => {
			if (before) return;
			fill(this.answer, failure("This span cannot be explained", problem));
		});
	}

	show(span) {
		const kind = { linked: span.fix ? "warn" : "good", waiting: "wait", unknown: "" }[span.decision]
			?? "warn";
		const heading = headingOf(span);
		const view = h("div.timeline");
		const windows = span.windows ?? [];
		const trace = traceIdOf(this.input.value);
		fill(this.answer, h("article", { class: `card why ${kind}` },
			h("h2", heading),
			para(span.service && who(span.service, span.name), " ", code(span.span_id)),
			trace && span.trace_id && trace !== span.trace_id && h("p.badge.warn",
				`Not of the trace of the traceparent: this span is of trace ${span.trace_id}`),
			span.text && h("p.sentence", span.text),
			span.fix ? h("p.fix", h("strong", "What to do: "), span.fix)
				: span.reason === "no_sample" && para(muted(THREADS)),
			h("p.crumbs",
				span.trace_id && anchor(link("trace", { span: span.span_id }, span.trace_id),
					span.reason === "no_local_root" ? "Its local root, in its trace" : "Its trace"),
				(span.decision === "linked" || span.samples > 0) && anchor(link("flame",
					{ span: span.span_id, service: this.params.service }), "Its flame graph")),
			(span.same_id ?? []).length > 0 && para("Spans of this id are also in ",
				span.same_id.flatMap((each) => [h("a", { href: link("why", { id: span.span_id,
					service: each.service, trace_id: each.trace_id }) }, who(each.service, each.name)), " "])),
			span.start_unix_nano && view, span.samples > 0 && windows.length === 0
				&& para(muted("The windows of its samples are too far from it for the picture, or forgotten.")),
			span.windows_of && para("Its samples and the windows in the picture came under the name ", code(span.windows_of), "."),
			span.so_far && h("span.badge.warn", SO_FAR),
			this.facts(span), windows.length > 0 && windowTable(windows)));
		if (span.start_unix_nano) fitted(view, this.signal,
			(width) => fill(view, timeline(span, windows, width)));
		announce(heading);
	}

	facts(span) {
		const { end_unix_nano: end, decided_unix_nano: decided } = span;
		return facts(["Reason", span.reason && word(span.reason)], ["Ended", end && dateTime(end)],
			["Decided", decided && dateTime(decided)],
			["After its end", end && decided && duration(between(end, decided))],
			["Profile id", span.profile_id], ["CPU", span.samples > 0 && cpuTime(span)],
			["Samples", span.samples > 0 && count(span.samples)]);
	}

	async load() {
		const [{ services }, pipelines] = await Promise.all(["/api/services",
			"/api/pipelines"].map((path) => get(path, {}, this.signal)));
		const { components, hold } = pipelines;
		this.hint = components.flatMap(({ id, refusals }) => refusals.filter(({ text }) =>
			/Pyroscope clients/.test(text)).map(({ text }) => `${id} refused profiles, which may be its own: ${text}.`))[0];
		const trouble = h("div", troubles(problems(pipelines)), losses(components));
		if (trouble.textContent !== this.trouble.textContent) fill(this.trouble, trouble);
		const waiting = services.length === 0 && hold?.spans > 0 ? waits(hold) : "";
		const text = JSON.stringify([services, waiting, this.hint, services.some((each) => each.history.length)
			&& Math.floor(Date.now() / 30e3)]);
		if (text === this.text || this.services.contains(document.activeElement)) return;
		this.text = text;
		renewed(this);
		fill(this.services, waiting ? waitingSteps(waiting) : services.length > 0
			? services.map((service) => this.service(service, services)) : firstSteps(this.scope.signal));
	}

	service(service, services) {
		const all = service.linked + service.not_linked;
		const chart = h("div");
		const unmatched = service.profile_services_unmatched ?? [];
		const card = h("article.card.service-card",
			h("h3", swatch(service.service), serviceOf(service, "no service")),
			para(`${count(service.linked)} of ${count(all)} spans linked`,
				all > 0 && ` (${percent(service.linked / all)})`,
				", not counting spans that did not wait", cost(service) > 0 && `; ${cpuTime(service, " CPU")}`),
			unmatched.length > 0 && mismatch(service, unmatched[0], services),
			profiles(service, services, this.hint).map((each) => para(each)), chart, reasons(service));
		if ((service.history ?? []).length > 0) history(chart, service, this.scope.signal);
		return card;
	}
}

const list = (heading, lines) => lines.length > 0
	&& notice("warn", heading, h("ul.plain", lines.map((each) => h("li", each))));

/* What receivers refused, which may be profiles, and what backends refused of them. */
const losses = (components) => [
	list("Requests were refused", components.filter(({ kind }) => kind === "receiver").flatMap(
		({ id, refusals }) => refusals.map((each) =>
			`${id} refused ${plural(each.count, "request")}: ${word(each.cause)}${each.text ? `, the last: ${each.text}` : ""}`))),
	list("Profiles were lost", components.filter(({ kind }) => kind === "exporter").flatMap(
		({ id, counters }) => {
			const lost = Math.max(...["send_failed", "dropped"].map(
				(key) => counters?.[key]?.profile_samples ?? 0));
			return lost > 0 ? [`The backend of ${id} did not get all profiles (${plural(lost, "sample record")} `
				+ "lost): links to these open nothing"] : [];
		}))];

/* When the profiles of a service come, and whether their times are plausible. */
function profiles({ service, profiles: of, has_spans, reasons: why,
	profile_services_unmatched: { length: unmatched } }, services, hint) {
	const spansOf = services.filter((each) => each.profile_services_unmatched.includes(service));
	const late = of.last_end_unix_nano ? between(of.last_end_unix_nano, of.last_unix_nano) : 0;
	const far = of.out_of_reach_ns;
	const wrong = `; it ended ${duration(late)} before it arrived: late, or the clock is wrong`;
	return [of.last_unix_nano && `Last profile ${ago(of.last_unix_nano)}${late > 20e9 ? wrong : ""}.`,
	spansOf.length > 0 && `Its samples name spans of ${spansOf.map((each) => each.service).join(", ")}.`,
	of.linked_out_of_reach > 0 && `The profiles of ${plural(of.linked_out_of_reach, "linked span")} are `
		+ `${duration(Math.abs(far))} ${far < 0 ? "before" : "after"} the span: Grafana asks for 30 s `
		+ "around it and finds nothing. Set the clock.",
	has_spans && !of.last_unix_nano && !unmatched && why.some((each) => each.reason === "not_profiled")
		&& (hint ?? "Why no profile came is not known: there is no profiler, it cannot reach this process, its "
		+ "profiles were refused, or its name is that of no span.")].filter(Boolean);
}

function mismatch({ service, unmatched_fix: fix, profiles: own }, name, services) {
	const last = services.find((each) => each.service === name)?.profiles.last_unix_nano;
	/* The latest profile has the right name. */
	const over = last && own.last_unix_nano && between(last, own.last_unix_nano) > 0;
	return h(`div.notice${over ? "" : ".warn"}`,
		h("h4", `Names that d${over ? "id" : "o"} not match`),
		over ? para("Profiles of ", code(service), " were named ", code(name), `, the last ${ago(last)}. `,
			"They have come under the right name since.")
			: [para("Profiles are named ", code(name), ", but spans ", code(service), "."),
				h("p.fix", h("strong", "What to do: "), fix)]);
}

function reasons(service) {
	if (service.reasons.length === 0) return null;
	return table(`Reasons of ${service.service}`, ["Reason", "Spans", "What it means", "What to do"],
		service.reasons.toSorted((a, b) => b.count - a.count).map((each) => [
			[h("i.dotted", { style: { background: tone(each.reason) } }), word(each.reason)],
			number(count(each.count)), each.text ?? "", each.fix ?? (each.reason === "no_sample" ? THREADS : "–")]),
	{ class: "scroll reasons" });
}

/* A span without a sample is no problem: grey. */
function tone(reason) {
	return `var(--series-${reason === "no_sample" ? 0 : 2 + (hue(reason) % 6)})`;
}

function history(host, { service, history: steps }, signal) {
	const begins = steps.map((each) => millis(each.from_unix_nano));
	const step = millis(steps[0].to_unix_nano) - begins[0];
	/* Until now, but the clock of the browser may be ahead. */
	const last = Math.max(begins.at(-1), Math.min(Math.floor(Date.now() / step) * step,
		begins[0] + (HISTORY - 1) * step));
	const length = Math.max(upTo(COLUMNS, last, step), Math.round((last - begins[0]) / step) + 1);
	const times = Array.from({ length }, (_, i) => last - (length - 1 - i) * step);
	const values = (of) => {
		const at = new Map(steps.map((each, i) => [begins[i], of(each)]));
		return times.map((time) => at.get(time) ?? 0);
	};
	const reasons = [...new Set(steps.flatMap((each) => Object.keys(each.reasons ?? {})))].sort();
	columns(host, { label: `Spans of ${service} over time`, words: count, times,
		series: [{ name: "linked", tone: "var(--good-solid)", values: values((each) => each.linked) },
			...reasons.map((reason) => ({ name: word(reason), tone: tone(reason),
				values: values((each) => each.reasons[reason] ?? 0) }))] }, signal);
}

function windowTable(windows) {
	return h("details", h("summary", `${plural(windows.length, "window")} as a table`),
		table("Windows", ["Type", "From", "To", "Arrived", "Late", "Samples of the span"],
			windows.map((each) => [
			profileType(each.type), dateTime(each.from_unix_nano), dateTime(each.to_unix_nano),
				dateTime(each.arrived_unix_nano),
			number(duration(Math.max(0, between(each.to_unix_nano, each.arrived_unix_nano)))),
				each.holds_samples === null ? "unknown" : each.holds_samples ? "yes" : "no"])));
}

/* Distributes windows over rows without overlap. */
function lanes(windows) {
	const out = [];
	for (const window of windows.toSorted((a, b) => between(b.from_unix_nano, a.from_unix_nano))) {
		const fits = out.find((lane) => lane.type === window.type &&
			BigInt(lane.list.at(-1).to_unix_nano) <= BigInt(window.from_unix_nano) + 1000000n);
		if (fits) fits.list.push(window);
		else out.push({ type: window.type, list: [window] });
	}
	return out;
}

/*
 * Draws the span, below it the windows with the arrival of each, and the decision as a line
 * through all.
 */
function timeline(span, windows, width) {
	const end = span.end_unix_nano ?? span.start_unix_nano;
	const decided = span.decided_unix_nano;
	const marks = [span.start_unix_nano, end, decided, ...windows.flatMap(
		(each) => [each.from_unix_nano, each.to_unix_nano,
			each.arrived_unix_nano])].filter(Boolean).map((t) => between(end, t));
	const [low, high] = [Math.min(...marks), Math.max(...marks, 1e6)];
	const left = width < 560 ? 8 : 110;
	const x = (t) => left + 8 + ((between(end, t) - low) / (high - low || 1)) * (width - left - 60);
	const rows = lanes(windows).slice(0, 10);
	const height = 64 + rows.length * 40 + 30;
	const narrow = left < 100;
	const name = (text, y) => (narrow ? s("text.axis", { x: left, y: y - 16, text })
		: s("text.axis", { x: 4, y: y + 4, text }));
	const out = s("svg", { width, height, role: "img", "aria-label": summary(span, windows) },
		s("line.end", { x1: x(end), x2: x(end), y1: 18, y2: height - 26 }),
		name("span", 40),
		s("rect.span", { x: Math.min(x(span.start_unix_nano), x(end) - 3), y: 30, rx: 2, height: 18,
			width: Math.max(3, x(end) - x(span.start_unix_nano)) }),
		rows.map((lane, i) => lanePicture(lane, 84 + i * 40, x, name)));
	if (decided) {
		const at = x(decided);
		out.append(s("line.decided", { x1: at, x2: at, y1: 18, y2: height - 26 }),
			s("text.decided", { x: at, y: 13, "text-anchor": at > width - 90 ? "end" : at < 50 ? "start" : "middle",
				text: span.decision === "linked" ? "linked" : "decided" }));
	}
	const step = round((high - low) / Math.max(2, Math.floor(width / 130)));
	for (let t = Math.ceil(low / step) * step; t <= high; t += step) {
		out.append(s("text.axis", { x: left + 8 + ((t - low) / (high - low)) * (width - left - 60),
			y: height - 8, "text-anchor": "middle",
			text: t === 0 ? "span end" : `${t > 0 ? "+" : ""}${duration(t)}` }));
	}
	return out;
}

function lanePicture({ type, list }, y, x, name) {
	return [name(profileType(type), y), list.map((each) => {
		const [from, to, arrived] = [x(each.from_unix_nano), x(each.to_unix_nano),
			x(each.arrived_unix_nano)];
		return [s("rect", { class: each.holds_samples ? "window has" : "window", x: from, y: y - 9,
			rx: 3, height: 18,
			width: Math.max(3, to - from - 1) }),
		s("line.late", { x1: to, x2: arrived, y1: y, y2: y }),
		s("path.arrived", { d: `M${arrived} ${y - 5}l5 9h-10z` })];
	})];
}

function summary(span, windows) {
	const has = windows.filter((each) => each.holds_samples === true).length;
	return `${count(windows.length)} profile windows, ${count(has)} with samples of the span`;
}
