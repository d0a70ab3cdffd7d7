"""The image's root file system, run as in a container: own root, network and user, read-only."""
import ctypes
import json
import re
import shlex
import subprocess

import pytest
from conftest import ROOT
from test_deb import ALONE, AS_ROOT, BACKENDS, run, stop

DOCKERFILE = (ROOT / "packaging" / "Dockerfile").read_text()
EPOCH = "1700000000"


def make(program, folder, *options):
    run("rm", "-rf", folder)
    run("env", f"SOURCE_DATE_EPOCH={EPOCH}", ROOT / "packaging" / "rootfs.sh", *options, program,
        folder)
    return folder


def size(root):
    return sum(path.stat().st_size for path in root.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def root(program):
    folder = make(program, ROOT / "build" / "package" / "rootfs")
    yield folder
    run("rm", "-rf", folder)


def instruction(name):
    return re.findall(rf"^{name} (.*)$", DOCKERFILE.split("FROM scratch")[1], re.M)[-1]


def inside(root, *words):
    """The command line that runs these words in the container."""
    user = instruction("USER")
    variables = [f"{name}={value}" for name, value in BACKENDS.items()]
    script = (f"mount --bind {root} {root} && "
              f"mount -o remount,ro,bind {root} && exec "
              + shlex.join(["env", "-i", *variables, "/usr/sbin/chroot", f"--userspec={user}",
                            "--groups=", str(root), *words]))
    return [*AS_ROOT, "unshare", "--mount", *ALONE, "sh", "-c", script]


def test_it_is_small_and_has_nothing_to_run_but_spanlink(root):
    files = [path for path in root.rglob("*") if path.is_file()]
    assert size(root) < 16_000_000
    assert [str(path.relative_to(root)) for path in files
            if path.stat().st_mode & 0o111 and ".so" not in path.name] == ["usr/bin/spanlink"]


def test_it_starts_and_is_healthy_as_the_image_says(root):
    words = json.loads(instruction("ENTRYPOINT")) + json.loads(instruction("CMD"))
    process = subprocess.Popen(inside(root, *words), stderr=subprocess.PIPE, text=True)
    said = ""
    for line in process.stderr:
        said += line
        if "is ready" in line:
            break
    assert "is ready" in said, said
    check = json.loads(re.search(r"^  CMD (\[.*\])$", DOCKERFILE, re.M).group(1))
    variables = [f"{name}={value}" for name, value in BACKENDS.items()]
    run("nsenter", f"--target={process.pid}", "--net", "env", *variables, "/usr/sbin/chroot",
        f"--userspec={instruction('USER')}", root, *check)
    status = open(f"/proc/{process.pid}/status").read()
    assert re.search(r"^Uid:\s+65532\s+65532", status, re.M)
    stop(process)


def loads(root, name):
    loader = next(root.glob("lib64/ld-linux*"))
    library = next(root.rglob(name))
    out = run("chroot", root, "/" + str(loader.relative_to(root)), "--list",
              "/" + str(library.relative_to(root)))
    assert "not found" not in out


def test_every_library_that_is_loaded_late_is_there(root):
    for name in ("libgnutls.so.30", "libidn2.so.0", "libsnappy.so.1", "liblz4.so.1"):
        loads(root, name)


KAFKA = ("yaml:{receivers: {otlp: {protocols: {http: }}}, exporters: {kafka: {brokers: ['127.0.0.1:1']}}, "
         "service: {pipelines: {traces: {receivers: [otlp], exporters: [kafka]}}}}")


def test_kafka_is_included_on_request(root, program):
    assert not list(root.rglob("librdkafka*"))
    other = make(program, ROOT / "build" / "package" / "rootfs-kafka", "--kafka")
    try:
        assert size(other) < 24_000_000
        loads(other, "librdkafka.so.1")
        for folder, sentence in ((root, "librdkafka.so.1"), (other, "127.0.0.1:1")):
            done = subprocess.run(
                list(map(str, inside(folder, "/usr/bin/spanlink", "check", "--config", KAFKA))),
                capture_output=True, text=True)
            assert done.returncode == 1 and sentence in done.stdout + done.stderr, done
    finally:
        run("rm", "-rf", other)


def test_its_snappy_is_whole(root):
    """It is relinked for the image; called here as the binary calls it."""
    snappy = ctypes.CDLL(str(next(root.rglob("libsnappy.so.1"))))
    text = b"span " * 1000
    packed = ctypes.create_string_buffer(snappy.snappy_max_compressed_length(len(text)))
    size = ctypes.c_size_t(len(packed))
    assert snappy.snappy_compress(text, ctypes.c_size_t(len(text)), packed,
                                  ctypes.byref(size)) == 0
    assert size.value < len(text) / 10
    out, length = ctypes.create_string_buffer(len(text)), ctypes.c_size_t(len(text))
    assert snappy.snappy_uncompress(packed, size, out, ctypes.byref(length)) == 0
    assert out.raw == text


def test_its_bill_of_materials_names_every_library(root):
    bill = json.loads((root / "usr/share/spanlink/sbom.spdx.json").read_text())
    assert bill["spdxVersion"] == "SPDX-2.3"
    names = {package["name"] for package in bill["packages"]}
    assert {"spanlink", "libc6", "libcurl4-gnutls-dev", "libmicrohttpd-dev"} <= names
    known = {package["SPDXID"] for package in bill["packages"]} | {"SPDXRef-DOCUMENT"}
    for link in bill["relationships"]:
        assert {link["spdxElementId"], link["relatedSpdxElement"]} <= known
    for package in bill["packages"]:
        assert package["versionInfo"] and package["downloadLocation"]


def test_two_are_equal(root, program):
    other = make(program, ROOT / "build" / "package" / "rootfs2")

    def archive(folder):
        return run("sh", "-c", f"tar --sort=name -C {folder} -cf - . | sha256sum")
    assert archive(root) == archive(other)
    run("rm", "-rf", other)
