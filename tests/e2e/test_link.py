"""The main feature with real SDKs and backends: exactly the spans with samples are linked.

All applications start cold, and their first span counts.
"""
import re

import pytest

import rows

CUMULATIVE = 2


def test_the_run_was_a_fair_one(outcome):
    """Otherwise the other tests would prove nothing."""
    roots = [s for s in outcome.sent if s["local_root"]]
    assert len(roots) > 30 and len(outcome.sent) > len(roots)
    assert len(outcome.acknowledged) == len(outcome.sent), "an SDK gave up on some spans"
    assert not outcome.refused, f"refused: {outcome.refused}\n{outcome.log}"
    if outcome.row.sampled:
        assert 5 < len(outcome.sampled) < len(roots)
    else:
        assert not outcome.sampled
    assert outcome.sent_sums, "no profile"
    logs = rows.acknowledged(outcome.sent_logs, "id")
    assert len(logs) == len(outcome.sent_logs) == len(roots), "an SDK gave up on some logs"
    assert all(metrics["acknowledged"] for metrics in outcome.metrics)


def test_every_span_arrives_exactly_once(outcome):
    sent = {s["span_id"] for s in outcome.sent}
    missing = sent - set(outcome.copies)
    assert not missing, f"{len(missing)} of {len(sent)} spans did not arrive\n{outcome.log}"
    assert set(outcome.copies) == sent
    assert {i: n for i, n in outcome.copies.items() if n != 1} == {}


def test_spans_are_what_was_sent(outcome):
    sent = {s["span_id"]: s for s in outcome.sent}
    for span in outcome.received:
        was = sent[span.span_id]
        assert (span.trace_id, span.start, span.end) == (was["trace_id"], was["start"], was["end"])


def test_every_linked_span_has_a_flame_graph(outcome, bypass):
    if bypass:
        pytest.skip("no spanlink")
    assert bool(outcome.linked) == outcome.row.sampled, outcome.log
    assert outcome.empty == [], f"links that show nothing\n{outcome.log}"
    assert outcome.precision == (1.0 if outcome.row.sampled else None)


def test_every_span_with_samples_is_linked(outcome, bypass):
    if bypass:
        pytest.skip("no spanlink")
    assert outcome.unlinked == [], f"spans with samples and no link\n{outcome.log}"
    assert outcome.recall == (1.0 if outcome.row.sampled else None)


def test_a_link_is_the_spans_own_id_once(outcome):
    for span in outcome.linked:
        assert span.profile_ids == [span.span_id]
        assert re.fullmatch("[0-9a-f]{16}", span.profile_ids[0])


def test_every_log_record_arrives_exactly_once(outcome):
    assert set(outcome.log_copies) == {log["id"] for log in outcome.sent_logs}, outcome.log
    assert {i: n for i, n in outcome.log_copies.items() if n != 1} == {}


def test_log_records_name_their_spans(outcome):
    sent = {log["id"]: (log["trace_id"], log["span_id"]) for log in outcome.sent_logs}
    assert {log.body: (log.trace_id, log.span_id) for log in outcome.logs} == sent
    spans = {(span["trace_id"], span["span_id"]) for span in outcome.sent}
    assert set(sent.values()) <= spans


def test_no_data_point_arrives_twice(outcome):
    assert outcome.points and outcome.points_twice == {}


def test_the_counters_end_at_their_totals(outcome):
    points = [point for point in outcome.points if point.metric == "rides"]
    assert {point.temporality for point in points} == {CUMULATIVE}
    assert outcome.rides == sum(metrics["rides"] for metrics in outcome.metrics)
    assert outcome.rides == len(outcome.sent_logs)


def test_both_service_names_are_on_the_resource(outcome, bypass):
    if bypass:
        pytest.skip("no spanlink")
    for item in outcome.received + outcome.logs + outcome.points:
        names = [pair for pair in item.resource if pair[0] in ("service.name", "service_name")]
        assert sorted(names) == [("service.name", outcome.service),
                                 ("service_name", outcome.service)]


def test_profiles_arrive_with_their_sums_unchanged(outcome):
    assert outcome.complaints == []
    assert outcome.totals == outcome.sent_sums


def test_spanlink_ends_clean(outcome):
    assert outcome.exit_code == 0, outcome.log
