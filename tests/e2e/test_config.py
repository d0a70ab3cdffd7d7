"""An invalid configuration is reported with file, line and key."""
import contextlib
import os
import re
import socket
import subprocess

import pytest

import harness

GOOD = """\
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:{grpc}
      http:
        endpoint: 127.0.0.1:{http}
  pyroscope:
    endpoint: 127.0.0.1:{ingest}
processors:
  correlation:
    hold_max_mib: 8
exporters:
  otlp_grpc:
    endpoint: 127.0.0.1:4417
    tls:
      insecure: true
  pyroscope:
    endpoint: http://127.0.0.1:4440
service:
  pipelines:
    traces:
      receivers: [otlp]
      processors: [correlation]
      exporters: [otlp_grpc]
    profiles:
      receivers: [pyroscope]
      processors: [correlation]
      exporters: [pyroscope]
"""

HEALTH = """\
  extensions: [health_check]
extensions: {{health_check: {{endpoint: "127.0.0.1:{health}"}}}}
"""

# text to replace, replacement, line of the error, key in the message, other text in the message
WRONG = {
    "misspelt key": ("        endpoint: 127.0.0.1:{grpc}", "        endpiont: 127.0.0.1:{grpc}", 5,
                     "receivers.otlp.protocols.grpc.endpiont", "endpoint"),
    "wrong type": ("hold_max_mib: 8", "hold_max_mib: many", 12,
                   "processors.correlation.hold_max_mib", ""),
    "unknown component": ("  correlation:\n", "  corelation:\n", 11, "processors.corelation",
                          "correlation"),
    "undefined component": ("exporters: [otlp_grpc]", "exporters: [otlp_http]", 25,
                            "service.pipelines.traces", "otlp_http"),
    "duplicate key": ("    hold_max_mib: 8", "    hold_max_mib: 8\n    hold_max_mib: 9", 13,
                      "processors.correlation.hold_max_mib", ""),
    "unset variable": ("http://127.0.0.1:4440", "${{env:SPANLINK_E2E_IS_NOT_SET}}", 19,
                       "exporters.pyroscope.endpoint", ""),
}


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def write(folder, text):
    config = folder / "config.yaml"
    config.write_text(text.format(grpc=harness.free_port(), http=harness.free_port(),
                                  ingest=harness.free_port()))
    return config


def spanlink(*arguments, env=None):
    return subprocess.run([harness.SPANLINK, *arguments], capture_output=True, text=True,
                          timeout=10, env={**os.environ, **(env or {})})


@pytest.mark.parametrize("mistake", WRONG)
@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_mistake_is_named(tmp_path, command, mistake):
    old, new, line, key, words = WRONG[mistake]
    assert old in GOOD
    config = write(tmp_path, GOOD.replace(old, new))
    ended = spanlink(*(["validate"] if command == "validate" else []), "--config", config)
    assert ended.returncode not in (0, 2) and ended.returncode > 0, ended.stderr
    sentences = [s for s in ended.stderr.splitlines() if key in s]
    assert sentences, ended.stderr
    assert re.search(rf"{re.escape(str(config))}:{line}: {re.escape(key)}[^:]*: \S",
                     sentences[0]), ended.stderr
    assert words in sentences[0].replace(key, "", 1), ended.stderr


def test_all_mistakes_are_told_at_once(tmp_path):
    text = GOOD
    for name in ("misspelt key", "wrong type"):
        text = text.replace(*WRONG[name][:2])
    ended = spanlink("validate", "--config", write(tmp_path, text))
    assert "endpiont" in ended.stderr and "hold_max_mib" in ended.stderr


def test_a_mistake_hides_no_other_of_the_section_service(tmp_path):
    text = GOOD.replace("service:\n", """service:
  extensions: [zpagess]
  telemetri: {{}}
  telemetry: {{logs: {{level: inf, encodin: json}}}}
""").replace("      receivers: [otlp]\n      processors: [correlation]\n",
             "      receivers: [otpl]\n      processors: [corelation]\n      exporter: [x]\n")
    ended = spanlink("validate", "--config", write(tmp_path, text))
    for words in ('references extension "zpagess"', "service.telemetri: unknown key",
                  '"inf" is not a level', "service.telemetry.logs.encodin: unknown key",
                  'references receiver "otpl"', 'references processor "corelation"',
                  "service.pipelines.traces.exporter: unknown key"):
        assert words in ended.stderr, (words, ended.stderr)
    assert "at least one" not in ended.stderr


@pytest.mark.parametrize("receivers, signal, valid", [
    ("[pyroscope]", "no profiles pipeline", False),
    ("[otlp]", "no traces pipeline", True),
])
def test_correlation_on_one_signal_alone_is_told(tmp_path, receivers, signal, valid):
    text = GOOD.replace(f"receivers: {receivers}\n      processors: [correlation]",
                        f"receivers: {receivers}\n      processors: []")
    ended = spanlink("validate", "--config", write(tmp_path, text))
    assert (ended.returncode == 0) == valid
    [line] = [line for line in ended.stderr.splitlines() if f" in {signal}" in line]
    assert re.search(r"config.yaml:11: processors.correlation: ", line)
    assert (" warn " in line) == ended.stdout.endswith(": ok\n") == valid, line


def test_headers_that_are_not_there_are_told(tmp_path):
    ended = spanlink("validate", "--config", write(tmp_path, """\
receivers:
  otlp: {{protocols: {{http: {{endpoint: 127.0.0.1:0}}}}}}
  otlp/all: {{protocols: {{http: {{endpoint: 127.0.0.1:0, include_metadata: true}}}}}}
processors:
  batch: {{metadata_keys: [x-tenant]}}
  attributes:
    actions:
      - {{key: a, action: upsert, from_context: metadata.X-Tenant}}
      - {{key: b, action: upsert, from_context: metadata.x-other}}
      - {{key: c, action: upsert, from_context: metadata.x-scope-orgid}}
      - {{key: d, action: upsert, from_context: client.address}}
exporters: {{debug: }}
service:
  pipelines:
    logs: {{receivers: [otlp], processors: [batch], exporters: [debug]}}
    traces: {{receivers: [otlp/all], processors: [batch, attributes], exporters: [debug]}}
    metrics: {{receivers: [otlp/all], processors: [attributes, batch], exporters: [debug]}}
"""))
    assert ended.returncode == 0, ended.stderr
    assert [line.split(": ", 1)[1] for line in ended.stderr.splitlines() if " warn " in line] == [
        "processors.batch: the header x-tenant is not known in pipeline logs: no receiver of it has "
        "include_metadata: true",
        "processors.attributes: the header x-other is not known behind batch in pipeline traces: "
        "its metadata_keys do not have it",
        "processors.attributes: client.address is not known behind batch in pipeline traces"]


def test_data_without_a_tenant_beside_data_with_one_are_told(tmp_path):
    ended = spanlink("validate", "--config", write(tmp_path, """\
receivers:
  otlp:
    protocols:
      grpc: {{endpoint: 127.0.0.1:0}}
      http: {{endpoint: 127.0.0.1:0, include_metadata: true}}
  otlp/all: {{protocols: {{http: {{endpoint: 127.0.0.1:0, include_metadata: true}}}}}}
  pyroscope: {{endpoint: 127.0.0.1:0}}
exporters: {{debug: }}
service:
  pipelines:
    logs: {{receivers: [otlp], exporters: [debug]}}
    traces: {{receivers: [otlp/all], exporters: [debug]}}
    profiles: {{receivers: [pyroscope, otlp/all], exporters: [debug]}}
"""))
    assert ended.returncode == 0, ended.stderr
    assert [line.split(": ", 1)[1] for line in ended.stderr.splitlines() if " warn " in line] == [
        "receivers.otlp: some data of pipeline logs have an X-Scope-OrgID, but not all of this "
        "receiver's (include_metadata), so tenants are not told apart",
        "receivers.pyroscope: some data of pipeline profiles have an X-Scope-OrgID, but not all of "
        "this receiver's (include_metadata), so tenants are not told apart"]


@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_journal_that_cannot_be_opened_is_named(tmp_path, command):
    (tmp_path / "file").touch()
    text = GOOD.replace("service:\n", f"""extensions:
  journal: {{{{directory: {tmp_path}/file/journal}}}}
service:
  extensions: [journal]
""")
    ended = spanlink(*(["validate"] if command == "validate" else []), "--config",
                     write(tmp_path, text))
    assert ended.returncode == 1, ended.stderr
    assert re.search("extensions.journal.directory: .*: Not a directory", ended.stderr)


def test_a_good_configuration_is_valid(tmp_path):
    ended = spanlink("validate", "--config", write(tmp_path, GOOD))
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("old, new, where", [
    ("http://127.0.0.1:4440", "https://127.0.0.1:4440", "exporters.pyroscope"),
    ("insecure: true", "insecure: false", "exporters.otlp_grpc"),
])
def test_tls_that_cannot_be_loaded_ends_the_start(tmp_path, old, new, where):
    linked = subprocess.run(["ldd", harness.SPANLINK], capture_output=True, text=True).stdout
    if "libgnutls" in linked:
        pytest.skip("this build is linked with GnuTLS")
    (tmp_path / "libgnutls.so.30").write_text("no library")
    ended = spanlink("--config", write(tmp_path, GOOD.replace(old, new)),
                     env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert ended.returncode not in (0, 2) and ended.returncode > 0, ended.stderr
    assert re.search(rf": {where}: libgnutls.so.30 cannot be loaded: \S", ended.stderr), ended.stderr


def test_all_ports_in_use_are_named_with_a_way_round(tmp_path):
    config = write(tmp_path, GOOD + HEALTH.replace("{health}", str(harness.free_port())))
    addresses = sorted(set(re.findall(r"127.0.0.1:\d+", config.read_text()))
                       - {"127.0.0.1:4417", "127.0.0.1:4440"})
    with contextlib.ExitStack() as stack:
        for address in addresses:
            taken = stack.enter_context(socket.socket())
            taken.bind(("127.0.0.1", int(address.partition(":")[2])))
            taken.listen()
        ended = spanlink("--config", config)
        logged = re.compile(r"[\d-]+T\S+Z \w+  ")
        *told, way = (line for line in ended.stderr.splitlines() if not logged.match(line))
        assert ended.returncode == 1
        assert sorted(line.split()[-4] for line in told) == addresses, ended.stderr
        assert all(line.endswith("is in use") for line in told), ended.stderr
        assert way.startswith("to use other ports: --set "), ended.stderr
        program = harness.Program("round", tmp_path, [
            harness.SPANLINK, "--config", config, *way.partition(": ")[2].split()])
        ports = [int(port) for port in re.findall(r"127.0.0.1:(\d+)", way)]
        assert len(ports) == 4
        program.wait_ports(*ports)
        assert program.stop() == 0


def test_a_port_in_use_is_one_line(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        config = write(tmp_path, GOOD.replace("127.0.0.1:{ingest}", address))
        ended = spanlink("--config", config)
    assert ended.returncode not in (0, 2)
    told = [s for s in ended.stderr.splitlines() if address in s and "in use" in s]
    assert len(told) == 1 and "receivers.pyroscope" in told[0], ended.stderr
