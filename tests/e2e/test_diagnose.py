"""What is wrong with all spans of a service: `/api/services`, the page on one of its spans, `spanlink
top`, the metrics and the log say the same, with what to do."""
import os
import time

import requests

import harness
import uploads
from test_status import Status, ids, needs_spanlink, top    # noqa: F401

CPU = [("samples", "count"), ("cpu", "nanoseconds")]
SECOND = 10**9


def push(status, spans, start, length):
    pprof = uploads.Pprof(CPU)
    for span in spans:
        pprof.sample([3, 30_000_000], span_id=span)
    status.push("shop", pprof, start, length)


def send(status, number, ended):
    trace, span = ids(number)
    status.send(uploads.trace_request("shop", [(trace, span, ended - 1000, ended, True)]))
    return span


def shop(status):
    return next((each for each in status.get("/api/services")["services"]
                 if each["service"] == "shop"), {"reasons": [], "problem": None})


def told(status, span):
    """What is told of a span, and of its reason for the whole service."""
    why = status.get(f"/api/spans/{span}")
    whole = [each for each in shop(status)["reasons"] if each["reason"] == why["reason"]]
    return why, whole[0] if whole else None


def reason(status, span, word):
    return harness.wait_for(lambda: status.get(f"/api/spans/{span}")["reason"] == word, 30)


def problems(status):
    drawn = top("--once", "--endpoint", f"127.0.0.1:{status.page}").stdout
    return " ".join(drawn.split("\n")).split("! ")[1:]


def spans_by_reason(status):
    page = requests.get(f"http://127.0.0.1:{status.metrics}/metrics", timeout=10).text
    return {line.split('reason="')[1].split('"')[0]: float(line.rsplit(" ", 1)[1])
            for line in page.splitlines() if line.startswith("spanlink_spans{") and "reason" in line}


def test_uploads_that_come_later_than_the_hold(tmp_path):
    status = Status(tmp_path)
    first = send(status, 1, time.time_ns())
    assert reason(status, first, "not_profiled"), status.tail()
    now = time.time_ns()
    push(status, [first], now - 10 * SECOND, 10 * SECOND)
    second = send(status, 2, time.time_ns())
    ended = time.time_ns()
    third = send(status, 3, ended)
    assert reason(status, second, "hold_ran_out") and reason(status, third, "hold_ran_out")
    push(status, [third], ended - SECOND, SECOND)
    for span, word in ((first, "before_first_profile"), (second, "hold_ran_out"),
                       (third, "came_late")):
        assert reason(status, span, word), status.get(f"/api/spans/{span}")
        for said in told(status, span):
            assert "the hold is 1 s" in said["text"], said
            assert said["fix"].startswith("Raise `hold` of the correlation processor"), said
    assert "Raise `hold`" in shop(status)["problem"]["fix"]
    assert any("shop: Uploads of its service come" in each for each in problems(status))
    assert status.stop() == 0, status.tail()


def test_the_clock_of_the_spans_is_behind(tmp_path):
    status = Status(tmp_path)
    behind = 300 * SECOND
    push(status, [], time.time_ns() - 10 * SECOND, 10 * SECOND)
    old = [send(status, number, time.time_ns() - behind) for number in range(1, 4)]
    assert all(reason(status, span, "before_start") for span in old), status.tail()
    now = time.time_ns()
    push(status, old, now - 10 * SECOND, 10 * SECOND)
    linked = [ids(number)[1] for number in range(4, 7)]
    push(status, linked, now, 10 * SECOND)
    for number in range(4, 7):
        send(status, number, time.time_ns() - behind)
    assert harness.wait_for(lambda: shop(status)["linked"] == 3, 20), status.tail()
    why, whole = told(status, old[0])
    for said in (why, whole, status.get(f"/api/spans/{linked[0]}"), shop(status)["problem"]):
        assert said["fix"].startswith("Set the clock of the host of the span's SDK"), said
    assert why["reason"] == whole["reason"] == "before_start" and whole["count"] == 3
    assert spans_by_reason(status) == {"before_start": 3}
    assert any("shop: By their time, the profiles of its last spans are" in each
               for each in problems(status)), problems(status)
    assert status.stop() == 0, status.tail()


def test_samples_that_name_no_span_that_came(tmp_path):
    """It is known once windows of a minute cannot come any more."""
    status = Status(tmp_path, correlation="")
    spans = []

    def is_told():
        now = time.time_ns()
        spans.append(send(status, len(spans) + 1, now))
        push(status, [os.urandom(8).hex() for _ in range(2)], now - SECOND, SECOND)
        return shop(status)["problem"]

    problem = harness.wait_for(is_told, 150, every=1)
    assert problem, status.tail()
    assert "name spans, but none that has come here" in problem["text"], problem
    why, whole = told(status, spans[0])
    assert why["reason"] == whole["reason"] == "ids_unmatched"
    assert why["fix"] == whole["fix"] == problem["fix"]
    assert any("shop: The samples of its service name spans" in each for each in problems(status))
    assert spans_by_reason(status)["ids_unmatched"] > 0
    log = (tmp_path / "spanlink.log").read_text()
    assert log.count('service "shop" is profiled, but none of the last ') == 1, log
    assert status.stop() == 0, status.tail()
