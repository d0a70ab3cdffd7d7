"""spanlink and Apache Kafka.

    SPANLINK_BIN          the binary under test; build/release/spanlink by default
    OTELCOL_GATEWAY_BIN   the Collector with Kafka; build/e2e/bin/otelcol-gateway by default

setup.sh brings the broker, the Collector and a client for the tests.
"""
import functools
import pathlib
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import arranged  # noqa: E402
import broker  # noqa: E402
import credentials  # noqa: E402
import gateways  # noqa: E402
import harness  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="longer runs")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: only with --soak")
    config.addinivalue_line("markers", "takes(seconds): about so long; the longest begin first")
    for needed in (harness.SPANLINK, broker.JARS, broker.CLIENT):
        if not needed.exists():
            pytest.exit(f"no {needed}; see {__file__}", returncode=2)


def seconds_of(item):
    """About how long it takes. A worker has one or two more tests than the one it runs: those
    behind the longest are ones that are skipped."""
    if item.get_closest_marker("skip"):
        return 40
    takes = item.get_closest_marker("takes")
    return takes.args[0] if takes else 0


@pytest.hookimpl(tryfirst=True)     # before pytest-xdist, which reads the marks
def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("soak") and not config.getoption("--soak"):
            item.add_marker(pytest.mark.skip(reason="only with --soak"))
        for name in {"guarded", "outcomes"} & set(item.fixturenames):
            item.add_marker(pytest.mark.xdist_group(name))      # one worker starts it for all
    items.sort(key=seconds_of, reverse=True)


@functools.cache
def kafka_of_workers(config):
    """The addresses of a broker that runs until the tests end."""
    folder = tempfile.TemporaryDirectory(prefix="kafka-")
    config.add_cleanup(folder.cleanup)
    cluster = broker.Cluster(pathlib.Path(folder.name))
    config.add_cleanup(cluster.stop)
    return cluster.start().addresses


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """pytest-xdist calls it in its first process, before it starts a worker."""
    node.workerinput["kafka"] = kafka_of_workers(node.config)


@pytest.fixture(scope="session")
def worker(pytestconfig):
    """What the first process gives a worker of pytest-xdist; nothing without one."""
    return getattr(pytestconfig, "workerinput", {})


@pytest.fixture(scope="session")
def soak(pytestconfig):
    return pytestconfig.getoption("--soak")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory, worker):
    """One broker without credentials for all tests that do not stop it."""
    if worker:
        yield broker.Kafka(worker["kafka"])
        return
    cluster = broker.Cluster(tmp_path_factory.mktemp("kafka")).start()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def outcomes(kafka, tmp_path_factory, soak):
    """Those of the simulator's arrangements."""
    return arranged.Play(kafka, tmp_path_factory.mktemp("arranged"), None if soak else 40)


@pytest.fixture(scope="session", autouse=True)
def play_early(request, worker):
    """The arrangements mostly wait, so they play while other tests run."""
    if not worker and any("outcomes" in item.fixturenames for item in request.session.items):
        request.getfixturevalue("outcomes")


@pytest.fixture(scope="session")
def producer(kafka):
    return gateways.Producer(kafka)


@pytest.fixture(autouse=True)
def gateways_end():
    """One that a failed test leaves would take the place of the next try's."""
    before = set(harness.Program.running)
    yield
    for program in set(harness.Program.running) - before:
        if isinstance(program, gateways.Gateway):
            program.kill()


@pytest.fixture
def backend():
    made = gateways.Backend()
    yield made
    made.close()


@pytest.fixture(scope="session")
def guarded(tmp_path_factory):
    """A broker with credentials."""
    cluster = credentials.guarded(tmp_path_factory.mktemp("guarded"))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def newer(tmp_path_factory):
    """The environment of a spanlink with a newer librdkafka than Debian's."""
    return credentials.newer(tmp_path_factory.mktemp("newer"))
