"""docs/adding-a-component.md, step by step: its files are written, its commands run, and what they
print is what it says. Only the port is another one."""
import os
import re
import socket
import subprocess

import pytest
from pages import FENCE, ROOT

PAGE = ROOT / "docs" / "adding-a-component.md"
EXAMPLE = ROOT / "examples" / "component"
FILES = ("c", "yaml")


def blocks():
    """(kind, text, name) of each fenced block: the name of a file stands in front of it."""
    text = PAGE.read_text()
    for found in FENCE.finditer(text):
        named = re.search(r"`([\w./-]+)`:\n\n\Z", text[:found.start()])
        yield found.group(1), found.group(2), named.group(1) if found.group(1) in FILES else None


@pytest.mark.parametrize("name", ["processors/environment/environment.c", "environment.yaml"])
def test_the_page_shows_the_example(name):
    assert [text for _, text, named in blocks() if named == name] == [(EXAMPLE / name).read_text()]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def script_of_the_page():
    """One script of the whole page, which prints a line before each output that is promised."""
    script, promised = ["set -e"], []
    for kind, text, name in blocks():
        if kind == "text":
            script.append(f"echo '== {len(promised)}'")
            promised.append(text.splitlines())
        elif name:
            script.append(f"cat > {name} <<'END OF FILE'\n{text}END OF FILE")
        elif kind == "sh":
            script.append(text)
    return "\n".join(script).replace("localhost:4318", f"127.0.0.1:{free_port()}"), promised


def test_every_step_does_what_the_page_says(tmp_path):
    home, folder = tmp_path / "home", tmp_path / "mine"
    home.mkdir()
    folder.mkdir()
    (home / "spanlink").symlink_to(ROOT)
    script, promised = script_of_the_page()
    ended = subprocess.run(["bash", "-c", script], cwd=folder, env={**os.environ, "HOME": str(home)},
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=1800)
    assert ended.returncode == 0, ended.stdout
    printed = re.split(r"^== \d+\n", ended.stdout, flags=re.M)
    assert len(printed) == len(promised) + 1 >= 4, ended.stdout
    for lines, output in zip(promised, printed):
        missing = [line for line in lines if line not in output]
        assert not missing, output
