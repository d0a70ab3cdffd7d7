"""Fixtures of the fault tests. SPANLINK_BIN is the binary; default: build/release/spanlink."""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import harness  # noqa: E402
import sink as sinks  # noqa: E402

_figures = []


def pytest_addoption(parser):
    parser.addoption("--soak", action="store_true", help="many more rounds; about 20 minutes")


def pytest_configure():
    if not harness.SPANLINK.exists():
        pytest.exit(f"no binary at {harness.SPANLINK}; set SPANLINK_BIN", returncode=2)


@pytest.fixture
def soak(request):
    return request.config.getoption("--soak")


@pytest.fixture
def figure(request):
    """Adds a line to the summary, from which docs/reliability.md takes its figures."""
    return lambda text: _figures.append(f"{request.node.name}: {text}")


@pytest.fixture
def sink():
    sink = sinks.Sink()
    yield sink
    sink.close()


def pytest_terminal_summary(terminalreporter):
    if _figures:
        terminalreporter.section("figures")
        for line in _figures:
            terminalreporter.write_line(line)
