"""No acknowledged data are lost: not on SIGTERM under load, not in an outage."""
import pytest

import rows


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def test_sigterm_in_mid_traffic_loses_nothing(sigterm_future):
    outcome = sigterm_future.result()
    assert outcome.exit_code == 0, outcome.log
    assert outcome.took < 9, "longer than shutdown_timeout"
    assert 0 < len(outcome.acknowledged) < len(outcome.sent), "not in mid-traffic"
    lost = outcome.acknowledged - set(outcome.copies)
    assert not lost, f"{len(lost)} of {len(outcome.acknowledged)} lost\n{outcome.log}"
    assert {i: n for i, n in outcome.copies.items() if i in outcome.acknowledged and n != 1} == {}
    logs = rows.acknowledged(outcome.sent_logs, "id")
    assert 0 < len(logs) < len(outcome.sent_logs)
    assert {i: n for i, n in outcome.log_copies.items() if i in logs and n != 1} == {}
    assert logs <= set(outcome.log_copies)
    assert outcome.sent_sums and outcome.totals == outcome.sent_sums


def test_an_outage_of_the_backends_loses_nothing(outage_future):
    outcome = outage_future.result()
    assert outcome.exit_code == 0, outcome.log
    assert len(outcome.acknowledged) == len(outcome.sent) and not outcome.refused
    assert set(outcome.copies) == outcome.acknowledged, outcome.log
    assert set(outcome.copies.values()) == {1}
    assert outcome.log_copies == dict.fromkeys((log["id"] for log in outcome.sent_logs), 1)
    assert outcome.points_twice == {}
    assert outcome.rides == len(outcome.sent_logs)
    assert outcome.totals == outcome.sent_sums


def test_links_are_true_after_an_outage(outage_future):
    outcome = outage_future.result()
    assert (outcome.precision, outcome.recall) == (1.0, 1.0), outcome.log
