"""wrk and h2load in place of our own load, to check that it is not biased. Both report how many
requests were accepted, and payloads.py knows their spans, so the sink's ids can be checked exactly
here too."""

import json
import math
import pathlib
import re
import subprocess
import tempfile

import drive
import payloads

SCRIPT = pathlib.Path(__file__).with_name("wrk.lua")
WRK, H2LOAD = "/usr/bin/wrk", "/usr/bin/h2load"


def output(argv, core, name):
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          preexec_fn=drive.pinned(core))
    if done.returncode:
        raise drive.Void(f"{argv[0]} on {name} ended with {done.returncode}: {done.stdout.strip()}")
    return done.stdout


class Wrk:
    """HTTP/1.1, the bodies of the pool in turn. wrk does not retry: a refusal voids the round."""

    def __init__(self, core):
        self.core = core

    def run(self, subject, pool, seconds, clients):
        url = f"http://127.0.0.1:{subject.http_port}{drive.HTTP_PATH}"
        out = output([WRK, "-t1", f"-c{clients}", f"-d{math.ceil(seconds) + 2}s", "--timeout", "60s",
                      "-s", str(SCRIPT), url, "--", str(pool.path), str(seconds)],
                     self.core, subject.name)
        said = json.loads(out.splitlines()[-1])
        if said["begun"] != said["answered"] or said["refused"] or said["broken"]:
            raise drive.Void(f"wrk on {subject.name}: {said}")
        return {**said, **payloads.first_requests(pool.path, said["begun"])}


class H2load:
    """gRPC, always the first body of the pool, and an exact number of requests. h2load does not
    read grpc-status; only the sink shows whether a request was accepted."""

    def __init__(self, core):
        self.core = core

    def run(self, subject, pool, requests, clients, streams):
        url = f"http://127.0.0.1:{subject.grpc_port}{drive.GRPC_PATH}"
        items, id_sum, body = next(payloads.records(pool.path))
        with tempfile.TemporaryDirectory() as folder:
            message, log = pathlib.Path(folder, "message"), pathlib.Path(folder, "log")
            message.write_bytes(b"\0" + len(body).to_bytes(4, "big") + body)
            out = output([H2LOAD, f"-n{requests}", f"-c{clients}", f"-m{streams}", f"-d{message}",
                          "-H", "content-type: application/grpc", "-H", "te: trailers",
                          f"--log-file={log}", url], self.core, subject.name)
            times = sorted(int(line.split()[2]) for line in log.read_text().splitlines())
        accepted = int(re.search(r"status codes: (\d+) 2xx", out).group(1))
        if accepted != requests or len(times) != requests:
            raise drive.Void(f"h2load on {subject.name}: of {requests} requests {accepted} with 2xx, "
                             f"{len(times)} in its log")
        finished = re.search(r"finished in ([\d.]+)(us|ms|s|m)", out)
        unit = {"us": 1e-6, "ms": 1e-3, "s": 1, "m": 60}[finished.group(2)]
        return {"items": items * requests, "id_sum": id_sum * requests & payloads.MASK,
                "seconds": float(finished.group(1)) * unit, "p50_us": times[len(times) // 2],
                "p99_us": times[len(times) * 99 // 100]}
