"""A sampler behind correlation keeps all of a process's spans of a linked trace, in whichever
requests they come."""
import time

import clients
import harness
import rig
import uploads

CONFIG = """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{http}"}}}}}}
  pyroscope: {{endpoint: "127.0.0.1:{ingest}"}}
processors:
  correlation: {{hold: 4s}}
  probabilistic_sampler: {{sampling_percentage: {share}, keep_linked: {linked}}}
  batch: {{timeout: 50ms}}
exporters:
  otlp_http: {{endpoint: "http://{sink}"}}
  pyroscope: {{endpoint: "http://{sink}"}}
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [correlation, probabilistic_sampler, batch]
      exporters: [otlp_http]
    profiles: {{receivers: [pyroscope], processors: [correlation], exporters: [pyroscope]}}
"""


class Trace:
    """A local root with a child, each in a request of its own, the child first."""

    def __init__(self):
        self.root, self.child, self.late = (clients.new_span_id() for _ in range(3))

    def request(self, span, parent=None):
        now = time.time_ns()
        body = uploads.trace_request("shop", [(self.root * 2, span, now - 10**6, now, False)],
                                     parent=parent)
        return clients.Request("traces", body, [f"span {span}"])

    def keys(self):
        return [f"span {each}" for each in (self.root, self.child, self.late)]


class Sidecar(rig.Sidecar):
    def __init__(self, folder, sink):
        super().__init__(folder, sink)
        self.sink = sink

    def configure(self, share, linked):
        self.config.write_text(CONFIG.format(http=self.http, ingest=self.ingest, share=share,
                                             linked=linked, sink=self.sink.http))

    def up(self, share=0, linked="true"):
        self.configure(share, linked)
        self.launch().program.wait_ports(self.http, self.ingest)
        return self

    def send(self, request):
        port = self.http if request.signal == "traces" else self.ingest
        client = clients.HttpClient(port)
        assert client.send(request)[0] == clients.TAKEN
        client.close()


def test_the_spans_of_a_linked_trace_are_kept_and_no_others(tmp_path, sink):
    sidecar = Sidecar(tmp_path, sink).up()
    linked, other = [Trace() for _ in range(20)], [Trace() for _ in range(20)]
    sidecar.send(clients.push("shop"))
    for trace in linked + other:
        sidecar.send(trace.request(trace.child, trace.root))
    for trace in linked + other:
        sidecar.send(trace.request(trace.root))
    sidecar.send(clients.push("shop", [trace.root for trace in linked]))
    sink.wait_for([key for trace in linked for key in trace.keys()[:2]])
    for trace in linked + other:
        sidecar.send(trace.request(trace.late, trace.child))
    sink.wait_for([key for trace in linked for key in trace.keys()])
    assert sidecar.stop() == 0, sidecar.program.tail()
    assert all(sink.copies[key] == 1 for trace in linked for key in trace.keys())
    assert not any(sink.copies[key] for trace in other for key in trace.keys())


def test_a_reload_that_adds_it_makes_children_wait(tmp_path, sink):
    sidecar = Sidecar(tmp_path, sink).up(share=100, linked="false")
    sidecar.send(clients.push("shop"))
    before, after = Trace(), Trace()
    sidecar.send(before.request(before.child, before.root))
    sink.wait_for([before.keys()[1]], 2)
    sidecar.configure(0, "true")
    reload_done = sidecar.log().count("reloaded")
    sidecar.program.process.send_signal(1)
    assert harness.wait_for(lambda: sidecar.log().count("reloaded") > reload_done, 20), (
        sidecar.log())
    sidecar.send(after.request(after.child, after.root))
    sidecar.send(after.request(after.root))
    sidecar.send(clients.push("shop", [after.root]))
    sink.wait_for(after.keys()[:2])
    assert sidecar.stop() == 0, sidecar.program.tail()
    assert [sink.copies[key] for key in after.keys()] == [1, 1, 0]
