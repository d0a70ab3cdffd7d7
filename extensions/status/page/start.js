/* What a process that has seen nothing yet says: how to send it something. */
import { copyButton, h } from "./dom.js";
import { anchor, notice, para } from "./parts.js";

function lines(text, label) {
	return h("div.code", h("pre", { text, tabindex: "0", role: "region", "aria-label": label }),
		copyButton(text, `Copy ${label}`));
}

/** Addresses are those of the usual configuration on the host of this page. */
export function firstSteps() {
	const host = location.hostname;
	return notice("start", "No trace has come yet",
		para("Point an OpenTelemetry SDK at this process, and make a request to the application."),
		lines(`export OTEL_EXPORTER_OTLP_ENDPOINT=http://${host}:4318\n` +
			"export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "settings of the SDK"),
		para("For flame graphs, start a Pyroscope profiler with span ids in it, too. Its " +
			"application name must equal the service.name of the traces."),
		lines(`export PYROSCOPE_SERVER_ADDRESS=http://${host}:4040`, "setting of the profiler"),
		h("p.muted", "The receivers and their real addresses are in the ",
			anchor("#/pipeline", "pipeline"), ". This list follows by itself."));
}
