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
import harness  # noqa: E402


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="longer runs")


def pytest_configure():
    for needed in (harness.SPANLINK, broker.JARS, broker.CLIENT):
        if not needed.exists():
            pytest.exit(f"no {needed}; see {__file__}", returncode=2)


@pytest.fixture(scope="session")
def soak(pytestconfig):
    return pytestconfig.getoption("--soak")


@pytest.fixture(scope="session")
def kafka(tmp_path_factory):
    """One broker without credentials for all tests that do not stop it."""
    cluster = broker.Cluster(tmp_path_factory.mktemp("kafka")).start()
    yield cluster
    cluster.stop()
