"""Processes whose spans and profiles go through Kafka, and what their links must be."""
import random
import threading
import time

import requests

import harness
import uploads

NS = 10**9
UPLOAD = 0.2        # how long after its window a profile is sent
# So long after its window, correlation awaits a profile unless others were later. Spans of one that
# comes still later may have been given up, which is right.
AWAITED = 2


class Fleet:
    """What `processes` of two services write in `seconds` from `start` on (unix s): each second a
    request of spans that ended, and at the end of each window a profile with samples of a third of
    the spans that ran in it. SDKs mark all spans.

    events: (unix s, process, signal, body), in the order of time. truth: numbers of the spans with
    samples; numbers: of all, from `first` on; ends: when the last ones end (unix s). late: for each
    process, how long after the end of each window its profile was accepted (s)."""

    def __init__(self, start, seconds, processes=4, window=10, rate=20, first=1, seed=1):
        self.events, self.truth, self.window, self.processes = [], set(), window, processes
        self.threads, self.stopping = [], threading.Event()
        self.random, self.number = random.Random(seed), first
        self.sampled, self.late = {}, [[] for _ in range(processes)]    # number: process, window
        for process in range(processes):
            self.process(process, start + self.random.random(), seconds, rate)
        self.numbers, self.ends = range(first, self.number), start + seconds
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
                # Spans that ended in the last window have no sample of one that is not written.
                begin = max(start, end - self.random.choice((0.01, 0.2, 3)))
                span_id = f"{self.number:016x}"
                spans.append((f"{self.number:032x}", span_id, int(begin * NS), int(end * NS), True))
                if self.random.random() < 1 / 3:
                    at = begin + (end - begin) * self.random.random()
                    window = int((at - start) // self.window)
                    samples.setdefault(window, []).append(span_id)
                    self.sampled[self.number] = process, window
                    self.truth.add(self.number)
                self.number += 1
            self.events.append((start + second + 1.1, process, "traces",
                                uploads.trace_request(self.names(process)[0], spans)))
        for number in range(-(-seconds // self.window)):
            pprof = uploads.Pprof([("cpu", "nanoseconds")]).sample([10**7])
            for span_id in samples.get(number, ()):
                pprof.sample([10**7], span_id=span_id)
            begin = start + number * self.window
            self.events.append((begin + self.window + UPLOAD, process, "profiles", pprof.encode(
                int(begin * NS), self.window * NS)))

    def start(self, send):
        """Calls send(process, signal, body) when the time of each event has come, from a thread for
        each process."""
        def play(process):
            for at, whose, *event in self.events:
                if whose == process:
                    self.stopping.wait(max(0, at - time.time()))
                    send(process, *event)
                    if event[0] == "profiles":
                        self.late[process].append(time.time() - at + UPLOAD)
        self.threads = [threading.Thread(target=play, args=(process,), daemon=True)
                        for process in range(self.processes)]
        for thread in self.threads:
            thread.start()
        return self

    def join(self):
        for thread in self.threads:
            thread.join()

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

    def lateness(self, number):
        """How long after its window the profile with a span's sample was accepted (s)."""
        process, window = self.sampled[number]
        return self.late[process][window] if window < len(self.late[process]) else 0

    def check(self, backend, recall=1.0):
        """Every span has arrived, no link is wrong, and at least so many are there. On a machine
        that is so slow that profiles are late, their spans may be missed, if they are few."""
        expected = set(self.numbers)
        with backend.lock:
            linked, bare = backend.linked & expected, backend.bare & expected
        lost = expected - linked - bare
        assert not lost, f"{len(lost)} of {len(expected)} spans were lost"
        wrong, missed = linked - self.truth, bare & self.truth
        late = {number for number in missed if self.lateness(number) > AWAITED}
        assert len(late) < len(self.truth) / 10, (
            f"{len(late)} spans missed whose profiles were accepted more than {AWAITED} s after "
            f"their windows, by up to {max(map(self.lateness, late)):.1f} s: too many to judge")
        found = 1 - len(missed - late) / len(self.truth)
        print(f"{len(expected)} spans, {len(self.truth)} with samples, recall {found:.4f}; "
              f"{len(late)} more missed, as their profiles were late")
        assert not wrong and found >= recall, (
            f"precision {1 - len(wrong) / max(1, len(linked)):.4f}, recall {found:.4f}: wrong "
            f"{sorted(wrong)[:5]}, missed "
            + str([f"{number}, whose profile came {self.lateness(number):.1f} s after its window"
                   for number in sorted(missed - late)[:5]]))
        assert len(expected) / 5 < len(self.truth) < len(expected) / 2


def to_sidecars(sidecars):
    """A send for start: sidecars have `http` and `ingest`, one for each process. A request that is
    not accepted is sent again, as SDKs do."""
    def accepted(url, body):
        try:
            return requests.post(url, data=body, timeout=30, headers={
                "Content-Type": "application/x-protobuf"}).status_code == 200
        except requests.ConnectionError:
            return False                # it was killed

    def send(process, signal, body):
        sidecar = sidecars[process]
        url = (f"http://127.0.0.1:{sidecar.http}/v1/traces" if signal == "traces" else
               f"http://127.0.0.1:{sidecar.ingest}/ingest?format=pprof&name="
               + Fleet.names(process)[0])
        assert harness.wait_for(lambda: accepted(url, body), 120), f"{url} accepts nothing"
    return send
