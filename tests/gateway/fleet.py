"""Processes whose spans and profiles go through Kafka, and what their links must be."""
import random
import threading
import time

import requests

import uploads

NS = 10**9


class Fleet:
    """What `processes` of two services write in `seconds` from `start` on (unix s): each second a
    request of spans that ended, and at the end of each window a profile with samples of a third of
    the spans that ran in it. SDKs mark all spans.

    events: (unix s, process, signal, body), in the order of time. truth: numbers of the spans with
    samples; numbers: of all, from `first` on."""

    def __init__(self, start, seconds, processes=4, window=10, rate=20, first=1, seed=1):
        self.events, self.truth, self.window = [], set(), window
        self.random, self.number = random.Random(seed), first
        for process in range(processes):
            self.process(process, start + self.random.random(), seconds, rate)
        self.numbers = range(first, self.number)
        self.events.sort(key=lambda event: event[0])

    @staticmethod
    def names(process):
        return ("shop", "cart")[process % 2], f"pod-{process}"

    def process(self, process, start, seconds, rate):
        samples = {}            # window: ids
        for second in range(seconds):
            spans = []
            for _ in range(rate):
                end = start + second + self.random.random()
                # Spans that ended in the last window have no sample of a window that is not written.
                begin = max(start, end - self.random.choice((0.01, 0.2, 3)))
                span_id = f"{self.number:016x}"
                spans.append((f"{self.number:032x}", span_id, int(begin * NS), int(end * NS), True))
                if self.random.random() < 1 / 3:
                    at = begin + (end - begin) * self.random.random()
                    samples.setdefault(int((at - start) // self.window), []).append(span_id)
                    self.truth.add(self.number)
                self.number += 1
            self.events.append((start + second + 1.1, process, "traces",
                                uploads.trace_request(self.names(process)[0], spans)))
        for number in range(-(-seconds // self.window)):
            pprof = uploads.Pprof([("cpu", "nanoseconds")]).sample([10**7])
            for span_id in samples.get(number, ()):
                pprof.sample([10**7], span_id=span_id)
            begin = start + number * self.window
            self.events.append((begin + self.window + 0.2, process, "profiles", pprof.encode(
                int(begin * NS), self.window * NS)))

    def play(self, send):
        """Calls send(process, signal, body) when the time of each event has come."""
        for at, *event in self.events:
            time.sleep(max(0, at - time.time()))
            send(*event)

    def played(self, send):
        thread = threading.Thread(target=self.play, args=(send,), daemon=True)
        thread.start()
        return thread

    def write(self, producer, spans, profiles):
        """Writes it all at once, each record with its own time."""
        for at, process, signal, body in self.events:
            service, source = self.names(process)
            producer.send(spans if signal == "traces" else profiles, body,
                          key=f"{service}\0{source}".encode(), timestamp=int(at * 1000),
                          headers=None if signal == "traces" else {
                              "spanlink.encoding": b"pprof", "ingest": b"1",
                              "label.__name__": service.encode()})
        producer.flush()

    def check(self, backend):
        """Precision and recall of every copy are 1.000, and every span has arrived."""
        expected = set(self.numbers)
        with backend.lock:
            linked, bare = backend.linked & expected, backend.bare & expected
        lost = expected - linked - bare
        assert not lost, f"{len(lost)} of {len(expected)} spans were lost"
        wrong, missed = linked - self.truth, bare & self.truth
        assert not wrong and not missed, (
            f"precision {1 - len(wrong) / max(1, len(linked)):.3f}, "
            f"recall {1 - len(missed) / len(self.truth):.3f}: "
            f"wrong {sorted(wrong)[:5]}, missed {sorted(missed)[:5]}")
        assert len(expected) / 5 < len(self.truth) < len(expected) / 2


def to_sidecars(sidecars):
    """A send for play: sidecars have `http` and `ingest`, one for each process. A request that is
    not accepted is sent again, as SDKs do."""
    def send(process, signal, body):
        sidecar = sidecars[process]
        url = (f"http://127.0.0.1:{sidecar.http}/v1/traces" if signal == "traces" else
               f"http://127.0.0.1:{sidecar.ingest}/ingest?format=pprof&name="
               + Fleet.names(process)[0])
        while requests.post(url, data=body, timeout=30, headers={
                "Content-Type": "application/x-protobuf"}).status_code != 200:
            time.sleep(0.1)
    return send
