/* What to do while no trace has arrived. */
import { get } from "./api.js";
import { copyButton, fill, h } from "./dom.js";
import { notice, para } from "./parts.js";

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
	return [para("Point an OpenTelemetry SDK at this process, and send the application a request."),
		lines(`export OTEL_EXPORTER_OTLP_ENDPOINT=${http ?? (grpc || `${usual}:4318`)}\n` +
			`export OTEL_EXPORTER_OTLP_PROTOCOL=${grpc ? "grpc" : "http/protobuf"}`,
		"settings of the SDK"),
		para("For flame graphs, also start a Pyroscope profiler with span ids. Its application name " +
			"must equal the service.name of the traces."),
		lines(`export PYROSCOPE_SERVER_ADDRESS=${profiler ?? `${usual}:4040`}`,
			"setting of the profiler"),
		h("p.muted", "This page updates itself.")];
}

/** Shows the addresses on which the receivers listen, or the usual ones. */
export function firstSteps() {
	const body = h("div");
	get("/api/pipelines").then(({ components }) => fill(body, steps(components)),
		() => fill(body, steps([])));
	return notice("start", "No trace has arrived yet", body);
}
