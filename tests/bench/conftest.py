"""BENCH_BIN names another folder of bench_load and bench_sink than build/asan/bench."""
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
PROGRAMS = pathlib.Path(os.environ.get("BENCH_BIN", ROOT / "build/asan/bench"))
# Neither program frees at its end what the connections hold that are open.
os.environ["ASAN_OPTIONS"] = "detect_leaks=0"


def pytest_configure():
    if not (PROGRAMS / "bench_load").exists():
        pytest.exit(f"no bench_load in {PROGRAMS}; set BENCH_BIN", returncode=2)


@pytest.fixture
def load_program():
    return str(PROGRAMS / "bench_load")


@pytest.fixture
def sink_program():
    return str(PROGRAMS / "bench_sink")
