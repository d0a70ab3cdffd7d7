// SPDX-License-Identifier: Apache-2.0
// A spanlink of the tests' own, with a status page, on ports that were free a moment ago.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../..");
const BINARY = process.env.SPANLINK_BIN ?? path.join(ROOT, "build/release/spanlink");

/* Held at the same time, so that they differ. */
async function freePorts(count) {
  const servers = Array.from({ length: count },
    () => net.createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => once(server.close(), "close")));
  return ports;
}

/** Tries until work() gives a true value, which it returns; throws what went wrong at last. */
export async function until(work, what, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (let wrong = null; ;) {
    try {
      const value = await work();
      if (value) return value;
    } catch (problem) {
      wrong = problem;
    }
    if (Date.now() > end) throw new Error(`${what} did not happen in ${seconds} s`,
      { cause: wrong });
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Spanlink {
  /**
   * @param {object} [keys] further keys of the status extension, such as "keep_mib: 64", and of
   *     correlation; further processors, and those that spans pass before it; tenants: X-Scope-OrgID of
   *     `headers`, which are those of the traffic, counts
   */
  static async start({ status = "", correlation = "", processors = "", before = "",
    exporter = "", tenants = false } = {}) {
    const self = new Spanlink();
    self.folder = mkdtempSync(path.join(os.tmpdir(), "spanlink-browser-"));
    const [grpc, http, ingest, page] = await freePorts(4);
    const all = tenants ? ", include_metadata: true" : "";
    Object.assign(self, { otlp: `http://127.0.0.1:${http}`, pyroscope: `http://127.0.0.1:${ingest}`,
      url: `http://127.0.0.1:${page}` });
    self.config = path.join(self.folder, "spanlink.yaml");
    writeFileSync(self.config, `
receivers:
  otlp: {protocols: {grpc: {endpoint: "127.0.0.1:${grpc}"${all}}, http: {endpoint: "127.0.0.1:${http}"${all}}}}
  pyroscope: {endpoint: "127.0.0.1:${ingest}"${all}}
processors:
  correlation: {${correlation}}
  ${processors}
exporters:
  file: {path: "${self.folder}/traces.jsonl"}
  ${exporter}
extensions:
  status: {endpoint: "127.0.0.1:${page}"${status && `, ${status}`}}
service:
  extensions: [status]
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [${before}correlation], exporters: [${exporter.split(":")[0] || "file"}]}
    profiles: {receivers: [pyroscope, otlp], processors: [correlation], exporters: [file]}
`);
    await self.run();
    return self;
  }

  async run() {
    this.log = "";
    this.process = spawn(BINARY, ["--config", this.config], { stdio: ["ignore", "pipe", "pipe"] });
    const child = this.process;
    process.once("exit", () => child.kill("SIGKILL"));
    this.process.on("error", (problem) => (this.log += `${BINARY}: ${problem.message}`));
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on("data", (text) => (this.log += text));
    }
    try {
      await until(async () => {
        if (this.process.exitCode !== null) return "ended";
        return (await fetch(`${this.url}/api/traces`)).ok;
      }, "the start of spanlink");
    } catch (problem) {
      throw new Error(`spanlink does not listen:\n${this.log}`, { cause: problem });
    }
    if (this.process.exitCode !== null) throw new Error(`spanlink ended:\n${this.log}`);
  }

  /** Ends the process at once; run() starts it again. */
  async end() {
    if (this.process.exitCode !== null || this.process.signalCode) return;
    this.process.kill("SIGKILL");
    await once(this.process, "exit");
  }

  /** Replaces a text of the configuration and has it read again. */
  async reload(from, to) {
    writeFileSync(this.config, readFileSync(this.config, "utf8").replace(from, to));
    const said = this.log.length;
    this.process.kill("SIGHUP");
    await until(() => this.log.slice(said).includes("reloaded"), "the reload");
  }

  async remove() {
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async api(address) {
    const answer = await fetch(this.url + address);
    const body = await answer.json();
    if (!answer.ok) throw new Error(`${address}: ${answer.status} ${body.error}`);
    return body;
  }

  /** What `spanlink top --once` prints. */
  async top() {
    const child = spawn(BINARY, ["top", "--once", "--endpoint", this.url],
      { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout.on("data", (text) => (out += text));
    await once(child, "close");
    return out;
  }

  /** Plays a recording of tests/recorded as it happened. */
  async play(name) {
    const folder = path.join(ROOT, "tests/recorded");
    const player = spawn("python3", [path.join(folder, "play.py"), path.join(folder, name),
      "--otlp", this.otlp, "--pyroscope", this.pyroscope],
        { stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    player.stdout.on("data", (text) => (out += text));
    const [code] = await once(player, "exit");
    if (code !== 0) throw new Error(`the recording was not taken:\n${out}`);
  }
}
