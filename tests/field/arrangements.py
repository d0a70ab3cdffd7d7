"""What arrangements.toml may say, with its defaults."""
import dataclasses
import pathlib
import re
import tomllib

FILE = pathlib.Path(__file__).with_suffix(".toml")
BOUND = re.compile(r"(\w+) (<=|>=) ([\w.]+)(?: \+ (\w+))?$")


@dataclasses.dataclass(frozen=True)
class Profiler:
    """What uploads profiles of one kind. cpu and wall have samples of spans, and a window without
    any is not sent; the other kinds are a look at the process at the end of each window."""
    kind: str = "cpu"               # cpu, wall, memory, mutex or goroutine
    way: str = "push"               # push as Python does; go and node: /ingest as these do
    window: float = 10
    first: float = 0                # length of the first window where it is shorter, as Java's is
    late: tuple = (0.02, 0.2)       # from the window's end to the upload, drawn from this range
    late_every_second: tuple = ()   # that of every second upload
    time: str = "start"             # the end of the window that time_nanos is
    duration: bool = True           # whether duration_nanos is there

    @property
    def looks(self):
        return self.kind not in ("cpu", "wall")

    def lateness(self, number):
        return self.late_every_second if self.late_every_second and number % 2 else self.late


@dataclasses.dataclass(frozen=True)
class Load:
    """Local roots a second from one second of the run to another, and the share with samples."""
    start: float
    end: float
    rate: float
    sampled: float


@dataclasses.dataclass(frozen=True)
class Process:
    count: int = 1                  # processes of this make, their windows evenly apart
    start: float = 0                # with the first window
    stop: float = 0                 # 0: it stays
    life: float = 0                 # seconds until another takes its place; 0: it stays
    replaced: str = "staggered"     # or together
    flush: bool = True              # whether an end sends what is still there
    rate: float = 8
    sampled: float = 0.4
    load: tuple = ()                # tables of from, to, rate, sampled; default: all the time
    short: tuple = (0.02, 0.5)      # seconds that a root takes
    long: tuple = (1, 15)           # and some take
    long_share: float = 0.03
    children: tuple = (1, 2)
    span_bytes: int = 0             # roots are padded to about so many on the wire
    samples_of: str = "roots"       # whose ids samples carry: roots, children or none
    marked: bool = True             # whether the SDK marks roots
    export: float = 1               # seconds between two exports; 0: each span as it ends
    tracer_clock: float = 0         # seconds ahead
    profiler_clock: float = 0
    resource: dict = dataclasses.field(default_factory=dict)
    instances: bool = False         # whether each has a service.instance.id
    labels: dict = dataclasses.field(default_factory=dict)      # of its series
    tenant: str = ""
    profiler: tuple = (Profiler(),)

    def loads(self, seconds):
        tables = self.load or ({"from": 0, "to": seconds},)
        return [Load(each["from"], each["to"], each.get("rate", self.rate),
                     each.get("sampled", self.sampled)) for each in tables]


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    says: str
    seconds: float = 150            # of load
    process: tuple = (Process(),)
    correlation: dict = dataclasses.field(default_factory=dict)     # keys of the processor
    journal: bool = False
    killed: dict = dataclasses.field(default_factory=dict)      # spanlink: at, and how long down
    alone: bool = False             # whether no other row may run meanwhile
    must: tuple = ()
    free: tuple = ()


def processes(tables):
    def one(table):
        known = dict(table)
        if "profiler" in known:
            known["profiler"] = tuple(Profiler(**each) for each in known["profiler"])
        return Process(**known)
    return tuple(one(table) for table in tables)


def row(table, every):
    known = dict(table)
    free = known.get("free", ())
    known["must"] = tuple(
        [bound for bound in every["must"] if bound.split()[0] not in free]
        + known.get("must", []))
    for bound in known["must"]:
        if not BOUND.match(bound):
            raise ValueError(f"{known['name']}: no bound: {bound}")
    if "process" in known:
        known["process"] = processes(known["process"])
    return Row(**known)


def load():
    """Every row of the file by its name."""
    tables = tomllib.loads(FILE.read_text())
    rows = [row(table, tables["every"]) for table in tables["row"]]
    return {each.name: each for each in rows}
