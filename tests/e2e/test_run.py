"""./run.sh, as used in a terminal."""
import os
import shutil
import signal
import subprocess
import tempfile

import pytest

import harness

TAKEN_FROM_THE_CALLER = """\
receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:0"}}}}
exporters: {debug: {verbosity: loud}}
service: {pipelines: {traces: {receivers: [otlp], exporters: [debug]}}}
"""


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def run(*arguments, cwd=None):
    return subprocess.run([harness.ROOT / "run.sh", *arguments], cwd=cwd, timeout=120,
                          capture_output=True, text=True)


def test_no_sample_is_played_when_spanlink_does_not_start():
    ended = run("--set", "receivers.otlp.protocols.http.endpiont=x")
    assert ended.returncode == 1
    assert 'did you mean "endpoint"?' in ended.stderr
    assert "/v1/traces" not in ended.stdout and "sample" not in ended.stdout


@pytest.mark.parametrize("form", ["--config {}", "--config={}"])
def test_a_file_is_named_from_where_the_caller_stands(tmp_path, form):
    (tmp_path / "mine.yaml").write_text(TAKEN_FROM_THE_CALLER)
    ended = run(*form.format("mine.yaml").split(), cwd=tmp_path)
    assert ended.returncode == 1
    assert "mine.yaml:2: exporters.debug.verbosity: found loud" in ended.stderr


def test_one_ctrl_c_during_the_sample_stops_everything_in_order(tmp_path):
    ports = [harness.free_port() for _ in range(3)]
    names = ["otlp.protocols.grpc", "otlp.protocols.http", "pyroscope"]
    command = [harness.ROOT / "run.sh", "--set", f"exporters.file.path={tmp_path}/traces.jsonl"]
    for name, port in zip(names, ports):
        command += ["--set", f"receivers.{name}.endpoint=127.0.0.1:{port}"]
    log = tmp_path / "log"
    with open(log, "wb") as out:
        running = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
    try:
        assert harness.wait_for(lambda: all(map(harness.answers, ports)), 60), log.read_text()
        os.killpg(running.pid, signal.SIGINT)
        assert running.wait(20) == 0, log.read_text()
        assert harness.wait_for(lambda: not group_lives(running.pid), 5), "the sample goes on"
    finally:
        if group_lives(running.pid):
            os.killpg(running.pid, signal.SIGKILL)
    text = log.read_text()
    assert "nothing that was acknowledged was lost" in text
    assert "second signal" not in text and "has been played" not in text


def group_lives(group):
    """Whether a process of the group is running; zombies do not count."""
    states = subprocess.run(["ps", "-eo", "pgid=,stat="], capture_output=True, text=True).stdout
    return any(int(pgid) == group and not state.startswith("Z")
               for pgid, state in map(str.split, states.splitlines()))


@pytest.fixture
def checkout():
    """The files that run.sh and test.sh need, with an existing binary, readable by every user."""
    folder = harness.pathlib.Path(tempfile.mkdtemp())
    for name in ("run.sh", "test.sh"):
        shutil.copy(harness.ROOT / name, folder)
    shutil.copytree(harness.ROOT / "tools", folder / "tools")
    (folder / "build" / "release").mkdir(parents=True)
    for name in ("release.log", "release/spanlink", "release/main.o"):
        (folder / "build" / name).touch(0o755)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file to another user")
@pytest.mark.parametrize("foreign", ["build", "build/release.log", "build/release",
                                     "build/release/main.o", "."])
def test_a_build_of_another_user_is_not_taken_for_a_new_one(checkout, foreign):
    if foreign == ".":
        shutil.rmtree(checkout / "build")
    else:
        for path in [checkout / "build", *checkout.glob("build/**/*")]:
            os.chown(path, 12345, 12345)
        os.chown(checkout / foreign, 0, 0)
    user = ["setpriv", "--reuid=12345", "--regid=12345", "--clear-groups"]
    ended = subprocess.run([*user, checkout / "run.sh", "--build"], capture_output=True, text=True)
    assert ended.returncode == 1
    assert f"12345 cannot write {(checkout / foreign).resolve()}, which" in ended.stderr
    assert "belongs to root" in ended.stderr and "built" not in ended.stdout
    if foreign in ("build", "."):
        ended = subprocess.run([*user, checkout / "test.sh", "lint"], capture_output=True, text=True)
        assert ended.returncode == 1 and "12345 cannot write" in ended.stderr
        assert "passed" not in ended.stdout


SMALL = """\
cmake_minimum_required(VERSION 3.25)
project(small NONE)
file(WRITE ${CMAKE_BINARY_DIR}/spanlink "")
"""


def test_a_copied_checkout_is_rebuilt(checkout, tmp_path):
    (checkout / "CMakeLists.txt").write_text(SMALL)
    shutil.copy(harness.ROOT / "CMakePresets.json", checkout)
    command = ["./run.sh", "--build"]
    assert subprocess.run(command, cwd=checkout).returncode == 0
    copy = tmp_path / "copy"
    shutil.copytree(checkout, copy)
    for said in f"build/release was made for {checkout}; rebuilding it\n", "":
        ended = subprocess.run(command, cwd=copy, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == said + "built: build/release/spanlink\n"


COMPILED = """\
cmake_minimum_required(VERSION 3.25)
project(small C)
add_executable(spanlink cli/main.c)
"""


def test_a_build_of_what_is_there_already_is_announced(checkout):
    (checkout / "CMakeLists.txt").write_text(COMPILED)
    (checkout / "cli").mkdir()
    source = checkout / "cli" / "main.c"
    source.write_text("int main(void) { return 0; }\n")
    shutil.copy(harness.ROOT / "CMakePresets.json", checkout)
    notice = "building spanlink, about half a minute\n"
    for change, said in (False, notice), (False, ""), (True, notice), (False, ""):
        if change:
            source.write_text("int main(void) { return 1; }\n")
        ended = subprocess.run([checkout / "run.sh", "--build"], capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout == said + "built: build/release/spanlink\n"


def test_a_tool_says_which_program_it_wants(tmp_path):
    for name in ("bash", "dirname", "find", "id", "xargs", "echo"):
        (tmp_path / name).symlink_to(shutil.which(name))
    for tool, wanted in (("form.sh", "clang-format ctags"), ("tidy.sh", "clang-tidy"),
                         ("hardening.sh", "readelf objdump"), ("sizes.sh", "strip"),
                         ("fuzz.sh", "clang cmake ninja"), ("validate_configs.sh", "openssl")):
        ended = subprocess.run([harness.ROOT / "tools" / tool], env={"PATH": str(tmp_path)},
                               capture_output=True, text=True)
        assert ended.returncode != 0, tool
        assert f"these programs are missing: {wanted}" in ended.stderr, tool
