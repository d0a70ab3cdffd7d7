"""Backends that refuse, reset, hang and reject: all good items arrive, and the counters are
exact."""
import random
import re
import threading

import pytest

import clients
import rig
import sink as sinks

PROTOCOLS = ("grpc", "http")
OTLP_KINDS = ("http traces", "grpc traces", "http logs", "grpc metrics")
REQUESTS = 60


def count(soak):
    return REQUESTS * 10 if soak else REQUESTS


def finish(sidecar, sink, load):
    """Waits until everything accepted has arrived and been counted. Returns the counters."""
    taken = load.ledger.keys(clients.TAKEN)
    assert sink.wait_for(taken), sidecar.program.tail()
    exporters = [name for name in ("otlp_grpc", "otlp_http", "pyroscope")
                 if f"{name}: queue" in sidecar.explain()]
    for name in exporters:
        while sidecar.figure(rf"{name}: queue holds (\d+)"):
            pass
    return taken, sidecar.explain()


def total(account, word, *instances):
    """The sum of a counter over all signals of these instances."""
    return sum(int(number) for line in account.splitlines()
               for name, rest in re.findall(r"(\w+): (?:\w+ )*?(\w+ .*)$", line)
               if name in instances
               for number in re.findall(rf"\b{word} (\d+)", rest))


def assert_account(account, sent, dropped=0):
    exporters = ("otlp_grpc", "otlp_http", "pyroscope")
    assert total(account, "sent", *exporters) == sent, account
    assert total(account, "dropped", *exporters) == dropped, account
    assert total(account, "accepted", "otlp", "pyroscope") == sent + dropped, account


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_unavailable_for_most_requests(tmp_path, sink, soak, figure, protocol):
    dice, seen = random.Random(1), []

    def rule(_signal, _keys):
        seen.append(503 if dice.random() < 0.7 else 200)
        return seen[-1]
    sink.rule = rule
    sidecar = rig.Sidecar(tmp_path, sink, protocol=protocol, hold="1s").start()
    with clients.Load(sidecar, "unavailable") as load:
        load.ledger.wait_taken(count(soak))
    taken, account = finish(sidecar, sink, load)
    assert {key: n for key, n in sink.copies.items() if n != 1} == {}
    assert taken <= set(sink.copies)
    assert_account(account, len(taken))
    assert total(account, "retries", "otlp_grpc", "otlp_http", "pyroscope") == seen.count(503)
    assert sidecar.stop() == 0
    figure(f"{len(taken)} items, {seen.count(503)} of {len(seen)} tries refused, all received once")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_connections_are_reset(tmp_path, sink, soak, figure, protocol):
    """Resets in the middle of requests and responses. A request without a response is sent
    again."""
    dice = random.Random(2)
    cutters = [sinks.Cutter(to, lambda: dice.choice((100, 400, 1500, 4000, 20000, 20000)))
               for to in (getattr(sink, protocol), sink.http)]
    sidecar = rig.Sidecar(tmp_path, sink, protocol=protocol, hold="1s", otlp=cutters[0].at,
                          profiles=cutters[1].at).start()
    with clients.Load(sidecar, "reset") as load:
        load.ledger.wait_taken(count(soak))
    taken, account = finish(sidecar, sink, load)
    assert sum(cutter.cuts for cutter in cutters) > 0
    assert_account(account, len(taken))
    assert sidecar.stop() == 0
    for cutter in cutters:
        cutter.close()
    again = sum(n - 1 for key, n in sink.copies.items())
    figure(f"{len(taken)} items, {sum(c.cuts for c in cutters)} connections reset, all received; "
           f"{again} copies more after a lost answer")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_some_answers_never_come(tmp_path, sink, soak, figure, protocol):
    """Every fifth request hangs until the exporter's timeout, and the sink discards it."""
    end, lock, seen = threading.Event(), threading.Lock(), [0, 0]

    def rule(_signal, _keys):
        with lock:
            seen[0] += 1
            hangs = seen[0] % 5 == 1
            seen[1] += hangs
        if hangs:
            end.wait()
            return 503
        return 200
    sink.rule = rule
    sidecar = rig.Sidecar(tmp_path, sink, protocol=protocol, hold="1s", timeout="300ms").start()
    try:
        with clients.Load(sidecar, "hang") as load:
            load.ledger.wait_taken(count(soak))
        taken, account = finish(sidecar, sink, load)
    finally:
        end.set()
    assert_account(account, len(taken))
    assert sidecar.stop() == 0
    figure(f"{len(taken)} items, {seen[1]} of {seen[0]} requests never answered, all received")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_poisoned_item_costs_itself_alone(tmp_path, sink, soak, figure, protocol):
    """The backend permanently refuses every request that contains a certain item, which may be one
    of several data points of a metric."""
    poison = set()
    sink.rule = lambda _signal, keys: 400 if poison.intersection(keys) else 200
    sidecar = rig.Sidecar(tmp_path, sink, protocol=protocol, hold="1s", batch=200).start()
    client = clients.HttpClient(sidecar.http)
    with clients.Load(sidecar, "poison", OTLP_KINDS) as load:
        for make in (clients.traces, clients.logs, clients.metrics) * (10 if soak else 1):
            request = make("poison")
            poison.add(request.keys[2])
            told, _ = client.send(request)
            load.ledger.note(request, told)
            assert sink.wait_for(set(request.keys) - poison), sidecar.explain()
            load.ledger.wait_taken(count(soak) // 5)
    client.close()
    taken = load.ledger.keys(clients.TAKEN)
    assert poison <= taken
    assert sink.wait_for(taken - poison), sidecar.explain()
    assert not poison & set(sink.copies)
    assert {key: n for key, n in sink.copies.items() if n != 1} == {}
    while sidecar.figure(rf"otlp_{protocol}: queue holds (\d+)"):
        pass
    account = sidecar.explain()
    assert_account(account, len(taken) - len(poison), len(poison))
    assert total(account, "invalid", f"otlp_{protocol}") == len(poison), account
    assert sidecar.stop() == 3
    figure(f"{len(taken)} items, {len(poison)} of them poisoned and dropped, all others received "
           "once")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_a_backend_forbids_is_dropped_and_counted(tmp_path, sink, figure, protocol):
    """It is not retried, and later requests arrive."""
    sink.rule = lambda signal, _keys: 403 if signal == "logs" else 200
    sidecar = rig.Sidecar(tmp_path, sink, protocol=protocol, hold="1s").start()
    with clients.Load(sidecar, "forbidden", OTLP_KINDS) as load:
        load.ledger.wait_taken(REQUESTS)
    taken = load.ledger.keys(clients.TAKEN)
    logs = {key for key in taken if key.startswith("log")}
    assert logs and sink.wait_for(taken - logs), sidecar.program.tail()
    while sidecar.figure(rf"otlp_{protocol}: queue holds (\d+)"):
        pass
    account = sidecar.explain()
    assert_account(account, len(taken - logs), len(logs))
    assert sidecar.stop() == 3
    assert f"{len(logs)} log records acknowledged but not delivered" in sidecar.log()
    figure(f"{len(taken)} items, {len(logs)} of them forbidden and dropped, all others received")
