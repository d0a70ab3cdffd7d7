/* Switches views, and shows whether spanlink responds. */
import { connection, get, noteStart, poll } from "./api.js";
import { announce, fill, h } from "./dom.js";
import { duration, millis, plural, problems } from "./format.js";
import { anchor, button, failure, notice, para } from "./parts.js";
import { current, link, note } from "./route.js";

const MODULES = { traces: "./traces.js", trace: "./trace.js", flame: "./flame.js", why: "./why.js",
	cost: "./cost.js", pipeline: "./pipeline.js" };

const main = document.getElementById("main");
/* {name, id, view, scope} */
let shown = null;

function mark(name) {
	const of = name === "trace" ? "traces" : name;
	for (const item of document.querySelectorAll("#views a")) {
		item.ariaCurrent = item.dataset.view === of ? "page" : null;
	}
}

function unknown(name) {
	fill(main, h("h1", "Unknown view"), para(`There is no view "${name}".`),
		para(anchor(link("traces"), "Traces")));
}

async function show() {
	const route = current();
	if (route.view === "traces" && route.id) {
		note(link("trace", route.params, route.id));
		route.view = "trace";
	}
	const first = shown === null;
	mark(route.view);
	if (shown && shown.name === route.view && shown.id === route.id && shown.view) {
		const title = `${shown.title(route)} – spanlink`;
		if (title !== document.title) announce(shown.title(route));
		document.title = title;
		shown.view.update(route);
		return;
	}
	shown?.scope.abort();
	const scope = new AbortController();
	const mine = (shown = { name: route.view, id: route.id, scope, view: null });
	if (!Object.hasOwn(MODULES, route.view)) {
		unknown(route.view);
		return;
	}
	try {
		const module = await import(MODULES[route.view]);
		if (shown !== mine) return;
		mine.title = module.title;
		document.title = `${module.title(route)} – spanlink`;
		main.replaceChildren();
		scrollTo({ top: 0, behavior: "instant" });
		mine.view = new module.View(main, current(), scope.signal);
		if (!first) {
			main.focus({ preventScroll: true });
			announce(module.title(route));
		}
	} catch (problem) {
		if (shown !== mine) return;
		const again = (shown = { ...mine, view: null, id: NaN });
		setTimeout(() => shown === again && show(), 2000);
		fill(main, /import/i.test(problem.message)
			? notice("", "This view is not here yet", para("It is shown when spanlink is back."))
			: failure("This view could not be loaded", problem,
				button("Reload the page", () => location.reload())));
	}
}

function watch() {
	const badge = document.getElementById("process");
	const text = document.getElementById("process-text");
	const banner = document.getElementById("banner");
	const set = (state, words) => {
		badge.dataset.state = state;
		text.textContent = words;
	};
	const forever = new AbortController().signal;
	const ask = poll(async () => {
		const now = await get("/api/pipelines", {}, forever);
		const { version, started_unix_nano, uptime_ns, hold } = now;
		const wrong = problems(now);
		connection.waiting = hold?.spans ?? 0;
		noteStart(millis(started_unix_nano));
		const up = duration(Math.ceil(uptime_ns / 1e9) * 1e9);
		set(wrong.some(({ bad }) => bad) ? "down" : wrong.length > 0 ? "warn" : "up", wrong.length > 0
			? `${plural(wrong.length, "problem")}: see Pipeline` : uptime_ns > 0 ? `${version}, up ${up}` : version);
	}, 3000, forever, (problem) => set("down", problem.status === 0 ? "no response"
		: "status unknown"));
	connection.addEventListener("down", () => {
		set("down", "no response");
		fill(banner, para(`spanlink does not respond on ${location.host}. The page shows what it has, `,
			"and continues when spanlink is back."));
		ask();
	});
	connection.addEventListener("up", () => fill(banner));
	for (const [event, words] of [["restart", "spanlink has restarted; earlier traces are gone. "],
		["reload", "The configuration was reloaded; what was kept before is gone. "]]) {
		connection.addEventListener(event, () => fill(banner,
			para(words, button("Dismiss", () => fill(banner), { class: "small" }))));
	}
}

document.getElementById("skip").addEventListener("click", (event) => {
	event.preventDefault();
	main.focus();
});
addEventListener("hashchange", show);
show();
watch();
