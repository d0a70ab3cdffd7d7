"""Truncated or corrupted journal files: spanlink starts, delivers the rest and reports what it set
aside."""
import concurrent.futures
import shutil
import struct

import pytest

import clients
import harness
import rig

HEADER = 32
MARK = 8
REQUESTS = 6
AT_ONCE = 4


class Entry:
    """One request in a file of the journal; lib/journal/segment.h describes it."""

    def __init__(self, file, at, size):
        self.file, self.at, self.size = file, at, size


def entries(directory):
    """The entries of all files, in order: an entry begins with the key in the file's name."""
    found = []
    for file in sorted(directory.glob("entries-*")):
        data, key = file.read_bytes(), struct.pack("<Q", int(file.name.split("-")[2], 16))
        at = data.find(key)
        while at >= 0:
            size = HEADER + struct.unpack_from("<I", data, at + 24)[0]
            found.append(Entry(file.name, at, size))
            at = data.find(key, at + size)
    return found


class Left:
    """The files left by a killed process: REQUESTS requests of one log record each."""

    def __init__(self, folder, sink):
        sink.rule = lambda _signal, _keys: 503
        sidecar = rig.Sidecar(folder, sink, journal="max_size_mib: 8").start()
        client = clients.HttpClient(sidecar.http)
        self.keys = []
        for _ in range(REQUESTS):
            request = clients.logs("damage", 1)
            assert client.send(request)[0] == clients.TAKEN
            self.keys += request.keys
        client.close()
        sidecar.kill()
        sink.rule = lambda _signal, _keys: 200
        self.folder, self.directory = folder, sidecar.directory
        self.entries = entries(self.directory)
        assert len(self.entries) == REQUESTS


@pytest.fixture
def left(tmp_path, sink):
    return Left(tmp_path / "left", sink)


class Outcome:
    """A process on a damaged copy."""

    def __init__(self, folder, left, sink, damage, whole):
        """damage changes the bytes of the last entry's file; whole: number of undamaged
        requests."""
        sidecar = rig.Sidecar(folder, sink, journal="max_size_mib: 8")
        shutil.copytree(left.directory, sidecar.directory)
        file = sidecar.directory / left.entries[-1].file
        data = bytearray(file.read_bytes())
        file.write_bytes(damage(data))
        before = {key: sink.copies[key] for key in left.keys}
        sidecar.start()
        sink.wait(lambda: all(sink.copies[key] > before[key] for key in left.keys[:whole]))
        self.idle = harness.wait_for(
            lambda: not sidecar.figure(r"journal: (\d+) requests not delivered"), 30, 0.01)
        self.arrived = [sink.copies[key] - before[key] for key in left.keys]
        self.damaged = sidecar.figure(r"damaged (\d+)\n")
        self.code, self.log = sidecar.stop(), sidecar.log()
        self.aside = sorted((sidecar.directory / "damaged").glob("*"))

    def good(self, last, damaged):
        """last: how often the last request may have arrived; damaged: number of requests set
        aside."""
        return (self.code == 0 and self.idle and set(self.arrived[:-1]) == {1}
                and self.arrived[-1] in last and self.damaged in damaged
                and len(self.aside) == self.damaged
                and self.log.count("set aside") == self.damaged)


def flip(at, bits):
    def damage(data):
        data[at] ^= bits
        return data
    return damage


def run_all(tmp_path, left, damages, whole=REQUESTS - 1):
    """One sink for each concurrent process, because they deliver the same items."""
    import sink as sinks
    free = [sinks.Sink() for _ in range(AT_ONCE)]

    def run(number):
        sink = free.pop()
        try:
            return Outcome(tmp_path / str(number), left, sink, damages[number], whole)
        finally:
            free.append(sink)
            shutil.rmtree(tmp_path / str(number) / "journal", ignore_errors=True)
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        outcomes = list(pool.map(run, range(len(damages))))
    for sink in free:
        sink.close()
    return outcomes


def test_an_undamaged_copy_is_delivered_whole(tmp_path, left):
    """The control: nothing is set aside."""
    outcome, = run_all(tmp_path, left, [lambda data: data])
    assert outcome.good({1}, {0}), outcome.log


def test_files_cut_at_every_byte_of_the_last_entry(tmp_path, left, figure):
    last = left.entries[-1]
    cuts = range(last.size)
    outcomes = run_all(tmp_path, left, [lambda data, cut=cut: data[:last.at + cut]
                                        for cut in cuts])
    # Truncation before the entry leaves no trace of it.
    bad = [(cut, vars(o)) for cut, o in zip(cuts, outcomes)
           if not o.good({0}, {1} if cut >= 8 else {0, 1})]
    assert not bad, f"{len(bad)} of {len(cuts)} cuts, the first: {bad[0]}"
    figure(f"{len(cuts)} cuts, {len(cuts)} starts, all other requests delivered once; "
           f"{sum(o.damaged for o in outcomes)} set aside")


def test_flipped_bits_in_the_last_entry(tmp_path, left, soak, figure):
    """They lose this entry."""
    last = left.entries[-1]
    places = range(last.size) if soak else sorted({*range(0, HEADER, 3),
                                                   *range(HEADER, last.size, 7), last.size - 1})
    outcomes = run_all(tmp_path, left, [flip(last.at + place, 1 << place % 8)
                                        for place in places])
    bad = [(place, vars(o)) for place, o in zip(places, outcomes)
           if not o.good({0}, {1}) or "at least 1 request in them is lost" not in o.log]
    assert not bad, f"{len(bad)} of {len(places)} places, the first: {bad[0]}"
    figure(f"{len(places)} flips, {len(places)} starts, all other requests delivered once; "
           f"{sum(o.damaged for o in outcomes)} set aside")


def test_flipped_bits_where_an_entry_is_marked_as_settled(tmp_path, left):
    """The last 8 bytes of the file are the first entry's, and so on."""
    places = range(1, MARK * REQUESTS + 1, 3)
    outcomes = run_all(tmp_path, left, [flip(-place, 1 << place % 8) for place in places], REQUESTS)
    bad = [(place, vars(o)) for place, o in zip(places, outcomes) if not o.good({1}, {0})]
    assert not bad, f"{len(bad)} of {len(places)} places, the first: {bad[0]}"


def test_noise_behind_the_entries(tmp_path, left):
    """Data like this are left by the file's previous use."""
    def damage(data):
        data[left.entries[-1].at:] = bytes(range(256)) * 64
        return data
    outcome, = run_all(tmp_path, left, [damage])
    assert outcome.code == 0 and set(outcome.arrived[:-1]) == {1}, outcome.log


def test_files_without_any_entry(tmp_path, left):
    """spanlink starts regardless of other files in the directory."""
    outcomes = run_all(tmp_path, left, [lambda data: b"", lambda data: bytes(len(data)),
                                        lambda data: bytes(range(256)) * 64], whole=0)
    for outcome in outcomes:
        assert outcome.code == 0 and set(outcome.arrived) == {0}, outcome.log
