"""The recordings can still be played, and are linked as live traffic is."""
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
    assert outcome.totals == outcome.sent_sums and outcome.complaints == []
    assert outcome.exit_code == 0, outcome.log
