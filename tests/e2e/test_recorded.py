"""The recordings can be replayed, and are linked like live traffic."""
import pytest

import recorded


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


@pytest.mark.parametrize("name", recorded.SERVICES)
def test_a_recording_is_linked_as_live_traffic(recorded_futures, name):
    outcome = recorded_futures[name].result()
    assert outcome.played == 0 and not outcome.refused, outcome.log
    assert set(outcome.copies) == {s["span_id"] for s in outcome.sent}, outcome.log
    assert set(outcome.copies.values()) == {1}
    assert (outcome.precision, outcome.recall) == (1.0, 1.0), outcome.log
    assert {span.span_id for span in outcome.linked} == outcome.sampled & set(outcome.copies)
    assert outcome.complaints == []
    # The test reads only CPU time from JFR; the server derives more profiles.
    kinds = outcome.sent_sums if name.startswith("java") else outcome.totals
    assert {kind: outcome.totals[kind] for kind in kinds} == outcome.sent_sums
    assert outcome.exit_code == 0, outcome.log
