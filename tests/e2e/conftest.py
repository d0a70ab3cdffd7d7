"""Fixtures: backends for the whole run, and rows that run in the background from the start.

    SPANLINK_BIN     the binary under test; build/release/spanlink by default
    PYROSCOPE_BIN    a real Pyroscope server, in place of the stand-in
    TEMPO_BIN        a real Tempo, in place of the Collector
    E2E_BYPASS=1     without spanlink: the SDKs alone (only arrival is asserted)
"""
import concurrent.futures
import contextlib
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import example  # noqa: E402
import faults  # noqa: E402
import harness  # noqa: E402
import recorded  # noqa: E402
import rows  # noqa: E402

BYPASS = os.environ.get("E2E_BYPASS") == "1"
_outcomes = []


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="the long rows too; about 20 minutes")


def pytest_configure(config):
    if not BYPASS and not harness.SPANLINK.exists():
        pytest.exit(f"no binary at {harness.SPANLINK}; set SPANLINK_BIN", returncode=2)


def pytest_generate_tests(metafunc):
    if "outcome" in metafunc.fixturenames:
        chosen = [row for row in rows.ROWS
                  if not row.soak or metafunc.config.getoption("--soak")]
        metafunc.parametrize("outcome", chosen, indirect=True, scope="session",
                             ids=lambda row: row.name)


def pytest_collection_modifyitems(items):
    """Runs quick tests first, while the background rows are running."""
    order = ["test_standin", "test_config", "test_check", "test_pods", "test_tls",
             "test_run", "test_log", "test_hosts", "test_wrong_port", "test_reload",
             "test_collector", "test_telemetry", "test_status", "test_numbers", "test_cost",
             "test_graphs", "test_kinds", "test_diagnose", "test_incident", "test_grafana", "test_sdks",
             "test_link", "test_scrape", "test_auth", "test_recorded", "test_example", "test_loss"]
    items.sort(key=lambda item: order.index(item.module.__name__))


@pytest.fixture(scope="session")
def bypass():
    return BYPASS


@pytest.fixture(scope="session")
def backends(tmp_path_factory):
    """One of each for all rows; a real Tempo or Pyroscope if configured."""
    def start(kind, name):
        return kind(tmp_path_factory.mktemp(name)).start()
    with contextlib.ExitStack() as stack:
        others = start(harness.Collector, "collector")
        stack.callback(others.stop)
        traces = others
        if os.environ.get("TEMPO_BIN"):
            traces = start(harness.Tempo, "tempo")
            stack.callback(traces.stop)
        kind = harness.Pyroscope if os.environ.get("PYROSCOPE_BIN") else harness.Standin
        profiles = start(kind, "profiles")
        stack.callback(profiles.stop)
        yield harness.Backends(traces, profiles, others)


@pytest.fixture(scope="session")
def background():
    """Threads for long runs in the background."""
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        yield pool
        pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="session", autouse=True)
def started(request):
    """Starts, before the first test, every long run that a collected test needs."""
    wanted = {name for item in request.session.items for name in item.fixturenames}
    if "outcome" in wanted:
        request.getfixturevalue("row_futures")
    for name in ("recorded_futures", "sigterm_future", "outage_future", "example_future"):
        if name in wanted and not BYPASS:
            request.getfixturevalue(name)


@pytest.fixture(scope="session")
def row_futures(request, background, backends, tmp_path_factory):
    wanted = {item.callspec.params["outcome"] for item in request.session.items
              if hasattr(item, "callspec") and "outcome" in item.callspec.params}
    return {row: background.submit(rows.run, row, tmp_path_factory.mktemp(row.name), backends,
                                   BYPASS)
            for row in rows.ROWS if row in wanted}


@pytest.fixture(scope="session")
def sigterm_future(background, tmp_path_factory):
    return background.submit(faults.end_in_mid_traffic, tmp_path_factory.mktemp("sigterm"))


@pytest.fixture(scope="session")
def outage_future(background, tmp_path_factory):
    return background.submit(faults.run_through_an_outage, tmp_path_factory.mktemp("outage"))


@pytest.fixture(scope="session")
def example_future(background, tmp_path_factory):
    return background.submit(example.run, tmp_path_factory.mktemp("example"), 20)


@pytest.fixture(scope="session")
def recorded_futures(background, tmp_path_factory):
    return {name: background.submit(recorded.play, tmp_path_factory.mktemp(name), name)
            for name in recorded.SERVICES}


@pytest.fixture(scope="session")
def outcome(request, row_futures):
    """The outcome of the test's row."""
    result = row_futures[request.param].result()
    if result not in _outcomes:
        _outcomes.append(result)
    return result


def pytest_terminal_summary(terminalreporter):
    if not _outcomes:
        return

    def ratio(value):
        return "-" if value is None else f"{value:.3f}"

    write = terminalreporter.write_line
    terminalreporter.section("end to end" + (", without spanlink" if BYPASS else ""))
    write(f"{'SDK':8}{'mode':11}{'OTLP':6}{'processes':>9}{'spans':>7}{'received':>10}"
          f"{'linked':>8}{'with samples':>14}{'precision':>11}{'recall':>8}{'logs':>7}"
          f"{'received':>10}{'points':>8}")
    for o in sorted(_outcomes, key=lambda o: o.row.name):
        sampled = sum(1 for i in o.copies if i in o.sampled)
        write(f"{o.row.language:8}{o.row.mode:11}{o.row.protocol:6}{o.row.processes:>9}"
              f"{len(o.sent):>7}{len(o.received):>10}{len(o.linked):>8}{sampled:>14}"
              f"{ratio(o.precision):>11}{ratio(o.recall):>8}{len(o.sent_logs):>7}"
              f"{len(o.logs):>10}{len(o.points):>8}")
