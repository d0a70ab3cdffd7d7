"""examples/rideshare: the output of ./examples/rideshare/run.sh, without a backend."""
import re
import subprocess

import pytest
import requests

import example
import harness

REGIONS = ("us-east", "eu-north", "ap-south")
SLOW_REGION = "eu-north"


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


@pytest.fixture(scope="module")
def ended(example_future):
    result = example_future.result()
    assert result.code == 0, result.text
    return result


def test_every_region_and_route_is_in_the_summary(ended):
    assert set(ended.table) == {(region, vehicle) for region in REGIONS
                                for vehicle in ("bike", "scooter", "car")}, ended.text


def test_every_ride_left_spanlink_once(ended):
    ordered = int(re.search(r"(\d+) rides ordered", ended.text).group(1))
    assert sum(line.requests for line in ended.table.values()) == ordered


def test_a_span_is_linked_when_it_computed(ended):
    """On a busy machine a profiler may get no core during a ride's 100 ms; test_link knows which
    spans have samples."""
    for region in REGIONS:
        car, bike = ended.table[region, "car"], ended.table[region, "bike"]
        assert car.linked >= car.requests - 1 > 0, ended.text
        assert car.each > bike.each, ended.text
        assert car.cpu > bike.cpu, ended.text


def test_no_link_is_empty(ended):
    """A sample represents 10 ms."""
    for line in ended.table.values():
        assert line.cpu >= line.linked * 0.01 - 0.005, ended.text


def test_the_slow_region_is_the_slowest(ended):
    slowest = max(REGIONS, key=lambda region: ended.table[region, "car"].each)
    assert slowest == SLOW_REGION, ended.text
    # A single ride may cost more: on a busy machine, a profiler also counts threads that wait for a
    # core.
    assert re.match(r"GET /\w+ in [\w-]+, \d+ ms of CPU, trace [0-9a-f]{32}",
                    ended.text.partition("costliest: ")[2])


def pages(text):
    found = dict(re.findall(r"^(\S+) .*flame graphs: (http://\S+)$", text, re.M))
    assert set(found) == set(REGIONS), text
    return found.values()


def has_rides(page):
    """Whether a region's page has a ride and the flame graph of its route."""
    assert "<title>" in requests.get(page, timeout=10).text
    routes = requests.get(page + "/api/cost", timeout=10).json()["routes"]
    if not routes or not routes[0]["linked"]:
        return False
    route = {"service": routes[0]["service"], "name": routes[0]["span_name"]}
    return requests.get(page + "/api/flamegraph", route, timeout=10).json()["total"] > 0


def test_each_region_serves_its_page_and_ctrl_c_prints_the_summary(tmp_path):
    running = example.Run(tmp_path, 600)
    try:
        assert running.read_until("rides for"), running.text
        assert harness.wait_for(lambda: all(map(has_rides, pages(running.text))), 90)
        running.ctrl_c()
        assert running.read_until("the last spans"), running.text
        running.ctrl_c()
    finally:
        running.finish()
    assert running.code == 0, running.text
    assert "rides ordered" in running.text and "region    route" in running.text


def test_the_sidecars_configuration_is_valid_alone():
    subprocess.run([harness.SPANLINK, "validate", "--config", example.RUN.parent / "sidecar.yaml"],
                   check=True)
