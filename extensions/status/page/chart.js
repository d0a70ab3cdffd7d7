/* SVG charts over time: stacked columns, and sparklines. */
import { announce, fill, h, onResize, s } from "./dom.js";
import { clock } from "./format.js";

/* beside the columns: the values of the lines, and what is left */
const [LEFT, RIGHT] = [60, 4];

/** Calls draw(width) now and whenever the host's width changes. */
export function fitted(host, signal, draw) {
	let last = 0;
	onResize(host, signal, () => {
		const width = Math.floor(host.clientWidth);
		if (width > 0 && width !== last) draw((last = width));
	});
}

/* Rounds up to 1, 2 or 5 times a power of ten. */
export function round(value) {
	const power = 10 ** Math.floor(Math.log10(value || 1));
	return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= value);
}

/**
 * Draws stacked columns. Arrow keys read them one by one.
 * @param data.times begin of each column, ms
 * @param {Array<{name: string, tone: string, values: number[]}>} data.series; tone: a CSS colour
 */
export function columns(host, data, signal) {
	host.classList.add("chart");
	const most = round(Math.max(...data.times.map((_, i) => sum(data, i)), 0));
	const read = h("p.reading.muted", { "aria-hidden": "true" });
	const plot = h("div.plot", { tabindex: "0", role: "group",
		"aria-label": `${data.label}. Left and right read the columns.`, onpointermove(event) {
			const box = plot.getBoundingClientRect();
			const i = Math.floor(((event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT)) * data.times.length);
			to(i >= 0 && i < data.times.length ? i : -1);
		}, onpointerleave: () => to(-1), onkeydown(event) {
			const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
			if (!step) return;
			event.preventDefault();
			to(Math.min(data.times.length - 1, Math.max(0,
				at < 0 ? (step > 0 ? 0 : Infinity) : at + step)), true);
		} });
	let at = -1;
	const draw = (width) => fill(plot, picture(data, width, most, at));
	const to = (i, speak) => {
		at = i;
		read.textContent = i < 0 ? "\u00a0" : reading(data, i);
		for (const [n, column] of plot.querySelectorAll(".column").entries()) {
			column.classList.toggle("at", n === i);
		}
		if (speak && i >= 0) announce(read.textContent);
	};
	fill(host, h("ul.legend", data.series.map((series) => h("li", {},
		h("i", { style: { background: series.tone } }), series.name))), plot, read);
	to(-1);
	fitted(plot, signal, draw);
}

function sum({ series }, i) {
	return series.reduce((total, each) => total + (each.values[i] ?? 0), 0);
}

function reading(data, i) {
	const parts = data.series.filter((each) => each.values[i] > 0).toReversed().slice(0, 8)
		.map((each) => `${each.name} ${data.words(each.values[i])}`);
	return `${clock(data.times[i])}: ${parts.join(", ") || "nothing"}`;
}

function picture({ times, series, words }, width, most, at) {
	const height = 150;
	const step = (width - LEFT - RIGHT) / Math.max(1, times.length);
	const y = (value) => (height * value) / (most || 1);
	const grid = (make) => s("g.grid", [0.5, 1].map((part) => make(height - height * part, part)));
	const out = s("svg", { width, height: height + 20, "aria-hidden": "true" },
		grid((top) => s("line", { x1: LEFT, x2: width - RIGHT, y1: top + 0.5, y2: top + 0.5 })));
	times.forEach((_, i) => {
		let top = height;
		out.append(s("g", { class: `column${i === at ? " at" : ""}` },
			s("rect.back", { x: LEFT + i * step, y: 0, width: step, height }),
			series.map((each) => {
				const tall = y(each.values[i] ?? 0);
				top -= tall;
				return tall > 0 && s("rect",
					{ x: LEFT + i * step + 0.5, y: top, width: Math.max(0.5, step - 1), height: tall,
					style: { fill: each.tone } });
			})));
	});
	out.append(grid((top, part) => (part === 1 || words(most * part) !== words(most))
		&& s("text", { x: LEFT - 6, y: top + 9, "text-anchor": "end", text: words(most * part) })));
	const apart = Math.ceil(110 / step);
	for (let i = 0; i < times.length && (i === 0 || LEFT + i * step < width - 64); i += apart) {
		out.append(s("text.axis", { x: LEFT + i * step, y: height + 15, text: clock(times[i]) }));
	}
	return out;
}

export function spark(values, width = 96, height = 22) {
	const most = Math.max(...values, 1e-9);
	const step = width / Math.max(1, values.length - 1);
	const points = values.map((v,
		i) => `${(i * step).toFixed(1)},${(height - 1 - (v / most) * (height - 3)).toFixed(1)}`);
	return s("svg.spark", { width, height, viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true" },
		values.length > 1 && s("polygon",
			{ points: `0,${height} ${points.join(" ")} ${width},${height}` }),
		values.length > 1 && s("polyline", { points: points.join(" ") }));
}
