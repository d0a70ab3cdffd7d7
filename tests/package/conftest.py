import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def program():
    return ROOT / "build" / "release" / "spanlink"


@pytest.fixture(scope="session")
def manual():
    """The build's folder of man pages and completion."""
    return ROOT / "build" / "release" / "manual"


@pytest.fixture(scope="session")
def said(program):
    def run(*words):
        return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout
    return run
