"""The pages: links lead somewhere, tables name files that exist, the README stays short."""
import re

import pytest
from pages import ROOT, anchors, links, pages


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    broken = []
    for target in links(page.read_text()):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or anchor and anchor not in anchors(there.read_text()):
            broken.append(target)
    assert not broken


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text().split()) <= 1200


def test_tables_of_the_design_name_files_that_exist():
    rows = re.findall(r"^\|.*\|$", (ROOT / "docs" / "design.md").read_text(), re.M)
    named = {name for row in rows for name in re.findall(r"`([\w./]+/[\w./]*)`", row)}
    assert len(named) > 50
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_readme_shows_the_usual_configuration():
    """What differs are comments."""
    def bare(text):
        lines = (re.sub(r"\s*#.*", "", line) for line in text.splitlines())
        return [line for line in lines if line]
    shown = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S).group(1)
    assert bare(shown) == bare((ROOT / "configs" / "tempo-pyroscope.yaml").read_text())
