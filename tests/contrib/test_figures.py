"""Processors' own metrics have the names, labels and values of the Collector's. spanlink's have the
label `processor` too, by which it keeps processors of one type apart."""
import collections
import re
import urllib.request

import pytest
import sides

# Processors with the signals that they process, and how many samples there are at least.
CASES = {
    "filter": (("traces", "metrics", "logs"), 3, {"filter": {
        "traces": {"span": ["kind == SPAN_KIND_SERVER"]},
        "metrics": {"datapoint": ["attributes[\"path\"] != nil"]},
        "logs": {"log_record": ["severity_number >= SEVERITY_NUMBER_WARN"]}}}),
    "groupbyattrs": (("traces", "metrics", "logs"), 50, {
        "groupbyattrs": {"keys": ["http.method", "user.id"]}}),
    "probabilistic_sampler": (("traces", "logs"), 8, {
        "probabilistic_sampler/hash": {
            "sampling_percentage": 50, "hash_seed": 7, "attribute_source": "record",
            "from_attribute": "user.id", "fail_closed": False},
        "probabilistic_sampler/equalizing": {
            "sampling_percentage": 60, "mode": "equalizing",
            "sampling_priority": "sampling.priority", "fail_closed": False}}),
}


def figures(side, kind, folder):
    """The values of the own metrics of a type's processors, added up by name and labels."""
    folder.mkdir()
    signals, _, processors = CASES[kind]
    port, page, found = sides.free_port(), sides.free_port(), collections.Counter()
    settings = sides.config(side, [{"processors": processors, "signals": signals}], folder, port)
    settings["service"]["telemetry"]["metrics"] = {"level": "detailed", "readers": [
        {"pull": {"exporter": {"prometheus": {"host": "127.0.0.1", "port": page}}}}]}

    def scrape():
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/metrics", timeout=5) as answer:
            for line in answer.read().decode().splitlines():
                name, value = line.rsplit(" ", 1)
                if (name.startswith(f"otelcol_processor_{kind}_") and "_profiles_" not in name
                        and "_errors" not in name):
                    plain = re.sub('processor="[^"]*",?', "", name).removesuffix("{}")
                    found[plain] += float(value)

    sides.feed(side, settings, port, folder, signals, then=scrape)
    return found


@pytest.mark.parametrize("kind", CASES)
def test_figures_are_the_collectors(kind, tmp_path):
    theirs = figures("otelcol", kind, tmp_path / "theirs")
    assert len(theirs) >= CASES[kind][1]
    assert figures("spanlink", kind, tmp_path / "ours") == theirs
