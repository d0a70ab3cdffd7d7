"""The figures, one function each. All are ratios taken in one run: subjects take turns, A B A B."""

import contextlib
import threading
import time
import urllib.request

import drive
import payloads
from subjects import Collector, Dataflow, Nginx, Rotel, Spanlink

CLIENTS = {"http": {"clients": 8}, "grpc": {"clients": 4, "streams": 4}}


def pool(bench, spans, gzip=False):
    if spans not in bench.pools:
        bench.pools[spans] = payloads.write_pools(bench.folder, spans)
    return bench.pools[spans][gzip]


def settle(bench, subjects, requests):
    """Warms every subject up, until nothing is held any more: a service that has not been seen to
    send profiles is waited for once."""
    for subject in subjects:
        before = subject.sink.counts()
        sent = bench.load.run(subject, requests, seconds=1, **CLIENTS[form_of(subject)])
        drive.check(subject.name, drive.drain(subject.sink, before, sent), sent)


def form_of(subject):
    return "grpc" if subject.grpc else "http"


def rounds(bench, subjects, requests, **options):
    """The measurements of each subject, by name, one a round."""
    results = {subject.name: [] for subject in subjects}
    for _ in range(bench.rounds):
        for subject in subjects:
            clients = CLIENTS[form_of(subject)]
            results[subject.name].append(
                drive.measure(bench.load, subject, requests, seconds=bench.seconds,
                              **{**clients, **options}))
    for name, found in results.items():
        middle = sorted(f["us_per_span"] for f in found)[len(found) // 2]
        bench.say(f"  {name}: {middle:.3f} us/span, {found[-1]['spans_per_s']:.0f} spans/s at "
                  f"{found[-1]['busy']:.2f} of a core, p50 {found[-1]['p50_us']:.0f} us, "
                  f"p99 {found[-1]['p99_us']:.0f} us, {found[-1]['bytes_out']:.0f} B/span out")
    return results


def ratios(results, over, under, key="us_per_span"):
    return [a[key] / b[key] for a, b in zip(results[over], results[under])]


@contextlib.contextmanager
def started(*subjects):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(subject) for subject in subjects]


def compared(bench, peers, spans, form="http", gzip=False, own=None, **options):
    own = own or Spanlink(bench, form, gzip)
    requests = pool(bench, spans, gzip)
    with started(own, *(peer(bench, form, gzip) for peer in peers)) as subjects:
        settle(bench, subjects, requests)
        return rounds(bench, subjects, requests, **options)


class Profiles:
    """Sends spanlink a profile a second, whose samples carry the given span ids."""

    def __init__(self, subject, ids, service="checkout"):
        self.subject, self.ids, self.service = subject, ids, service
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def send(self):
        now = int(time.time())
        url = (f"http://127.0.0.1:{self.subject.profile_port}/ingest?name={self.service}.cpu"
               f"&from={now - 1}&until={now}&format=pprof")
        body = payloads.profile(self.ids, now * 10 ** 9)
        request = urllib.request.Request(url, data=body, method="POST", headers={
            "Content-Type": "application/octet-stream"})
        urllib.request.urlopen(request, timeout=10).read()

    def run(self):
        while not self.end.wait(1):
            self.send()

    def __enter__(self):
        self.send()
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.end.set()
        self.thread.join()


def figure_1(bench):
    for spans in (512, 100):
        results = compared(bench, [Collector], spans)
        bench.row("1", f"CPU per span, HTTP none, {spans} a request", "Collector",
                  ratios(results, "Collector", "spanlink"), must=8, aim=12)
    requests = pool(bench, 512)
    with started(Spanlink(bench), Collector(bench)) as (own, peer):
        settle(bench, [own, peer], requests)
        with Profiles(own, requests.roots):
            results = rounds(bench, [own, peer], requests)
    bench.row("1", "the same at 512, a profile a second confirms one span in ten", "Collector",
              ratios(results, "Collector", "spanlink"), must=5, aim=9)


def figure_2(bench):
    for spans in (512, 100):
        results = compared(bench, [Collector], spans, "grpc")
        bench.row("2", f"CPU per span, gRPC none, {spans} a request", "Collector",
                  ratios(results, "Collector", "spanlink"), must=6, aim=10)


def figure_3(bench):
    peers = [Collector] + [Rotel] * bench.has("rotel")
    for form, aim in (("http", 12), ("grpc", 13)):
        for spans in (512, 100):
            results = compared(bench, peers, spans, form, gzip=True)
            case = f"CPU per span, {form.upper().replace('GRPC', 'gRPC')} gzip, {spans} a request"
            bench.row("3", case, "Collector", ratios(results, "Collector", "spanlink"), must=8,
                      aim=aim)
            if "rotel" in results:
                bench.row("3", case, "rotel", ratios(results, "rotel", "spanlink"), must=6, aim=9)


def figure_4(bench):
    for spans in (512, 100, 10):
        results = compared(bench, [Nginx] + [Dataflow] * (bench.has("dataflow") and spans > 10),
                           spans)
        if "dataflow" in results:
            must, aim = {512: (2.0, 1.2), 100: (1.2, 0.8)}[spans]
            bench.row("4b", f"CPU per span over the dataflow engine, HTTP none, {spans} a request",
                      "dataflow", ratios(results, "spanlink", "dataflow"), must=must, aim=aim,
                      low=True)
        bench.row("4", f"CPU per span over nginx proxy_pass, {spans} a request", "nginx",
                  ratios(results, "spanlink", "nginx"), must=2.0, aim=1.2, low=True)


ALL = {"1": figure_1, "2": figure_2, "3": figure_3, "4": figure_4}
