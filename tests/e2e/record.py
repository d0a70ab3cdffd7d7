#!/usr/bin/env python3
"""A recording HTTP proxy between an SDK and its server.

As a program, it runs a command with {otlp} and {pyroscope} in its arguments replaced by the
addresses of two proxies, and writes every request to a folder: NNN-<seconds>-<kind>.bin and
index.json, for tests/recorded/play.py. Without a target it answers 200 itself.

    record.py --out DIR -- python rideshare.py --otlp {otlp} --pyroscope {pyroscope}

The tests use only Proxy, to see an SDK's requests and their responses.
"""
import argparse
import dataclasses
import http.client
import http.server
import json
import pathlib
import subprocess
import sys
import threading
import time
import urllib.parse

KEPT = ("content-type", "content-encoding", "user-agent", "x-scope-orgid")
OF_THE_HOP = ("host", "connection", "transfer-encoding", "content-length", "expect")
KINDS = {"/v1/traces": "traces", "/push.v1.PusherService/Push": "push", "/ingest": "ingest"}


@dataclasses.dataclass
class Exchange:
    arrived: int         # unix nanoseconds
    method: str
    path: str
    headers: dict
    body: bytes
    status: int
    profiles: list | None = None        # as read by wire.py from the body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def read_body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def forward(self, body):
        """Status, headers and body of the target's response, or of our own."""
        target = self.server.target
        if target is None:
            return 200, {"Content-Type": self.headers.get("Content-Type", "text/plain")}, b""
        link = http.client.HTTPConnection(target.hostname, target.port, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in OF_THE_HOP}
        try:
            link.request(self.command, self.path, body, headers)
            answer = link.getresponse()
            kept = {k: v for k, v in answer.getheaders() if k.lower() not in OF_THE_HOP}
            return answer.status, kept, answer.read()
        except OSError as problem:
            return 502, {"Content-Type": "text/plain"}, str(problem).encode()
        finally:
            link.close()

    def do_POST(self):
        arrived, body = time.time_ns(), self.read_body()
        status, headers, answer = self.forward(body)
        self.server.keep(Exchange(arrived, self.command, self.path,
                                  {k.lower(): v for k, v in self.headers.items()}, body, status))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    do_GET = do_POST

    def log_message(self, *_):
        pass


class Proxy(http.server.ThreadingHTTPServer):
    """Forwards to a base URL and records every exchange once it is answered."""
    daemon_threads = True

    def __init__(self, target=None):
        super().__init__(("127.0.0.1", 0), Handler)
        self.target = urllib.parse.urlsplit(target) if target else None
        self.exchanges = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def keep(self, exchange):
        with self.lock:
            self.exchanges.append(exchange)

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"

    def close(self):
        self.shutdown()
        self.server_close()


def write(folder, started, exchanges):
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.bin"):
        old.unlink()
    requests = []
    for number, e in enumerate(sorted(exchanges, key=lambda e: e.arrived), 1):
        offset = round((e.arrived - started) / 1e9, 3)
        kind = KINDS.get(e.path.partition("?")[0], "other")
        name = f"{number:03}-{offset:.3f}-{kind}.bin"
        (folder / name).write_bytes(e.body)
        headers = {k: v for k, v in e.headers.items() if k in KEPT}
        requests.append({"offset": offset, "method": e.method, "path": e.path,
                         "headers": headers, "file": name})
    index = {"recorded_unix_nano": started, "requests": requests}
    (folder / "index.json").write_text(json.dumps(index, indent=1) + "\n")
    return sum(len(e.body) for e in exchanges)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--otlp-target")
    parser.add_argument("--pyroscope-target")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    otlp, profiles = Proxy(options.otlp_target), Proxy(options.pyroscope_target)
    started = time.time_ns()
    code = subprocess.call([a.format(otlp=otlp.url, pyroscope=profiles.url)
                            for a in options.command])
    size = write(options.out, started, otlp.exchanges + profiles.exchanges)
    print(f"{len(otlp.exchanges)} OTLP and {len(profiles.exchanges)} profile requests, "
          f"{size} bytes of bodies in {options.out}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
