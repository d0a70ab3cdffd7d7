// A small ride-sharing service that traces, logs, counts and profiles itself and is its own load.
// What it does and reports, and its arguments, are in ../README.md.
//
// Pyroscope's Node.js SDK has no span processor: --mode handmade labels the work of a ride with the
// id of the ride's span, --mode plain labels nothing.
import { randomBytes, randomUUID } from 'node:crypto';
import { renameSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

import { context, logs, metrics, propagation, SpanKind, trace } from '@opentelemetry/api';
import { OTLPLogExporter as GrpcLogs } from '@opentelemetry/exporter-logs-otlp-grpc';
import { OTLPLogExporter as HttpLogs } from '@opentelemetry/exporter-logs-otlp-proto';
import { OTLPMetricExporter as GrpcMetrics } from '@opentelemetry/exporter-metrics-otlp-grpc';
import { OTLPMetricExporter as HttpMetrics } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter as GrpcTraces } from '@opentelemetry/exporter-trace-otlp-grpc';
import { OTLPTraceExporter as HttpTraces } from '@opentelemetry/exporter-trace-otlp-proto';
import { BatchLogRecordProcessor } from '@opentelemetry/sdk-logs';
import { PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace';
import Pyroscope from '@pyroscope/nodejs';

const HEAVY_SHARE = 0.25;
const REMOTE_SHARE = 0.25;

const { values: options } = parseArgs({
  options: {
    service: { type: 'string', default: 'rideshare-node' },
    mode: { type: 'string', default: 'handmade' },
    protocol: { type: 'string', default: 'http' },
    otlp: { type: 'string', default: 'http://127.0.0.1:4318' },
    pyroscope: { type: 'string', default: 'http://127.0.0.1:4040' },
    seconds: { type: 'string', default: '20' },
    workers: { type: 'string', default: '3' },
    report: { type: 'string', default: '-' },
    'upload-seconds': { type: 'string', default: '60' },
  },
});
for (const [name, known] of [['mode', ['handmade', 'plain']], ['protocol', ['http', 'grpc']]]) {
  if (!known.includes(options[name])) {
    console.error(`rideshare-node: --${name} is ${known.join(' or ')}, not ${options[name]}`);
    process.exit(2);
  }
}

const made = { spans: [], logs: [] };
const acknowledged = { spans: new Set(), logs: new Set() };
const rides = { asked: 0, exported: 0 };

const nanoseconds = ([seconds, rest]) => BigInt(seconds) * 1_000_000_000n + BigInt(rest);

// A span processor and a log record processor: remembers whatever was made.
const remember = {
  onStart() {},
  onEnd(span) {
    const { spanId, traceId } = span.spanContext();
    const parent = span.parentSpanContext;
    made.spans.push({
      span_id: spanId,
      trace_id: traceId,
      parent: parent?.spanId ?? '',
      local_root: !parent || parent.isRemote === true,
      name: span.name,
      start: JSON.rawJSON(nanoseconds(span.startTime)),
      end: JSON.rawJSON(nanoseconds(span.endTime)),
    });
  },
  onEmit(record) {
    const { spanId = '', traceId = '' } = record.spanContext ?? {};
    made.logs.push({ id: record.body, trace_id: traceId, span_id: spanId });
  },
  async forceFlush() {},
  async shutdown() {},
};

// The real exporter, with a note of what it said.
function noting(exporter, note) {
  const real = exporter.export.bind(exporter);
  exporter.export = (items, done) => real(items, (result) => {
    note(items, result.code === 0);
    done(result);
  });
  return exporter;
}

function noteSpans(spans, success) {
  if (success) spans.forEach((span) => acknowledged.spans.add(span.spanContext().spanId));
}

function noteLogs(records, success) {
  if (success) records.forEach((record) => acknowledged.logs.add(record.body));
}

function noteMetrics({ scopeMetrics }, success) {
  const points = scopeMetrics.flatMap((scope) => scope.metrics)
    .filter((metric) => metric.descriptor.name === 'rides')
    .flatMap((metric) => metric.dataPoints);
  rides.exported = success ? points.reduce((sum, point) => sum + point.value, 0) : -1;
}

function startTelemetry() {
  const [Traces, Logs, Metrics] = options.protocol === 'grpc'
    ? [GrpcTraces, GrpcLogs, GrpcMetrics] : [HttpTraces, HttpLogs, HttpMetrics];
  const to = (path) => ({ url: options.otlp + (options.protocol === 'grpc' ? '' : path) });
  const sdk = new NodeSDK({
    serviceName: options.service,
    spanProcessors: [remember,
      new BatchSpanProcessor({ exporter: noting(new Traces(to('/v1/traces')), noteSpans) })],
    logRecordProcessors: [remember,
      new BatchLogRecordProcessor({ exporter: noting(new Logs(to('/v1/logs')), noteLogs) })],
    metricReaders: [new PeriodicExportingMetricReader({
      exporter: noting(new Metrics(to('/v1/metrics')), noteMetrics),
      exportIntervalMillis: 2000,
      exportTimeoutMillis: 2000,
    })],
  });
  sdk.start();
  return sdk;
}

function startProfiler() {
  Pyroscope.init({
    appName: options.service,
    serverAddress: options.pyroscope,
    tags: { region: 'eu-north' },
    flushIntervalMs: Number(options['upload-seconds']) * 1000,
  });
  Pyroscope.start();
}

// Burns CPU in a function of its own, so that a flame graph has a name to show.
function matchDrivers(seconds) {
  const until = performance.now() + seconds * 1000;
  let total = 0;
  while (performance.now() < until) {
    for (let i = 0; i < 20000; i++) total += Math.sqrt(i);
  }
  return total;
}

// Labels belong to what runs until wrapWithLabels returns: work that awaits nothing.
function labelled(spanId, work) {
  if (options.mode === 'handmade') Pyroscope.wrapWithLabels({ span_id: spanId }, work);
  else work();
}

async function order(tracer, vehicle, ride) {
  await tracer.startActiveSpan('find_nearest_vehicle', async (span) => {
    span.setAttribute('vehicle', vehicle);
    if (Math.random() < HEAVY_SHARE) {
      labelled(ride, () => matchDrivers(0.1 + 0.9 * Math.random() ** 3));
    } else {
      await sleep(20 + 100 * Math.random());
    }
    span.end();
  });
  if (vehicle === 'car') {
    await tracer.startActiveSpan('check_driver_availability', async (span) => {
      span.addEvent('asked', { drivers: 3 });
      await sleep(10);
      span.end();
    });
  }
}

function serve() {
  const tracer = trace.getTracer('rideshare');
  const logger = logs.getLogger('rideshare');
  const counter = metrics.getMeter('rideshare').createCounter('rides');
  const server = http.createServer((request, response) => {
    const parent = propagation.extract(context.active(), request.headers);
    const vehicle = request.url.slice(1);
    const kind = { kind: SpanKind.SERVER };
    tracer.startActiveSpan(`GET /${vehicle}`, kind, parent, async (span) => {
      logger.emit({ body: `ride ${randomUUID()}`, severityText: 'INFO' });
      counter.add(1, { vehicle });
      rides.asked++;
      await order(tracer, vehicle, span.spanContext().spanId);
      span.end();
      response.end('ride ordered\n');
    });
  });
  return new Promise((ready) => server.listen(0, '127.0.0.1', () => ready(server)));
}

async function ask(port, stop) {
  while (!stop.aborted) {
    const headers = {};
    if (Math.random() < REMOTE_SHARE) {
      headers.traceparent =
        `00-${randomBytes(16).toString('hex')}-${randomBytes(8).toString('hex')}-01`;
    }
    const vehicle = ['bike', 'scooter', 'car'][Math.floor(Math.random() * 3)];
    await fetch(`http://127.0.0.1:${port}/${vehicle}`, { headers })
      .then((answer) => answer.text());
    await sleep(50 + 150 * Math.random(), null, { signal: stop }).catch(() => {});
  }
}

function report() {
  for (const span of made.spans) span.acknowledged = acknowledged.spans.has(span.span_id);
  for (const log of made.logs) log.acknowledged = acknowledged.logs.has(log.id);
  const text = JSON.stringify({
    service: options.service,
    language: 'node',
    ...made,
    metrics: { rides: rides.asked, acknowledged: rides.exported === rides.asked },
  });
  if (options.report === '-') {
    console.log(text);
    return;
  }
  writeFileSync(`${options.report}.part`, text);
  renameSync(`${options.report}.part`, options.report);
}

const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());
startProfiler();
const sdk = startTelemetry();
const server = await serve();
setTimeout(() => stop.abort(), Number(options.seconds) * 1000);
const load = Array.from({ length: Number(options.workers) },
  () => ask(server.address().port, stop.signal));
await Promise.all(load);
server.close();
server.closeAllConnections();

await sdk.shutdown().catch((error) => console.error('rideshare-node:', error)); // exports the rest
await Pyroscope.stop(); // sends the last window
report();
process.exit(0);
