"""The main job with real SDKs and backends: every span that has samples is linked, no other is.

All applications start cold, and their first span counts.
"""
import re

import pytest

import rows

pytestmark = pytest.mark.parametrize("outcome", rows.ROWS, indirect=True, scope="session",
                                     ids=lambda row: row.name)


def test_the_run_was_a_fair_one(outcome):
    """Else the rest would prove nothing."""
    roots = [s for s in outcome.sent if s["local_root"]]
    assert len(roots) > 30 and len(outcome.sent) > len(roots)
    assert len(outcome.acknowledged) == len(outcome.sent), "an SDK gave up on some spans"
    assert not outcome.refused, f"refused: {outcome.refused}\n{outcome.log}"
    assert 5 < len(outcome.sampled) < len(roots)


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
    assert outcome.linked, f"no span is linked\n{outcome.log}"
    assert outcome.empty == [], f"links that show nothing\n{outcome.log}"
    assert outcome.precision == 1.0


def test_every_span_with_samples_is_linked(outcome, bypass):
    if bypass:
        pytest.skip("no spanlink")
    assert outcome.unlinked == [], f"spans with samples and no link\n{outcome.log}"
    assert outcome.recall == 1.0


def test_a_link_is_the_spans_own_id_once(outcome):
    for span in outcome.linked:
        assert span.profile_ids == [span.span_id]
        assert re.fullmatch("[0-9a-f]{16}", span.profile_ids[0])


def test_both_service_names_are_on_the_resource(outcome, bypass):
    if bypass:
        pytest.skip("no spanlink")
    for span in outcome.received:
        names = [pair for pair in span.resource if pair[0] in ("service.name", "service_name")]
        assert sorted(names) == [("service.name", outcome.service),
                                 ("service_name", outcome.service)]


def test_profiles_arrive_with_their_sums_unchanged(outcome):
    assert outcome.complaints == []
    assert outcome.totals == outcome.sent_sums


def test_spanlink_ends_clean(outcome):
    assert outcome.exit_code == 0, outcome.log
