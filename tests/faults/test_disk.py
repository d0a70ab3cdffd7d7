"""A journal whose disk is full, faulty or read-only: clients are asked to retry, accepted items
arrive, and service resumes when the disk recovers."""
import errno
import os
import pathlib
import shutil
import subprocess
import threading

import pytest

import clients
import harness
import rig

MIB = 1 << 20
KINDS = ("http logs", "grpc logs", "push", "http traces")
WIDE = 400              # items per request, so that the journal is full soon
REFUSALS = {503, "UNAVAILABLE"}


def refused(load, kinds=REFUSALS):
    """Waits until clients of every kind have been asked to retry."""
    for what in kinds:
        load.ledger.wait_told(what, 5)


def assert_all_arrive(sidecar, sink, load):
    taken = load.ledger.keys(clients.TAKEN)
    assert sink.wait_for(taken), \
        f"{len(taken - set(sink.copies))} of {len(taken)} lost\n{sidecar.explain()}"
    statuses = set(load.ledger.counts) - {clients.TAKEN, clients.UNANSWERED}
    assert statuses <= REFUSALS, load.ledger.counts
    assert not load.ledger.missing_retry
    assert harness.wait_for(
        lambda: not sidecar.figure(r"journal: (\d+) requests not delivered"), 30)
    return taken


class Watch:
    """The highest disk usage inside the with block."""

    def __init__(self, sidecar):
        self.sidecar, self.most, self.ended = sidecar, 0, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def run(self):
        while not self.ended.wait(0.005):
            try:
                self.most = max(self.most, self.sidecar.disk_use())
            except FileNotFoundError:
                pass            # a file was removed meanwhile


@pytest.mark.parametrize("limit", [1, 3])
def test_the_limit_of_the_journal_holds(tmp_path, sink, soak, figure, limit):
    """Full, repeatedly, because the backend accepts nothing."""
    sidecar = rig.Sidecar(tmp_path, sink, journal=f"max_size_mib: {limit}", hold="1s").start()
    rounds = 10 if soak else 2
    with Watch(sidecar) as watch, clients.Load(sidecar, "full", KINDS, WIDE) as load:
        for _ in range(rounds):
            sink.rule = lambda _signal, _keys: 503
            refused(load)
            sink.rule = lambda _signal, _keys: 200
            load.ledger.wait_taken(10)
    taken = assert_all_arrive(sidecar, sink, load)
    assert watch.most <= (limit + 1) * MIB
    assert sidecar.stop() == 0
    figure(f"{limit} MiB full {rounds} times, {len(taken)} items taken, 0 lost; "
           f"at most {watch.most / MIB:.2f} MiB on disk")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 3 MiB with a folder for the journal; only root can mount it."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a file system")
    (folder / "journal").mkdir()
    (tmp_path / "journal").symlink_to(folder / "journal")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk(tmp_path, small_disk, sink, figure):
    """Full because of an unrelated file, and then because of the journal itself."""
    sidecar = rig.Sidecar(tmp_path, sink, journal="max_size_mib: 8", hold="1s").start()
    stranger = small_disk / "stranger"
    try:
        with clients.Load(sidecar, "disk", KINDS, WIDE) as load:
            sink.rule = lambda _signal, _keys: 503
            load.ledger.wait_taken(5)
            fill(stranger)
            refused(load)
            stranger.unlink()
            load.ledger.wait_taken(5)
            refused(load)
            sink.rule = lambda _signal, _keys: 200
            load.ledger.wait_taken(10)
            sidecar.kill()
            sidecar.start()
        taken = assert_all_arrive(sidecar, sink, load)
        assert sidecar.stop() == 0
    finally:
        sidecar.program.kill()
    figure(f"3 MiB full twice, then a kill; {len(taken)} items taken, 0 lost")


def fill(file):
    with open(file, "wb", buffering=0) as out:
        try:
            while out.write(bytes(4096)):
                pass
        except OSError as problem:
            assert problem.errno == errno.ENOSPC


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    """The compiled diskfault.c."""
    library = tmp_path_factory.mktemp("shim") / "diskfault.so"
    source = pathlib.Path(__file__).parent / "diskfault.c"
    subprocess.run(["cc", "-O1", "-Wall", "-shared", "-fPIC", "-o", library, source], check=True)
    return library


@pytest.mark.parametrize("fault", [f"{errno.EROFS}", f"{errno.EIO}", f"{errno.ENOSPC}",
                                   f"fsync {errno.EIO}"],
                         ids=["read-only", "EIO", "ENOSPC", "EIO of fsync"])
def test_a_disk_that_fails_for_a_while(tmp_path, shim, sink, soak, figure, fault):
    """The disk fails under load and recovers, and then the process is killed."""
    control, rounds = tmp_path / "fault", 10 if soak else 2
    sidecar = rig.Sidecar(tmp_path, sink, journal="", hold="1s", env={
        "LD_PRELOAD": str(shim), "DISK_FAULT": str(control),
        "DISK_FAULT_DIR": str(tmp_path / "journal")}).start()
    sink.rule = lambda _signal, _keys: 503
    with clients.Load(sidecar, "failing", KINDS) as load:
        for _ in range(rounds):
            load.ledger.wait_taken(10)
            put(control, fault)
            refused(load)
            control.unlink()
            load.ledger.wait_taken(10)
            sidecar.kill()
            sidecar.start()
    sink.rule = lambda _signal, _keys: 200
    taken = assert_all_arrive(sidecar, sink, load)
    assert sidecar.stop() == 0
    figure(f"{rounds} times, {len(taken)} items taken, 0 lost")


def put(file, text):
    """Each line completely or not at all."""
    whole = file.with_suffix(".new")
    whole.write_text(text)
    whole.rename(file)


def test_a_directory_that_is_removed(tmp_path, sink, soak, figure):
    """The directory is removed repeatedly with its open files, and then the process is killed."""
    sidecar, rounds = rig.Sidecar(tmp_path, sink, journal="", hold="1s").start(), 10 if soak else 2
    sink.rule = lambda _signal, _keys: 503
    with clients.Load(sidecar, "removed", KINDS) as load:
        for _ in range(rounds):
            load.ledger.wait_taken(20)
            shutil.rmtree(sidecar.directory, ignore_errors=True)    # new files may appear meanwhile
            load.ledger.wait_taken(20)
            sidecar.kill()
            sidecar.start()
    sink.rule = lambda _signal, _keys: 200
    taken = assert_all_arrive(sidecar, sink, load)
    assert sidecar.stop() == 0
    figure(f"{rounds} times, {len(taken)} items taken, 0 lost")


def test_a_disk_that_is_read_only_at_the_start(tmp_path, small_disk, sink):
    """spanlink serves once it can write, and the data of an earlier process are not lost."""
    sink.rule = lambda _signal, _keys: 503
    sidecar = rig.Sidecar(tmp_path, sink, journal="max_size_mib: 8", hold="1s").start()
    try:
        with clients.Load(sidecar, "read-only", KINDS) as load:
            load.ledger.wait_taken(20)
            sidecar.kill()
            subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
            sidecar.start()
            assert "cannot be written: Read-only file system; requests are refused" in sidecar.log()
            refused(load)
            subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)
            load.ledger.wait_taken(20)
            sink.rule = lambda _signal, _keys: 200
            sidecar.kill()
            sidecar.start()
        assert_all_arrive(sidecar, sink, load)
        assert sidecar.stop() == 0
    finally:
        sidecar.program.kill()


def test_a_directory_that_cannot_be_made_is_an_error_at_start(tmp_path, sink):
    (tmp_path / "file").touch()
    (tmp_path / "journal").symlink_to(tmp_path / "file" / "journal")
    sidecar = rig.Sidecar(tmp_path, sink, journal="")
    assert sidecar.launch().program.wait(20) == 1
    assert "extensions.journal.directory" in sidecar.log()
    assert "Not a directory" in sidecar.log()
