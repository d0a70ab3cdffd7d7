"""A log pipe whose reader has stalled, as of a log collector that hangs: nothing waits for it."""
import os
import signal

import requests

import clients
import harness
import rig

SENDER = 'exec "$0" --config "$1" 2>"$2"'


class Pipe:
    """A pipe for standard error."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path, self.seen = path, ""
        self.end = os.open(path, os.O_RDWR | os.O_NONBLOCK)

    def fill(self):
        for size in (4096, 1):
            try:
                while True:
                    os.write(self.end, b"x" * size)
            except BlockingIOError:
                pass

    def read(self):
        try:
            while True:
                self.seen += os.read(self.end, 1 << 16).decode()
        except BlockingIOError:
            return self.seen


def launch(sidecar, pipe):
    sidecar.program = harness.Program("spanlink", sidecar.folder, [
        "sh", "-c", SENDER, harness.SPANLINK, sidecar.config, pipe.path])
    return sidecar.program


def send(port, body, path="/v1/traces", kind="x-protobuf"):
    return requests.post(f"http://127.0.0.1:{port}{path}", data=body, timeout=10,
                         headers={"Content-Type": f"application/{kind}"}).status_code


def test_a_log_that_nobody_reads_stops_nothing(tmp_path, sink):
    pipe = Pipe(tmp_path / "log")
    sidecar = rig.Sidecar(tmp_path, sink, protocol="http")
    launch(sidecar, pipe).wait_ports(sidecar.grpc, sidecar.http, sidecar.ingest)
    pipe.fill()
    request = clients.traces("shop")
    assert send(sidecar.http, b"\xff") == 400
    assert send(sidecar.ingest, b"\xff", "/push.v1.PusherService/Push", "proto") == 400
    assert send(sidecar.http, request.body) == 200
    added = harness.free_port()
    sidecar.config.write_text(sidecar.config.read_text().replace(f":{sidecar.http}", f":{added}"))
    sidecar.program.process.send_signal(signal.SIGHUP)
    sidecar.program.wait_ports(added)
    pipe.read()
    sidecar.program.process.send_signal(signal.SIGUSR1)
    assert harness.wait_for(lambda: "memory: " in pipe.read(), 20)
    assert "the log was not read: " in pipe.seen
    pipe.fill()
    assert sidecar.stop() == 0
    assert all(sink.copies[key] == 1 for key in request.keys)


def test_a_configuration_error_ends_the_start_though_nobody_reads_it(tmp_path, sink):
    pipe = Pipe(tmp_path / "log")
    sidecar = rig.Sidecar(tmp_path, sink)
    sidecar.config.write_text(sidecar.config.read_text().replace("otlp:", "no_such:"))
    pipe.fill()
    assert launch(sidecar, pipe).wait(30) == 1


def test_a_configuration_error_is_printed_to_a_pipe(tmp_path, sink):
    pipe = Pipe(tmp_path / "log")
    sidecar = rig.Sidecar(tmp_path, sink)
    sidecar.config.write_text(sidecar.config.read_text().replace("otlp:", "no_such:"))
    assert launch(sidecar, pipe).wait(30) == 1
    assert "no_such" in pipe.read()
