/* What to do while no trace has arrived. */
import { get, poll } from "./api.js";
import { copyButton, fill, h } from "./dom.js";
import { count, plural } from "./format.js";
import { anchor, code, notice, para, table } from "./parts.js";
import { link } from "./route.js";

function lines(text, label) {
	return h("div.code", h("pre", { text, tabindex: "0", role: "region", "aria-label": label }),
		copyButton(text, `Copy ${label}`));
}

/* The URL of a type of receiver; undefined: none is known. */
function listening(components, type, key) {
	const at = components.filter(({ doc }) => doc === `/docs/receivers/${type}`)
		.flatMap(({ listens }) => listens).find((each) => each.key === key && each.port);
	if (!at) return undefined;
	const host = ["", "0.0.0.0", "::"].includes(at.host) ? location.hostname
		: at.host.includes(":") ? `[${at.host}]` : at.host;
	return `http${at.tls ? "s" : ""}://${host}:${at.port}`;
}

function steps(components) {
	const http = listening(components, "otlp", "protocols.http.endpoint");
	const grpc = !http && listening(components, "otlp", "protocols.grpc.endpoint");
	const profiler = listening(components, "pyroscope", "endpoint");
	const usual = `http://${location.hostname}`;
	const to = profiler ?? `${usual}:4040`;
	const otlp = http ?? (grpc || `${usual}:4318`);
	const names = `PYROSCOPE_APPLICATION_NAME=… PYROSCOPE_SERVER_ADDRESS=${to}`;
	return notice("start", "No trace has arrived yet",
		para("Point an OpenTelemetry SDK at this process, and send the application a request."),
		lines(`export OTEL_EXPORTER_OTLP_ENDPOINT=${otlp}\n` +
			`export OTEL_EXPORTER_OTLP_PROTOCOL=${grpc ? "grpc" : "http/protobuf"}`,
		"settings of the SDK"),
		para("For flame graphs, also start a Pyroscope profiler with span ids. Its application name " +
			"must equal the service.name of the traces."),
		table("Setting of the profiler", ["Language", "Setting"], [
			["Python", code(`pyroscope.configure(application_name="…", server_address="${to}"); tracer_provider.add_span_processor(PyroscopeSpanProcessor())`)],
			["Go", code(`pyroscope.Start(pyroscope.Config{ApplicationName: "…", ServerAddress: "${to}"}); `
				+ "otel.SetTracerProvider(otelpyroscope.NewTracerProvider(tp))")],
			["Node.js, wall time", code(`Pyroscope.init({appName: "…", serverAddress: "${to}"}); Pyroscope.start(); Pyroscope.wrapWithLabels(`
				+ "{span_id: span.spanContext().spanId}, work)")],
			["Java", code(`${names} java -javaagent:pyroscope.jar -javaagent:opentelemetry-javaagent.jar `
				+ "-Dotel.javaagent.extensions=pyroscope-otel.jar")],
			[".NET", code(`${names} with tracing.AddProcessor(new PyroscopeSpanProcessor())`)],
			["Ruby", code(`Pyroscope.configure { |c| c.application_name="…"; c.server_address="${to}" }; Pyroscope.tag_wrapper("span_id"=>span.context.hex_span_id) { … }`)],
			["Rust", code(`PyroscopeAgentBuilder::new("${to}", "…", …); agent.tag_wrapper() sets span_id for a thread`)],
			["eBPF profiler", code(`OTLP to ${otlp}, if the process publishes its trace context`)]]),
		h("p.muted", "This page updates itself."));
}

/* Where the spans went that were received, if any was. */
function lost(components, hold) {
	const spans = ({ counters }, key) => counters?.[key]?.spans ?? 0;
	const received = components.reduce((sum, each) => sum
		+ (each.kind === "receiver" ? spans(each, "accepted") : 0), 0);
	if (hold?.spans > 0 || received === 0) return null;
	return notice("warn", `${plural(received, "span")} received, none shown`,
		h("ul.plain", components.filter((each) => each.kind === "processor" && spans(each, "incoming"))
			.map((each) => h("li", `${each.id}: ${plural(spans(each, "incoming"), "span")} came in, `
				+ `${count(spans(each, "outgoing"))} went out`))),
		para("Spans are shown when they have passed the correlation processor. ",
			anchor(link("pipeline"), "Pipeline")));
}

/** Spans are held, and nothing else is here. */
export const waitingSteps = (text) => notice("", "Spans have arrived and wait for their samples",
	para(text, ". They are shown when these arrive, with most profilers within 30 s. Spans without "
		+ "samples wait longest: up to 90 s in the first minute of a service; without a profiler, 45 s "
		+ "(Node.js: 75 s)."),
	para(anchor(link("pipeline"), "What passes meanwhile")));

/** What to do while no trace is here, with the addresses on which the receivers listen. */
export function firstSteps(signal) {
	const host = h("div");
	const scope = new AbortController();
	signal.addEventListener("abort", () => scope.abort());
	let before = "";
	poll(async () => {
		if (before && !host.isConnected) {
			scope.abort();
			return;
		}
		const { components, hold } = await get("/api/pipelines", {}, scope.signal);
		const made = lost(components, hold) ?? steps(components);
		if (made.textContent !== before) fill(host, made);
		before = made.textContent;
	}, 3000, scope.signal, () => before || fill(host, steps([])));
	return host;
}
