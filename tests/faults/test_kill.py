"""kill -9 with a journal: everything acknowledged arrives, and spans are linked as without a
kill."""
import random
import threading

import clients
import harness
import rig

IDLE = r"journal: (\d+) requests not delivered"


def kill_when(sidecar, condition):
    """Waits until a random moment within 30 ms after the condition."""
    condition()
    threading.Event().wait(random.uniform(0, 0.03))
    sidecar.kill()


def taken_up(sink, more):
    """Waits until a process has delivered that many requests."""
    wanted = sink.requests + more
    assert sink.wait(lambda: sink.requests >= wanted)


def assert_whole(told, sink, kills):
    """If an item arrived twice, so did its whole request; except for traces, of which the
    correlation held a part."""
    for request in told.requests():
        copies = {sink.copies[key] for key in request.keys}
        assert max(copies) <= 1 + kills, request.keys
        assert len(copies) == 1 or request.signal == "traces", request.keys


def assert_links(told, sink):
    """A span has its link exactly if a profile with samples of it was sent; only accepted profiles
    must count."""
    sampled = {each for request in told.requests(clients.TAKEN) for each in request.samples_of}
    maybe = {each for request in told.requests() for each in request.samples_of}
    wrong = {each: links for each, links in sink.links.items()
             if [] in links and each in sampled and f"span {each}" in told.keys(clients.TAKEN)
             or [each] in links and each not in maybe}
    assert not wrong, f"{len(wrong)} of {len(sink.links)}: {wrong}"
    return sum([each] in links for each, links in sink.links.items())


def test_kill_at_any_moment_loses_nothing(tmp_path, sink, soak, figure):
    """Each round has a kill under load and one while the next process recovers the rest."""
    rounds, slow = 50 if soak else 3, threading.Event()

    def rule(_signal, _keys):
        slow.wait(0.1)
        return 200
    sink.rule = rule
    sidecar, left = rig.Sidecar(tmp_path, sink, journal="", hold="8s"), 0
    with clients.Load(sidecar, "kill") as load:
        for _ in range(rounds):
            sidecar.start()
            kill_when(sidecar, lambda: load.ledger.wait_taken(rig.moment(100, 300)))
            left += len(load.ledger.keys(clients.TAKEN) - set(sink.copies))
            sidecar.start()
            kill_when(sidecar, lambda: taken_up(sink, rig.moment(1, 20)))
        sidecar.start()
        load.ledger.wait_taken(20)
    slow.set()
    told = load.ledger
    taken = told.keys(clients.TAKEN)
    sink.wait_for(taken)
    lost = taken - set(sink.copies)
    assert not lost, f"{len(lost)} of {len(taken)} lost, {sorted(lost)[:10]}\n{sidecar.explain()}"
    assert harness.wait_for(lambda: not sidecar.figure(IDLE), 30), sidecar.explain()
    assert left > 0, "no kill came while something was under way"
    assert sidecar.stop() == 0, sidecar.program.tail()
    assert_whole(told, sink, 2 * rounds)
    linked = assert_links(told, sink)
    twice = sum(n - 1 for key, n in sink.copies.items() if key in taken)
    figure(f"{2 * rounds} kills, {len(taken)} items taken, {left // rounds} under way at "
           f"a kill under load; 0 lost, {twice} copies more (whole requests), {linked} spans linked")


def test_what_was_delivered_does_not_come_again(tmp_path, sink):
    """A kill while nothing is in flight causes no duplicates."""
    sidecar = rig.Sidecar(tmp_path, sink, journal="", hold="1s").start()
    with clients.Load(sidecar, "idle") as load:
        load.ledger.wait_taken(rig.moment())
    assert harness.wait_for(lambda: not sidecar.figure(IDLE), 60), sidecar.explain()
    sidecar.kill()
    sidecar.start()
    assert sidecar.figure(IDLE) == 0
    assert sidecar.stop() == 0
    taken = load.ledger.keys(clients.TAKEN)
    assert {key: n for key, n in sink.copies.items() if n != 1} == {}
    assert taken <= set(sink.copies)


def test_spans_are_judged_after_a_kill_as_before(tmp_path, sink):
    """Samples and spans may each arrive before or after the kill."""
    sidecar = rig.Sidecar(tmp_path, sink, journal="", hold="4s").start()
    service = "judged"
    names = ("both before", "profile before", "span before", "both after", "never before",
             "never after")
    ids = {name: clients.new_span_id() for name in names}

    def send(client, request):
        assert client.send(request)[0] == clients.TAKEN
        return request.keys

    def profiles(*names):
        client = clients.HttpClient(sidecar.ingest)
        keys = send(client, clients.push(service, [ids[name] for name in names]))
        client.close()
        assert sink.wait_for(keys), sidecar.program.tail()

    def spans(*names):
        client = clients.GrpcClient(sidecar.grpc)
        send(client, clients.traces(service, ids=[ids[name] for name in names], marked=True))
        client.close()

    profiles("both before", "profile before")
    spans("both before", "span before", "never before")
    sidecar.kill()
    sidecar.start()
    spans("profile before", "both after", "never after")
    profiles("span before", "both after")
    assert sink.wait_for([f"span {each}" for each in ids.values()]), sidecar.explain()
    links = {name: sink.links[each] for name, each in ids.items()}
    for name in names[:4]:
        assert [ids[name]] in links[name] and [] not in links[name], (links, sidecar.explain())
    for name in names[4:]:
        assert links[name] == [[]], (links, sidecar.explain())
    assert sidecar.stop() == 0


def test_sigterm_keeps_what_cannot_be_delivered(tmp_path, sink, figure):
    """The backend is down: the process exits with 0, and the next one delivers each item once."""
    sink.rule = lambda _signal, _keys: 503
    sidecar = rig.Sidecar(tmp_path, sink, journal="", hold="1s", stop="1s").start()
    with clients.Load(sidecar, "kept") as load:
        load.ledger.wait_taken(rig.moment())
        assert sidecar.stop() == 0, sidecar.program.tail()
    assert not sink.copies
    sink.rule = lambda _signal, _keys: 200
    sidecar.start()
    taken = load.ledger.keys(clients.TAKEN)
    assert sink.wait_for(taken), sidecar.explain()
    assert harness.wait_for(lambda: not sidecar.figure(IDLE), 30), sidecar.explain()
    assert sidecar.stop() == 0
    assert {key: n for key, n in sink.copies.items() if n != 1} == {}
    figure(f"{len(taken)} items taken and not delivered at the stop, all received once by the next "
           "process")


def test_without_a_journal_sigterm_tells_what_is_lost(tmp_path, sink):
    """The control for the test above: exit code 3 and correct numbers."""
    sink.rule = lambda _signal, _keys: 503
    sidecar = rig.Sidecar(tmp_path, sink, hold="1s", stop="1s").start()
    with clients.Load(sidecar, "lost", ("http logs", "grpc logs")) as load:
        load.ledger.wait_taken(rig.moment())
        assert sidecar.stop() == 3, sidecar.program.tail()
    taken = load.ledger.keys(clients.TAKEN)
    assert f"{len(taken)} items were acknowledged but not delivered" in sidecar.log()
    assert not sink.copies
