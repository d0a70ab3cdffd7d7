"""Installs, upgrades and removes the .deb in a small Debian of its own, under build/package."""
import os
import re
import shutil
import subprocess

import pytest
from conftest import ROOT

AS_ROOT = [] if os.geteuid() == 0 else ["sudo"]
CONFIG = "etc/spanlink/config.yaml"
ALONE = ["unshare", "--net", "python3", str(ROOT / "tests" / "package" / "alone.py")]
BACKENDS = {"TEMPO_ENDPOINT": "localhost:9", "PYROSCOPE_URL": "http://localhost:9"}


def run(*words, **options):
    ran = subprocess.run([*AS_ROOT, *map(str, words)], text=True, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, **options)
    assert ran.returncode == 0, f"{words}:\n{ran.stdout}"
    return ran.stdout


@pytest.fixture(scope="module")
def deb():
    return ROOT / run("tools/package.sh", cwd=ROOT).split()[-1]


@pytest.fixture(scope="module")
def debian():
    """A fresh copy of a small Debian: chroot(words...) runs a command in it, .path is its root."""
    run(ROOT / "tests" / "package" / "chroot.sh")
    path = ROOT / "build" / "package" / "tried"
    run("rm", "-rf", path)
    run("cp", "-a", ROOT / "build" / "package" / "debian", path)

    def chroot(*words):
        return run("env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "unshare",
                   f"--mount-proc={path}/proc", "chroot", path, *words)
    chroot.path = path
    yield chroot
    run("rm", "-rf", path)


def newer(deb, folder):
    """The package as version 9 with another config.yaml."""
    run("dpkg-deb", "-R", deb, folder / "tree")
    run("sed", "-i", "s/^Version: .*/Version: 9/", folder / "tree/DEBIAN/control")
    run("sed", "-i", "1i # new in version 9", folder / "tree" / CONFIG)
    run("dpkg-deb", "-b", folder / "tree", folder / "newer.deb")
    return folder / "newer.deb"


def install(debian, deb):
    run("cp", deb, debian.path / "tmp" / "spanlink.deb")
    return debian("dpkg", "--force-confold", "-i", "/tmp/spanlink.deb")


def unit(debian, key):
    text = (debian.path / "usr/lib/systemd/system/spanlink.service").read_text()
    return re.search(rf"^{key}=(.*)$", text, re.M).group(1)


def start(debian):
    """Runs the unit's command as its user and waits until it is ready. Returns the process."""
    pairs = [f"{name}={value}" for name, value in BACKENDS.items()]
    user = unit(debian, "User")
    words = [*AS_ROOT, *ALONE, "chroot", debian.path, "setpriv", f"--reuid={user}",
             f"--regid={user}", "--clear-groups", "env", "-i", *pairs,
             *unit(debian, "ExecStart").split()]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    said = ""
    for line in process.stderr:
        said += line
        if "is ready" in line:
            return process
    process.wait()
    raise AssertionError(f"it did not start:\n{said}")


def stop(process):
    process.terminate()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said


def test_it_installs_starts_upgrades_and_purges(deb, debian, tmp_path):
    install(debian, deb)
    assert debian("spanlink", "--version").startswith("spanlink ")
    assert debian("systemd-analyze", "verify", "--man=no",
                  "/usr/lib/systemd/system/spanlink.service") == ""
    assert run("stat", "-c", "%U %a", debian.path / "etc/spanlink/environment") == "root 600\n"
    assert debian("stat", "-c", "%U %a", "/var/lib/spanlink") == "spanlink 700\n"
    stop(start(debian))
    assert debian("stat", "-c", "%U", "/var/lib/spanlink/journal") == "spanlink\n"

    run("sh", "-c", f"echo '# kept' >>{debian.path / CONFIG}")
    install(debian, newer(deb, tmp_path))
    config = (debian.path / CONFIG).read_text()
    assert config.endswith("# kept\n") and "new in version 9" not in config
    assert "new in version 9" in (debian.path / (CONFIG + ".dpkg-dist")).read_text()
    stop(start(debian))

    debian("dpkg", "--remove", "spanlink")
    assert (debian.path / CONFIG).exists() and not (debian.path / "usr/bin/spanlink").exists()
    assert (debian.path / "var/lib/spanlink").exists()
    debian("dpkg", "--purge", "spanlink")
    left = run("find", debian.path, "-xdev", "-path", "*spanlink*", "-not", "-path", "*/tmp/*")
    assert left == ""


def test_it_brings_documents_where_debian_has_them(deb):
    files = run("dpkg", "-c", deb)
    for name in ("usr/share/doc/spanlink/copyright", "usr/share/doc/spanlink/changelog.gz",
                 "usr/share/doc/spanlink/README.md", "usr/share/man/man1/spanlink.1.gz",
                 "usr/share/man/man5/spanlink.yaml.5.gz", "usr/lib/sysusers.d/spanlink.conf",
                 "usr/share/bash-completion/completions/spanlink",
                 "usr/share/zsh/vendor-completions/_spanlink",
                 "usr/share/fish/vendor_completions.d/spanlink.fish"):
        assert f" ./{name}\n" in files
    assert set(re.findall(r"\S+", run("dpkg", "-I", deb, "conffiles"))) == {
        "/etc/spanlink/config.yaml", "/etc/spanlink/environment"}


def test_its_changelog_is_readable_by_debian(deb, tmp_path):
    run("dpkg-deb", "-x", deb, tmp_path)
    shutil.copy(tmp_path / "usr/share/doc/spanlink/changelog.gz", tmp_path)
    run("gzip", "-d", tmp_path / "changelog.gz")
    said = run("dpkg-parsechangelog", "-l", tmp_path / "changelog")
    assert "warning" not in said
    assert f"\nVersion: {deb.name.split('_')[1]}\n" in said
