"""The truth of an arrangement: which spans there are, when samples were taken in them, and when the
SDKs send what. Times are seconds of the run; nothing here looks at a clock."""
import dataclasses
import math

import arrangements

LARGEST_EXPORT = 512        # spans, as the SDKs' batch span processors have it


@dataclasses.dataclass(slots=True, eq=False)
class Span:
    id: str
    trace: str
    parent: str
    start: float
    end: float
    exported: float = 0.0       # when it was offered first, on the run's clock
    samples: list = dataclasses.field(default_factory=list)     # times

    @property
    def is_root(self):
        return not self.parent


@dataclasses.dataclass(slots=True)
class Export:
    at: float
    life: "Life"
    spans: list


@dataclasses.dataclass(slots=True)
class Upload:
    """samples: the id or "" of each."""
    at: float
    life: "Life"
    profiler: arrangements.Profiler
    start: float
    end: float
    samples: list

    @property
    def lateness(self):
        return self.at - self.end


@dataclasses.dataclass(eq=False)
class Life:
    """A process from its start to its end; end: infinity where it outlives the run."""
    process: arrangements.Process
    number: int
    start: float
    end: float
    dice: object
    spans: list = dataclasses.field(default_factory=list)

    def id(self, size):
        return self.dice.randbytes(size).hex()


@dataclasses.dataclass
class Timeline:
    spans: list
    exports: list
    uploads: list
    load_ends: float

    @property
    def ends(self):
        return max([self.load_ends] + [each.at for each in self.exports + self.uploads])


def build(row, dice):
    lives = [life for process in row.process for life in lives_of(process, row.seconds, dice)]
    exports, uploads = [], []
    for number, life in enumerate(lives):
        life.number = number
        life.spans = spans_of(life, row.seconds)
        exports += exports_of(life)
        for profiler in life.process.profiler:
            uploads += uploads_of(life, profiler, row.seconds)
    spans = [span for export in exports for span in export.spans]
    return Timeline(spans, exports, uploads, row.seconds)


# Lives

def lives_of(process, seconds, dice):
    """Workers that stay have their windows evenly apart."""
    window = max([each.window for each in process.profiler] or [0])
    together = deaths(process, process.life, seconds, dice)
    for worker in range(process.count):
        if not process.life:
            start = process.start + worker * window / process.count
            yield Life(process, 0, start, process.stop or math.inf, dice)
        elif process.replaced == "together":
            yield from generations(process, together, dice)
        else:
            first = process.life * (worker + 1) / process.count
            yield from generations(process, deaths(process, first, seconds, dice), dice)


def deaths(process, first, seconds, dice):
    """When a worker ends, and each that takes its place, the first after a time of its own. Lives
    differ, as where they are counted in requests, so that their last windows are partial ones."""
    found, end = [], process.start + first
    while process.life and end < seconds:
        found.append(end)
        end += process.life * dice.uniform(0.85, 1.15)
    return found


def generations(process, ends, dice):
    """The windows of workers that start together are in step but for the time of a fork."""
    starts = [each + dice.uniform(0, 0.1) for each in [process.start, *ends]]
    for start, end in zip(starts, [*ends, math.inf]):
        yield Life(process, 0, start, end, dice)


# Spans

def spans_of(life, seconds):
    spans = []
    for load in life.process.loads(seconds):
        now, until = max(load.start, life.start), min(load.end, life.end)
        while load.rate and (now := now + life.dice.expovariate(load.rate)) < until:
            spans += tree(life, now, load.sampled)
    return spans


def tree(life, start, sampled):
    """A local root, its children, and the samples that were taken in them."""
    process, dice = life.process, life.dice
    length = process.long if dice.random() < process.long_share else process.short
    end = min(start + dice.uniform(*length), life.end)
    root = Span(life.id(8), life.id(16), "", start, end)
    children = [child(life, root) for _ in range(dice.randint(*process.children))]
    if dice.random() < sampled:
        taken = dice.choice(children) if process.samples_of == "children" else root
        taken.samples = [dice.uniform(taken.start, taken.end) for _ in range(dice.randint(1, 3))]
    return [root, *children]


def child(life, root):
    start, end = sorted(life.dice.uniform(root.start, root.end) for _ in range(2))
    return Span(life.id(8), root.trace, root.id, start, end)


# What is sent

def exports_of(life):
    """The exporter's clock does not go with the profiler's: its first time is drawn."""
    every = life.process.export
    if not every:
        return [Export(span.end, life, [span]) for span in life.spans]
    by_tick, first = {}, life.start + life.dice.uniform(0, every)
    for span in life.spans:
        at = min(first + math.ceil((span.end - first) / every) * every, life.end)
        if at < life.end or life.process.flush:
            by_tick.setdefault(at, []).append(span)
    return [Export(at, life, spans[i:i + LARGEST_EXPORT])
            for at, spans in by_tick.items() for i in range(0, len(spans), LARGEST_EXPORT)]


def uploads_of(life, profiler, seconds):
    taken = looks(life, profiler, seconds) if profiler.looks else samples(life, profiler)
    uploads = []
    grid = grid_of(life, profiler)
    for number, found in sorted(taken.items()):
        start = max(grid + number * profiler.window, life.start)
        end = min(grid + (number + 1) * profiler.window, life.end)
        if end < life.end or life.process.flush:
            late = life.dice.uniform(*profiler.lateness(len(uploads)))
            uploads.append(Upload(end + late, life, profiler, start, end, found))
    return uploads


def grid_of(life, profiler):
    """Where window 0 starts, or would have started."""
    return life.start - (profiler.window - profiler.first if profiler.first else 0)


def looks(life, profiler, seconds):
    """One sample without an id at the end of each window, with load or without."""
    lasts = min(life.end, seconds) - grid_of(life, profiler)
    return {number: [""] for number in range(int(lasts / profiler.window))}


def samples(life, profiler):
    """The ids of the samples in each window by its number."""
    windows, grid = {}, grid_of(life, profiler)
    for span in life.spans:
        for at in span.samples:
            number = int((at - grid) / profiler.window)
            windows.setdefault(number, []).append(
                "" if life.process.samples_of == "none" else span.id)
    return windows
