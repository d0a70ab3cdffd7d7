// SPDX-License-Identifier: Apache-2.0
// Spans as OTLP JSON and profiles as pprof, as an application would send them.
import { gzipSync } from "node:zlib";
import { until } from "./spanlink.mjs";

export const NS = 1_000_000_000n;
export const MS = 1_000_000n;
export const now = () => BigInt(Date.now()) * 1_000_000n;

let last = 0x5eed;
/** So many hex digits, other ones at each call, the same in each run. */
export function id(digits) {
  let text = "";
  while (text.length < digits) {
    last = (Math.imul(last, 1664525) + 1013904223) >>> 0;
    text += last.toString(16).padStart(8, "0");
  }
  return text.slice(0, digits);
}

function pairs(all) {
  return Object.entries(all).map(([key, value]) => ({ key,
    value: { stringValue: String(value) } }));
}

/** A span of OTLP JSON; start and end are unix nanoseconds as BigInt. */
export function span({ trace, span: spanId = id(16), parent = "", name, start, end, kind = 2,
  attributes = {},
  events = [], status }) {
  return { traceId: trace, spanId, parentSpanId: parent, name, kind,
    startTimeUnixNano: String(start),
    endTimeUnixNano: String(end), attributes: pairs(attributes), status,
    events: events.map((each) => ({ name: each.name, timeUnixNano: String(each.at),
      attributes: pairs(each.attributes ?? {}) })) };
}

async function taken(answer) {
  if (!answer.ok) throw new Error(`${answer.url}: ${answer.status} ${await answer.text()}`);
}

/** Sends spans of one service, all of one process. */
export async function sendSpans(spanlink, service, spans) {
  const resource = { "service.name": service, "service.instance.id": `${service}-1` };
  await taken(await fetch(`${spanlink.otlp}/v1/traces`, { method: "POST",
    headers: { "Content-Type": "application/json", ...spanlink.headers }, body: JSON.stringify({ resourceSpans: [{
      resource: { attributes: pairs(resource) },
      scopeSpans: [{ scope: { name: "test" }, spans }] }] }) }));
}

function varint(value) {
  let rest = BigInt(value);
  const out = [];
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    out.push(rest > 0n ? low | 128 : low);
  } while (rest > 0n);
  return Buffer.from(out);
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);

function bytes(field, body) {
  return Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);
}

/**
 * A pprof of CPU time, or of another time, such as "wall".
 * @param {Array<{stack: string[], value: number, span?: string}>} samples stacks from the root,
 *     values in nanoseconds
 */
export function pprof(samples, start, end, kind = "cpu") {
  const strings = new Map([["", 0]]);
  const text = (name) => strings.get(name) ?? (strings.set(name, strings.size), strings.size - 1);
  const functions = new Map();
  const place = (name) => functions.get(name) ?? (functions.set(name, functions.size + 1),
    functions.size);
  const type = () => Buffer.concat([number(1, text(kind)), number(2, text("nanoseconds"))]);
  const parts = [bytes(1, type())];
  for (const { stack, value, span: spanId } of samples) {
    const locations = Buffer.concat(stack.toReversed().map((name) => varint(place(name))));
    const label = spanId && bytes(3,
      Buffer.concat([number(1, text("span_id")), number(2, text(spanId))]));
    parts.push(bytes(2, Buffer.concat([bytes(1, locations), bytes(2, varint(value)), label
      || Buffer.alloc(0)])));
  }
  for (const [name, at] of functions) {
    parts.push(bytes(4, Buffer.concat([number(1, at),
      bytes(4, Buffer.concat([number(1, at), number(2, 1)]))])),
      bytes(5, Buffer.concat([number(1, at), number(2, text(name))])));
  }
  const period = type();
  for (const name of strings.keys()) parts.push(bytes(6, Buffer.from(name)));
  parts.push(number(9, start), number(10, end - start), bytes(11, period), number(12, 10_000_000));
  return gzipSync(Buffer.concat(parts));
}

/** Sends a profile of a service by /ingest. */
export async function sendProfile(spanlink, service, samples, start, end, kind = "cpu") {
  const seconds = (ns) => String(ns / NS);
  const query = new URLSearchParams({ name: service, from: seconds(start),
    until: seconds(end + NS - 1n),
    format: "pprof", spyName: "test" });
  await taken(await fetch(`${spanlink.pyroscope}/ingest?${query}`, { method: "POST",
    headers: spanlink.headers, body: pprof(samples, start, end, kind) }));
}

/** Roots of a service, so many, the newest first. */
export async function sendRoots(spanlink, service, names) {
  const end = now();
  const spans = names.map((name, i) => {
    const start = end - BigInt(i + 1) * MS;
    return span({ trace: id(32), name, start, end: start + BigInt(i % 50 + 1) * MS });
  });
  for (let i = 0; i < spans.length; i += 1000) {
    await sendSpans(spanlink, service, spans.slice(i, i + 1000));
  }
  return spans;
}

/** A span whose samples have come. Resolves when it is linked. */
export async function sendLinked(spanlink, service, name, samples) {
  const end = now();
  const root = span({ trace: id(32), name, start: end - MS, end });
  await sendProfile(spanlink, service, samples.map((each) => ({ ...each, span: root.spanId })),
    end - 10n * NS, end);
  await sendSpans(spanlink, service, [root]);
  await until(async () => (await spanlink.api(`/api/spans/${root.spanId}`)).decision === "linked",
    "the link of the span");
  return root;
}
