"""Two exporters with a journal, one of whose backends is down: whatever ends the process, the other
backend gets nothing a second time that it has had for a second."""
import struct

import pytest

import clients
import harness
import rig
import sink as sinks

CONFIG = """\
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:{grpc}"}},
    http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
processors:
  correlation: {{hold: 1s}}
  batch: {{timeout: 50ms, send_batch_size: 20}}
exporters:
  otlp_http: {{endpoint: "http://{up}", {delivery}}}
  otlp_grpc: {{endpoint: "{down}", tls: {{insecure: true}}, {delivery}}}
  pyroscope: {{endpoint: "http://{profiles}"}}
extensions: {{journal: {{directory: "{directory}"}}}}
service:
  shutdown_timeout: 1s
  extensions: [journal]
  pipelines:
    traces: {{receivers: [otlp], processors: [{processors}], exporters: [otlp_http, otlp_grpc]}}
    logs: {{receivers: [otlp], processors: [{others}], exporters: [otlp_http, otlp_grpc]}}
    profiles: {{receivers: [pyroscope], processors: [{profiling}], exporters: [pyroscope]}}
"""
RETRY = "retry_on_failure: {initial_interval: 20ms, max_interval: 100ms, max_elapsed_time: 0s}"
GATHER = ", sending_queue: {batch: {flush_timeout: 50ms, min_size: 20, max_size: 30}}"
OWNER = b"*delivered"


def configure(sidecar, up, down, held, batch, gather):
    processors = ["correlation"] * held + ["batch"] * batch
    sidecar.config.write_text(CONFIG.format(
        grpc=sidecar.grpc, http=sidecar.http, ingest=sidecar.ingest, up=up.http, down=down.grpc,
        profiles=up.http, directory=sidecar.directory, delivery=RETRY + GATHER * gather,
        processors=", ".join(processors), others="batch" * batch,
        profiling="correlation" * held))


def replaced(sidecar, up, down, *processors):
    """A backend that accepts all, in the place of one that is down. It is not the same one: that may
    still have to answer what a killed process had sent."""
    down.close()
    accepting = sinks.Sink()
    configure(sidecar, up, accepting, *processors)
    return accepting


def noted(directory):
    """How many requests the journal's notes say that one backend has."""
    count = 0
    for file in directory.glob("notes-*"):
        content = file.read_bytes()
        at = content.find(OWNER)
        while at >= 0:          # the note's header is 32 bytes, and 9 more come before the owner
            size = struct.unpack_from("<I", content, at - 41 + 24)[0]
            runs = content[at + len(OWNER) + 8:at - 9 + size]
            count += sum(n for _, n in struct.iter_unpack("<QI", runs))
            at = content.find(OWNER, at + 1)
    return count


def send(sidecar, requests):
    client = clients.HttpClient(sidecar.http)
    for request in requests:
        assert client.send(request)[0] == clients.TAKEN
    client.close()
    return [key for request in requests for key in request.keys]


def sampled(sidecar, sink):
    """Makes the service one whose spans wait for samples."""
    client, profile = clients.HttpClient(sidecar.ingest), clients.push("once", ["11" * 8])
    assert client.send(profile)[0] == clients.TAKEN
    client.close()
    assert sink.wait_for(profile.keys)
    return profile.keys


@pytest.mark.parametrize("held, batch, gather", [
    (False, False, False), (True, False, False), (False, True, False), (False, False, True),
    (True, True, True)], ids=["plain", "held", "batch", "gathered", "all"])
def test_a_backend_gets_nothing_again_for_the_outage_of_another(
        tmp_path, sink, soak, figure, held, batch, gather):
    down, keys, count = sinks.Sink(), [], 0
    down.rule = lambda _signal, _keys: 503
    sidecar = rig.Sidecar(tmp_path, sink, journal="")
    configure(sidecar, sink, down, held, batch, gather)
    for end in ("kill", "stop", "kill") * (5 if soak else 1):
        sidecar.start()
        once = sampled(sidecar, sink) if held else []
        requests = [clients.traces("once", marked=held) for _ in range(30)]
        requests += [clients.logs("once") for _ in range(30)]
        keys += send(sidecar, requests)
        count += len(requests)
        assert sink.wait_for(keys), sidecar.program.tail()
        if end == "kill":
            assert harness.wait_for(lambda: noted(sidecar.directory) >= count, 30), \
                (noted(sidecar.directory), count, sidecar.program.tail())
            sidecar.kill()
        else:
            assert sidecar.stop() == 0, sidecar.program.tail()
        assert all(sink.copies[key] == 1 for key in once)
    assert not down.copies
    down = replaced(sidecar, sink, down, held, batch, gather)
    sidecar.start()
    assert down.wait_for(keys), sidecar.explain()
    assert harness.wait_for(lambda: not sidecar.figure(r"journal: (\d+) requests not delivered"),
                            30), sidecar.explain()
    assert sidecar.stop() == 0, sidecar.program.tail()
    twice = {key: n for key, n in sink.copies.items() if n != 1}
    assert twice == {}, f"{len(twice)} of {len(keys)} twice"
    assert {key: n for key, n in down.copies.items() if n != 1} == {}
    figure(f"{len(keys)} items, kill, stop, kill: 0 lost, 0 twice")
    down.close()


def test_what_was_kept_for_an_exporter_that_is_gone_is_named(tmp_path, sink):
    down = sinks.Sink()
    down.rule = lambda _signal, _keys: 503
    sidecar = rig.Sidecar(tmp_path, sink, journal="")
    configure(sidecar, sink, down, False, False, False)
    sidecar.start()
    keys = send(sidecar, [clients.logs("once") for _ in range(5)])
    assert sink.wait_for(keys)
    assert sidecar.stop() == 0, sidecar.program.tail()
    text = sidecar.config.read_text()
    sidecar.config.write_text(text.replace(", otlp_grpc]", "]"))
    sidecar.start()
    assert harness.wait_for(lambda: "5 of them are dropped: they were kept for an exporter that is no longer" in
                            sidecar.program.log.read_text(), 20), sidecar.program.tail()
    assert sidecar.stop() == 3, sidecar.program.tail()
    assert f"journal: {len(keys)} log records acknowledged but not delivered, {len(keys)} no pipeline" in \
        sidecar.program.log.read_text(), sidecar.program.tail()
    assert {key: n for key, n in sink.copies.items() if n != 1} == {}
    down.close()


def test_under_load_only_the_last_seconds_come_again(tmp_path, sink, figure):
    """Kills at any moment: what the other backend gets again is what no note tells of yet."""
    down = sinks.Sink()
    down.rule = lambda _signal, _keys: 503
    sidecar = rig.Sidecar(tmp_path, sink, journal="", queue=100000)
    configure(sidecar, sink, down, True, True, False)
    taken = set()
    for _ in range(3):
        sidecar.start()
        sampled(sidecar, sink)
        early = send(sidecar, [clients.logs("once") for _ in range(20)])
        before = noted(sidecar.directory)
        assert sink.wait_for(early)
        assert harness.wait_for(lambda: noted(sidecar.directory) >= before + 20, 30)
        with clients.Load(sidecar, "once", ("http traces", "http logs", "grpc traces")) as load:
            load.ledger.wait_taken(rig.moment(50, 150))
            sidecar.kill()
        taken |= load.ledger.keys(clients.TAKEN) | set(early)
        assert all(sink.copies[key] == 1 for key in early)
    down = replaced(sidecar, sink, down, True, True, False)
    sidecar.start()
    assert down.wait_for(taken), sidecar.explain()
    assert sink.wait_for(taken), sidecar.explain()
    assert harness.wait_for(lambda: not sidecar.figure(r"journal: (\d+) requests not delivered"),
                            30), sidecar.explain()
    assert sidecar.stop() == 0, sidecar.program.tail()
    twice = sum(n - 1 for key, n in sink.copies.items() if key in taken)
    figure(f"{len(taken)} items taken, 0 lost, {twice} of the last second twice")
    assert max(down.copies.values()) <= 1
    down.close()
