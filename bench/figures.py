"""The figures, one function each. All are ratios from one run: subjects take turns, A B A B."""

import contextlib
import itertools
import json
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import urllib.request

import drive
import payloads
import start
from generators import H2load, Wrk
from subjects import Collector, ContribCollector, Dataflow, Nginx, Rotel, Spanlink

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TITLES = {"http": "HTTP", "grpc": "gRPC"}
CLIENTS = {"http": {"clients": 8}, "grpc": {"clients": 4, "streams": 4}}


def pool(bench, spans, gzip=False):
    if spans not in bench.pools:
        bench.pools[spans] = payloads.write_pools(bench.folder, spans)
    return bench.pools[spans][gzip]


def settle(bench, subjects, requests):
    """Warms up every subject until no spans are held: spans of a new service wait once for its
    first profiles. Returns the requests per second of each subject, by name."""
    rates = {}
    for subject in subjects:
        before = subject.sink.counts()
        sent = bench.load.run(subject, requests, seconds=1, **CLIENTS[form_of(subject)])
        drive.check(subject.name, drive.drain(subject.sink, before, sent), sent)
        rates[subject.name] = sent["requests"] / sent["seconds"]
    return rates


def form_of(subject):
    return "grpc" if subject.grpc else "http"


def rounds(bench, subjects, requests, **options):
    """The measurements of each subject, by name, one per round, with our own load."""
    def measure(subject):
        return drive.measure(bench.load, subject, requests, **{
            "seconds": bench.seconds, **CLIENTS[form_of(subject)], **options})
    return in_turns(bench, subjects, measure)


def in_turns(bench, subjects, measure):
    results = {subject.name: [] for subject in subjects}
    for _ in range(bench.rounds):
        for subject in subjects:
            results[subject.name].append(measure(subject))
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


def compared(bench, peers, spans, form="http", gzip=False, own=None, requests=None, **options):
    own = own or Spanlink(bench, form, gzip)
    requests = requests or pool(bench, spans, gzip)
    with started(own, *(peer(bench, form, gzip) for peer in peers)) as subjects:
        settle(bench, subjects, requests)
        return rounds(bench, subjects, requests, **options)


def driven(bench, form):
    """Compares with the Collector at 100 spans per request, with wrk or h2load. h2load sends a
    fixed number of requests: as many as our own load achieved in the time of a round."""
    requests = pool(bench, 100)
    with started(Spanlink(bench, form), Collector(bench, form)) as subjects:
        rates = settle(bench, subjects, requests)

        def measure(subject):
            if form == "grpc":
                count = max(1000, int(rates[subject.name] * bench.seconds))
                return drive.measure(H2load(bench.load_core), subject, requests, requests=count,
                                     **CLIENTS[form])
            return drive.measure(Wrk(bench.load_core), subject, requests, seconds=bench.seconds,
                                 **CLIENTS[form])
        return in_turns(bench, subjects, measure)


class Profiles:
    """Sends spanlink one profile per second whose samples carry the given span ids."""

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
        bench.row("1", f"CPU per span, HTTP none, {spans} per request", "Collector",
                  ratios(results, "Collector", "spanlink"), must=8, aim=12)
    requests = pool(bench, 512)
    with started(Spanlink(bench), Collector(bench)) as (own, peer):
        settle(bench, [own, peer], requests)
        with Profiles(own, requests.roots):
            results = rounds(bench, [own, peer], requests)
    bench.row("1", "the same at 512, one profile per second confirms one span in ten", "Collector",
              ratios(results, "Collector", "spanlink"), must=5, aim=9)
    results = compared(bench, [Collector], 100, requests=payloads.json_pool(pool(bench, 100)))
    bench.row("1", "CPU per span, HTTP none, JSON, 100 per request", "Collector",
              ratios(results, "Collector", "spanlink"))
    bench.row("1", "CPU per span, HTTP none, 100 per request, driven by wrk", "Collector",
              ratios(driven(bench, "http"), "Collector", "spanlink"), must=8, aim=12)


def http_beside_grpc(bench):
    """HTTP and gRPC with the same number of concurrent requests, each on its own connection: the
    cost of HTTP over gRPC, without gRPC's advantage of answering several streams at once."""
    http, grpc = Spanlink(bench), Spanlink(bench, "grpc")
    http.name, grpc.name = "spanlink, HTTP", "spanlink, gRPC"
    requests = pool(bench, 100)
    with started(http, grpc) as subjects:
        settle(bench, subjects, requests)
        results = rounds(bench, subjects, requests, clients=8, streams=1)
    bench.row("2",
              "CPU per span of HTTP, 100 per request, 8 connections with one request at a time",
              "gRPC, same load", ratios(results, http.name, grpc.name), low=True)


def figure_2(bench):
    for spans in (512, 100):
        results = compared(bench, [Collector], spans, "grpc")
        bench.row("2", f"CPU per span, gRPC none, {spans} per request", "Collector",
                  ratios(results, "Collector", "spanlink"), must=6, aim=10)
    bench.row("2", "CPU per span, gRPC none, 100 per request, driven by h2load", "Collector",
              ratios(driven(bench, "grpc"), "Collector", "spanlink"), must=6, aim=10)
    http_beside_grpc(bench)


def figure_3(bench):
    peers = [Collector] + [Rotel] * bench.has("rotel")
    for form, aim in (("http", 12), ("grpc", 13)):
        for spans in (512, 100):
            results = compared(bench, peers, spans, form, gzip=True)
            case = f"CPU per span, {TITLES[form]} gzip, {spans} per request"
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
            bench.row("4b",
                      f"CPU per span over the dataflow engine, HTTP none, {spans} per request",
                      "dataflow", ratios(results, "spanlink", "dataflow"), must=must, aim=aim,
                      low=True)
        bench.row("4", f"CPU per span over nginx proxy_pass, {spans} per request", "nginx",
                  ratios(results, "spanlink", "nginx"), must=2.0, aim=1.2, low=True)


def figure_5_and_6(bench):
    """A fixed rate of 40,000 spans per second, 100 per request."""
    peers = [(Collector, False)] + [(Rotel, True)] * bench.has("rotel")
    for peer, gzip in peers:
        results = compared(bench, [peer], 100, gzip=gzip, rate=400, seconds=2 * bench.seconds)
        name, coding = peer.name, "gzip" if gzip else "none"
        cpu, latency = ((6, 10), (2, 5)) if peer is Collector else ((3, 6), (1.5, 2.5))
        bench.row("5", f"CPU per span at 40,000 spans/s, HTTP {coding}, 100 per request", name,
                  ratios(results, name, "spanlink"), must=cpu[0], aim=cpu[1])
        for key in ("p50_us", "p99_us"):
            bench.row("6", f"latency {key[:3]} at the same rate, HTTP {coding}", name,
                      ratios(results, name, "spanlink", key), must=latency[0], aim=latency[1])


def saturated_peak(bench, subject):
    """The peak RSS under full load, in MiB."""
    requests = pool(bench, 512)
    settle(bench, [subject], requests)
    drive.forget_peak(subject.pid)
    drive.measure(bench.load, subject, requests, seconds=bench.seconds, **CLIENTS["http"])
    return drive.peak_mib(subject.pid)


def stalled_peak(bench, limit, seconds):
    """(peak RSS - idle RSS) / budget, with a backend that never responds."""
    with started(Spanlink(bench, stall=True, limit_mib=limit)) as (own,):
        idle = drive.rss_mib(own.pid)
        process = bench.load.start(own, pool(bench, 512), seconds=seconds, clients=16)
        time.sleep(seconds)
        process.kill()
        process.wait()
        process.stdout.close()
        return (drive.peak_mib(own.pid) - idle) / limit


def figure_7(bench):
    rests = {}
    for _ in range(3):
        for subject in (Spanlink(bench), Collector(bench)):
            with subject:
                time.sleep(start.REST_S)
                found = start.idle(subject.pid)
                found["peak"] = saturated_peak(bench, subject)
                for key, value in found.items():
                    rests.setdefault((subject.name, key), []).append(value)
    for key, case, must, aim in (("rss", "idle RSS", 2.5, 3.5),
                                 ("private_dirty", "idle private dirty memory", 8, 12),
                                 ("peak", "peak RSS at saturation, HTTP none, 512 per request",
                                  5, 10)):
        ours, peers = rests["spanlink", key], rests["Collector", key]
        scale = 1 if key == "peak" else 1 << 20
        bench.say(f"  {case}: spanlink {ours[-1] / scale:.2f} MiB, "
                  f"Collector {peers[-1] / scale:.2f} MiB")
        bench.row("7", case, "Collector", [b / a for a, b in zip(ours, peers)], must=must, aim=aim)
    bench.row("7", "stalled backend: (peak RSS - idle) over a budget of 128 MiB", "itself",
              [stalled_peak(bench, 128, 4 * bench.seconds) for _ in range(2)], must=1.05, aim=1.05,
              low=True)


def figure_8(bench):
    peers = [Collector] + [Rotel] * bench.has("rotel")
    times = {}
    for turn in range(2 * bench.rounds + 1):
        for make in [Spanlink] + peers:
            subject = make(bench)
            seconds = start.first_answer([str(a) for a in subject.argv()], subject.http_port)
            subject.close()
            if turn:  # the first start fills the page cache
                times.setdefault(subject.name, []).append(seconds)
    for name, seconds in times.items():
        bench.say(f"  {name}: {sorted(seconds)[len(seconds) // 2] * 1e3:.1f} ms")
    for peer, aim in zip(peers, (5, 4)):
        bench.row("8", "exec to the first 200", peer.name,
                  [b / a for a, b in zip(times["spanlink"], times[peer.name])], must=2, aim=aim)


AGAINST = {"9": "gunzip", "10": "itself with 1e4 ids", "11": "bytes on the wire",
           "15": "itself with none held"}


def limits(figure, case):
    """The required value and the target, for rows that programs print."""
    if figure == "9":
        return 1.5, 0.8
    if figure == "11":
        return (40, 24) if case.startswith("index") else (1.3, 1.15)
    if figure == "15":
        return 1.5, 1.2
    by_ids = {"1e+05": (1.3, 1.1), "1e+06": (1.6, 1.25), "1e+07": (2.5, 1.6)}
    ids = next((ids for ids in by_ids if ids in case), None)
    return by_ids[ids] if ids and case.startswith("receiver and") else (None, None)


def program_rows(bench, argv):
    """Adds the rows that a program of the suite prints, one JSON object per line."""
    out = subprocess.run(argv, check=True, text=True, stdout=subprocess.PIPE,
                         preexec_fn=drive.pinned(bench.core)).stdout
    for line in out.splitlines():
        bench.printed_row(json.loads(line))


def figure_9(bench):
    build = pathlib.Path(bench.programs["build"]) / "bench"
    program_rows(bench, [sys.executable, str(HERE / "pprof.py"), str(build / "bench_pprof")])


def figures_10_and_11(bench):
    program_rows(bench, [str(pathlib.Path(bench.programs["build"]) / "bench" / "bench_index")])


def figure_15(bench):
    program_rows(bench, [str(pathlib.Path(bench.programs["build"]) / "bench" / "bench_held")])


class Scrapes:
    """Fetches the page of internal metrics once per second."""

    def __init__(self, port):
        self.url, self.end = f"http://127.0.0.1:{port}/metrics", threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        while not self.end.wait(1):
            urllib.request.urlopen(self.url, timeout=10).read()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.end.set()
        self.thread.join()


def figure_16(bench):
    port = drive.free_port()
    page = ("  telemetry: {metrics: {level: detailed, readers: [{pull: {exporter: {prometheus: "
            f"{{host: 127.0.0.1, port: {port}}}}}}}}}]}}}}\n")
    on, off = Spanlink(bench, used=page), Spanlink(bench, used=page.replace("detailed", "none"))
    on.name = "internal metrics, detailed"
    more = []
    for _ in range(3):  # the kernel maps code in blocks, by chance one more or less
        with started(on, off), Scrapes(port):
            time.sleep(start.QUIET_S)
            more.append(drive.rss_mib(on.pid) - drive.rss_mib(off.pid))
    bench.row("16", "idle memory with internal metrics, scraped, over without", "itself", more,
              unit="MiB", must=0.3, low=True)
    with started(on, off), Scrapes(port):
        for spans in (512, 100):
            requests = pool(bench, spans)
            settle(bench, [on, off], requests)
            results = rounds(bench, [on, off], requests)
            bench.row("16", f"CPU per span with internal metrics, detailed and scraped, over without, "
                      f"HTTP none, {spans} per request", "itself",
                      ratios(results, on.name, off.name), must=1.03, low=True)


def figure_12(bench):
    requests = pool(bench, 512)
    one, two = Spanlink(bench), Spanlink(bench, threads=2)
    with started(one, two):
        for subject in (one, two):
            drive.free(subject.pid)
        two.name = "two threads"
        settle(bench, [one, two], requests)
        results = rounds(bench, [one, two], requests)
    bench.row("12", "CPU per span with two threads over one, HTTP none, 512 per request", "itself",
              ratios(results, "two threads", "spanlink"), must=1.15, aim=1.05, low=True)
    with started(Spanlink(bench)) as (own,):
        time.sleep(start.QUIET_S)
        bench.row("12", "idle wakeups", "itself", [start.wakeups(own.pid, 10)], unit="per second",
                  must=1, aim=0, low=True)


def figure_13(bench):
    folder = ROOT / "build" / "bench" / "journal"
    shutil.rmtree(folder, ignore_errors=True)
    extensions = f"extensions:\n  journal: {{directory: {folder}, fsync: always}}\n"
    for spans in (100, 10):
        requests = pool(bench, spans)
        on = Spanlink(bench, extensions=extensions, used="  extensions: [journal]\n")
        off = Spanlink(bench)
        with started(on, off):
            on.name = "with a journal"
            settle(bench, [on, off], requests)
            results = rounds(bench, [on, off], requests, clients=32)
        bench.row("13", f"throughput with a journal (fsync: always) over without, 32 clients, "
                  f"{spans} per request", "itself",
                  ratios(results, "with a journal", "spanlink", "spans_per_s"), must=0.3, aim=0.6)
        shutil.rmtree(folder, ignore_errors=True)


def figure_14(bench):
    sizes = [start.stripped_size(bench.programs[name]) for name in ("collector", "spanlink")]
    bench.say(f"  stripped: Collector {sizes[0] >> 10} KiB, spanlink {sizes[1] >> 10} KiB")
    bench.row("14", "size of the stripped binary", "Collector", [sizes[0] / sizes[1]], must=20,
              aim=50)


THREE = ["resource", "attributes", "filter"]


def contrib_subjects(bench, form):
    """spanlink and the Collector, each without contrib processors, with three, with a transform."""
    for peer in (Spanlink, ContribCollector):
        for name, contrib in (("bare", []), ("three", THREE), ("transform", ["transform"])):
            subject = peer(bench, form, contrib=contrib)
            subject.name = f"{peer.name}, {name}"
            yield subject


def figure_17(bench):
    """The contrib processors: six subjects in turns, so that all ratios come from one run."""
    if not bench.has("contrib"):
        raise drive.Void("no Collector with contrib processors, see tests/contrib/setup.sh")
    for form, spans in itertools.product(("grpc", "http"), (512, 100)):
        subjects = list(contrib_subjects(bench, form))
        bare, three = subjects[:2]
        requests = pool(bench, spans)
        with started(*subjects):
            settle(bench, subjects, requests)
            results = rounds(bench, subjects, requests)
            over = alternating(bench, three, bare, requests)
        case = f"{TITLES[form]} none, {spans} per request"
        bench.row("17", f"CPU per span with resource, attributes and filter, over without, {case}",
                  "itself", over, must=1.5, low=True)
        for name, must in (("three", 10), ("transform", 8)):
            what = {"three": "resource, attributes and filter",
                    "transform": "a transform of three statements"}[name]
            bench.row("17", f"CPU per span with {what}, {case}", "Collector with the same",
                      ratios(results, f"Collector, {name}", f"spanlink, {name}"), must=must)


def alternating(bench, first, second, requests, **options):
    """Ratios of CPU per span, first over second, from at least 20 short pairs whose order
    alternates: what else runs on the machine then meets both alike."""
    pairs, found = max(20, 4 * bench.rounds), []
    seconds = bench.rounds * bench.seconds / pairs
    for pair in range(pairs):
        both = {}
        for subject in (first, second) if pair % 2 else (second, first):
            both[subject] = drive.measure(bench.load, subject, requests, seconds=seconds,
                                          **CLIENTS[form_of(subject)], **options)
        found.append(both[first]["us_per_span"] / both[second]["us_per_span"])
    return found


def figure_18(bench):
    """The extension status sees every request, decision and sample, though nobody looks at it."""
    page = f"extensions:\n  status: {{endpoint: '127.0.0.1:{drive.free_port()}'}}\n"
    on = Spanlink(bench, used="  extensions: [status]\n", extensions=page)
    off, same = Spanlink(bench), Spanlink(bench)
    with started(on, off, same):
        for spans, rate in ((512, {}), (100, {}), (100, {"rate": 2000})):
            requests = pool(bench, spans)
            settle(bench, [on, off, same], requests)
            case = ("one profile per second confirms one span in ten, HTTP none, "
                    f"{spans} per request" + ", 200,000 spans/s" * bool(rate))
            with contextlib.ExitStack() as stack:
                for subject in (on, off, same):
                    stack.enter_context(Profiles(subject, requests.roots))
                bench.row("18", f"CPU per span without the extension status, twice, {case}",
                          "itself", alternating(bench, same, off, requests, **rate), low=True)
                bench.row("18", f"CPU per span with the extension status over without, {case}",
                          "itself", alternating(bench, on, off, requests, **rate), must=1.05,
                          low=True)


ALL = {"1": figure_1, "2": figure_2, "3": figure_3, "4": figure_4, "5": figure_5_and_6,
       "7": figure_7, "8": figure_8, "9": figure_9, "10": figures_10_and_11, "12": figure_12,
       "13": figure_13, "14": figure_14, "15": figure_15, "16": figure_16, "17": figure_17,
       "18": figure_18}
