"""A release built again in another folder has the same bytes."""
import hashlib
import os
import re
import subprocess

import pytest
from conftest import ROOT


def copy_sources(folder):
    """The working tree's files, without the repository and build results."""
    names = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                           cwd=ROOT, check=True, capture_output=True).stdout
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-C", ROOT, "--null", "--files-from=-", "-cf", folder / "all.tar"],
                   input=names, check=True)
    subprocess.run(["tar", "-C", folder, "-xf", folder / "all.tar"], check=True)
    (folder / "all.tar").unlink()


@pytest.fixture(scope="module")
def deb():
    out = subprocess.run(["tools/package.sh"], cwd=ROOT, check=True, capture_output=True,
                         text=True, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
    return ROOT / out.stdout.split()[-1]


def test_a_release_elsewhere_has_the_same_bytes(deb, said, tmp_path):
    commit = re.search(r"^commit: (.*)$", said("--version"), re.M).group(1)
    folder = tmp_path / "another place"
    copy_sources(folder)
    env = {**os.environ, "SPANLINK_COMMIT": commit, "SOURCE_DATE_EPOCH": "1700000000"}
    out = subprocess.run(["tools/release.sh"], cwd=folder, env=env, text=True,
                         stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT)
    assert out.returncode == 0, out.stdout
    files = folder / "build" / "files"
    assert (files / deb.name).read_bytes() == deb.read_bytes()
    sums = dict(reversed(line.split(None, 1))
                for line in (files / "SHA256SUMS").read_text().splitlines())
    version = deb.name.split("_")[1]
    assert {f"spanlink-{version}.tar.gz", f"spanlink-{version}-linux-amd64.tar.gz",
            f"spanlink-{version}.spdx.json", deb.name, "NOTES.md"} <= set(sums)
    for name, digest in sums.items():
        assert hashlib.sha256((files / name).read_bytes()).hexdigest() == digest
    assert (files / "NOTES.md").read_text().strip()
