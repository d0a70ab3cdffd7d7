#!/usr/bin/env python3
"""Simulates a Ruby service, because the tests install no gems. ../replay/replay.py makes the rides;
this file defines the gems' requests.

--mode processor: pyroscope 0.6.7 with pyroscope-otel 0.1.4, whose span processor labels samples
with `profile_id` and `span`; they go to /ingest. No newer gem pyroscope works with it.
--mode handmade: pyroscope 1.1.1, Push, `Pyroscope.tag_wrapper("span_id" => ...)`.
"""
import gzip
import os
import pathlib
import sys
import time
import urllib.parse
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "replay"))
import pprof  # noqa: E402
import replay  # noqa: E402

SECOND = 10 ** 9
WINDOW = 10                 # a constant of the gems; uploads are aligned to it
PERIOD = SECOND // 100
RUBY = "3.4.9"


class Ruby:
    language = "ruby"
    modes = ["processor", "handmade", "plain"]
    sample_every = 0.01
    otlp_user_agent = f"OTel-OTLP-Exporter-Ruby/0.34.1 Ruby/{RUBY} (x86_64-linux; ruby/{RUBY})"
    otlp_gzip = True
    heavy = (("match_drivers", "app/drivers.rb", 12),
             ("block in find_nearest_vehicle", "app/rides.rb", 41),
             ("in_span", "gems/opentelemetry-api-1.7.0/lib/opentelemetry/trace/tracer.rb", 37),
             ("find_nearest_vehicle", "app/rides.rb", 38),
             ("call", "app/server.rb", 20))
    waiting = (("select [c function]", "(unknown)", 0), ("run", "app/server.rb", 9))

    # All processes have the same windows: without a unique label, two processes would send profiles
    # with the same labels and time, of which a server keeps only one.
    tags = {"region": "eu-north", "process": str(os.getpid())}

    def configure(self, options):
        self.mode, self.service, self.pyroscope = options.mode, options.service, options.pyroscope
        self.upload = self.ingest if self.mode == "processor" else self.push
        self.resource = {
            "service.name": self.service, "process.pid": os.getpid(),
            "process.command": "app/server.rb", "process.runtime.name": "ruby",
            "process.runtime.version": RUBY, "telemetry.sdk.name": "opentelemetry",
            "telemetry.sdk.language": "ruby", "telemetry.sdk.version": "1.11.0"}

    def serialize(self, request):
        return request.SerializeToString()

    def on_start(self, span, _parent):
        if not span.local_root:
            return
        span_id = span.span_id.hex()
        if self.mode == "processor":
            span.labels.update({"profile_id": span_id, "span": span.name})
            now = int(time.time())
            span.attributes["pyroscope.profile.id"] = span_id
            span.attributes["pyroscope.profile.url"] = self.pyroscope + "?" + (
                urllib.parse.urlencode({"query": f'{self.service}{{profile_id="{span_id}"}}',
                                        "from": now, "until": now + 3600}))
        elif self.mode == "handmade":
            span.labels["span_id"] = span_id

    def on_end(self, span, _parent):
        if span.local_root:
            span.labels.clear()

    def next_upload(self, started):
        return (started // WINDOW + 1) * WINDOW + 0.005

    def uploads(self, samples, _start, end, last):
        """A window is always its full ten seconds: the last one of a process ends in the future."""
        until = end // SECOND // WINDOW * WINDOW + (WINDOW if last else 0)
        profile = pprof.Pprof([("cpu", "nanoseconds")])
        for sample in samples:
            labels = dict(sample.labels)
            if self.mode == "processor":
                labels.update(self.tags)    # 0.6.7 sends them there
            profile.add(sample.frames, [PERIOD], labels)
        body = profile.encode((until - WINDOW) * SECOND, WINDOW * SECOND, PERIOD)
        return self.upload(body, until, bool(samples))

    def ingest(self, profile, until, any_sample):
        if not any_sample:
            return
        query = urllib.parse.urlencode({
            "name": self.service, "from": until - WINDOW, "until": until, "format": "pprof",
            "sampleRate": 100, "spyName": "rbspy"})
        yield "/ingest?" + query, {"Content-Type": "binary/octet-stream",
                                   "Content-Encoding": "gzip", "Accept": "*/*"}, (
            gzip.compress(profile))

    def push(self, profile, _until, _any_sample):
        labels = [("__name__", "process_cpu"), *self.tags.items(),
                  ("service_name", self.service), ("otel.scope.name", "com.grafana.pyroscope/ruby"),
                  ("otel.scope.version", "1.1.1"), ("process.runtime.name", "ruby"),
                  ("process.runtime.version", RUBY)]
        yield "/push.v1.PusherService/Push", {
            "User-Agent": "pyroscope-rs/rbspy/1.1.1 reqwest", "Content-Type": "application/proto",
            "Content-Encoding": "gzip", "Accept": "*/*"}, (
            gzip.compress(pprof.push_request(labels, profile, str(uuid.uuid4()))))


if __name__ == "__main__":
    sys.exit(replay.main(Ruby))
