"""spanlink beside the Collector with its contrib processors.

    SPANLINK_BIN           the binary under test; build/release/spanlink by default
    OTELCOL_CONTRIB_BIN    the Collector; build/e2e/bin/otelcol-contrib by default (setup.sh)
"""
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sides  # noqa: E402


def pytest_configure():
    for binary in (sides.SPANLINK, sides.OTELCOL):
        if not binary.exists():
            pytest.exit(f"no binary at {binary}; see {__file__}", returncode=2)
