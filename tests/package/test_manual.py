"""Man pages and completion, as the build wrote them from the program's tables."""
import re
import subprocess

import pytest

COMPLETE = r"""
source "$1"; shift
complete -p spanlink >/dev/null
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_spanlink
printf '%s\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def complete(manual, tmp_path):
    """What bash offers for the last of these words."""
    (tmp_path / "config.yaml").touch()

    def run(*words):
        out = subprocess.run(["bash", "-c", COMPLETE, "bash", manual / "spanlink.bash", *words],
                             check=True, capture_output=True, text=True, cwd=tmp_path)
        assert out.stderr == ""
        return out.stdout.split()
    return run


def commands(said):
    rows = said("--help").partition("Commands:\n")[2].partition("\n\n")[0]
    return [row.split()[0] for row in rows.splitlines()]


def test_bash_completes_commands_and_flags(complete, said):
    assert sorted(complete("spanlink", "")) == sorted(commands(said))
    assert complete("spanlink", "valid") == ["validate"]
    assert complete("spanlink", "validate", "") == []
    assert complete("spanlink", "validate", "--conf") == ["--config"]


def test_bash_completes_files_after_config(complete):
    assert complete("spanlink", "--config", "") == ["config.yaml"]
    assert complete("spanlink", "--config", "=", "conf") == ["config.yaml"]
    assert complete("spanlink", "--config", "=") == ["config.yaml"]


def test_bash_completes_keys_after_set(complete):
    assert "receivers." in complete("spanlink", "--set", "")
    assert complete("spanlink", "--set", "receivers.otlp.protocols.grpc.endp") == [
        "receivers.otlp.protocols.grpc.endpoint="]
    assert complete("spanlink", "--set", "=", "extensions.health_check.endp") == [
        "extensions.health_check.endpoint="]


def test_bash_completes_every_key(complete, said):
    offered = set(complete("spanlink", "--set", "processors.batch."))
    keys = re.search(r"^  batch: .*?\n((?:    .*\n)+)", said("components"), re.M).group(1)
    names = {re.split("[. ]", row.strip())[0] for row in keys.splitlines()[1:]
             if "no effect" not in row}
    assert names and {key.split(".")[2].rstrip("=") for key in offered} == names


@pytest.mark.parametrize("page", ["spanlink.1", "spanlink.yaml.5"])
def test_pages_are_sound_and_complete(page, manual, said):
    text = (manual / page).read_text().replace("\\-", "-")
    if page.endswith("1"):
        for name in [*commands(said), "--config", "--set", "--watch"]:
            assert re.search(rf"^\.B {name}\b", text, re.M)
    else:
        for name in ("protocols.grpc.endpoint", "tls.ca_file", "sending_queue.queue_size"):
            assert f"\n.B {name}\n" in text
    # A line of a key's text that begins as a request would vanish.
    known = {"TH", "SH", "SS", "TP", "B", "BR", "nf", "fi", "nh"}
    assert {line[1:].split()[0] for line in text.splitlines() if line[0] == "."} <= known
