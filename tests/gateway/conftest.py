"""spanlink and Apache Kafka.

    SPANLINK_BIN          the binary under test; build/release/spanlink by default
    OTELCOL_GATEWAY_BIN   the Collector with Kafka; build/e2e/bin/otelcol-gateway by default

setup.sh brings the broker, the Collector and a client for the tests.
"""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import broker  # noqa: E402
import credentials  # noqa: E402
import harness  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="longer runs")


def pytest_configure(config):
    config.addinivalue_line("markers", "soak: only with --soak")
    for needed in (harness.SPANLINK, broker.JARS, broker.CLIENT):
        if not needed.exists():
            pytest.exit(f"no {needed}; see {__file__}", returncode=2)


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--soak"):
        for item in items:
            if item.get_closest_marker("soak"):
                item.add_marker(pytest.mark.skip(reason="only with --soak"))


@pytest.fixture(scope="session")
def soak(pytestconfig):
    return pytestconfig.getoption("--soak")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    """One broker without credentials for all tests that do not stop it."""
    cluster = broker.Cluster(tmp_path_factory.mktemp("kafka")).start()
    yield cluster
    cluster.stop()


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
