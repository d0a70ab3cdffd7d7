"""The documents that `cmake --install` installs."""
import os
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.append(str(ROOT / "tests" / "docs"))
from pages import anchors, links  # noqa: E402


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder of the documents."""
    stage = tmp_path_factory.mktemp("stage")
    subprocess.run(["cmake", "--install", ROOT / "build" / "release", "--prefix", "/usr"],
                   env={**os.environ, "DESTDIR": str(stage)}, check=True, capture_output=True)
    return stage / "usr/share/doc/spanlink"


def test_every_link_leads_to_an_installed_file(installed):
    pages, broken = sorted(installed.rglob("*.md")), []
    assert len(pages) > 30
    for page in pages:
        for target in links(page.read_text()):
            path, _, anchor = target.partition("#")
            there = (page.parent / path).resolve() if path else page
            if (installed not in there.parents or not there.exists()
                    or anchor and anchor not in anchors(there.read_text())):
                broken.append(f"{page.relative_to(installed)}: {target}")
    assert not broken


def test_the_documents_are_small_and_no_folder_is_empty(installed):
    assert sum(path.stat().st_size for path in installed.rglob("*") if path.is_file()) < 1_500_000
    assert [path for path in installed.rglob("*") if path.is_dir() and not any(path.iterdir())] == []
