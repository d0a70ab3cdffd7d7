"""packaging/kubernetes: validation against Kubernetes' schemas, and pod shutdown."""
import contextlib
import os
import signal
import subprocess
import time

import kubernetes_validate
import pytest
import requests
import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import harness

FOLDER = harness.ROOT / "packaging" / "kubernetes"
VERSIONS = ["1.29", "1.33", "1.37"]
SIDECARS = ["native-sidecar", "ordinary-sidecar"]
ENVIRONMENT = {"TEMPO_ENDPOINT": "tempo:4317", "PYROSCOPE_URL": "http://pyroscope:4040",
               "POD_IP": "127.0.0.1", "MY_POD_IP": "127.0.0.1", "POD_NAME": "app-1",
               "POD_NAMESPACE": "default", "KAFKA_BROKERS": "kafka:9092", "KUBERNETES_SERVICE_HOST": "192.0.2.1"}


@pytest.fixture(autouse=True)
def needs_spanlink(bypass):
    if bypass:
        pytest.skip("no spanlink")


def read(name):
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())


def gateway():
    """The manifests of the gateway tier by kind."""
    return {m["kind"]: m for m in yaml.safe_load_all((FOLDER / "gateway.yaml").read_text())}


def kafka_sidecar():
    """The manifests of the sidecar that writes to Kafka by kind."""
    return {m["kind"]: m for m in yaml.safe_load_all((FOLDER / "kafka-sidecar.yaml").read_text())}


def sidecar_of(name):
    pod = read(name)["spec"]["template"]["spec"]
    return next(c for c in pod.get("initContainers", []) + pod["containers"]
                if c["name"] == "spanlink")


def pod_of(values, **container):
    """A pod with the values that an operator or a chart copies into it unchanged."""
    fields = ("env", "resources", "securityContext", "startupProbe")
    container |= {field: values[field] for field in fields if field in values}
    spec = {"containers": [{"name": "spanlink", **container}]}
    if "podSecurityContext" in values:
        spec["securityContext"] = values["podSecurityContext"]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "app"}, "spec": spec}


def manifests():
    operator, helm = read("operator")["spec"], read("helm-values")
    yield from ((name, read(name)) for name in ("configmap", *SIDECARS))
    yield from ((f"gateway-{kind}", manifest) for kind, manifest in gateway().items())
    yield from ((f"kafka-sidecar-{kind}", manifest) for kind, manifest in kafka_sidecar().items())
    yield "operator", pod_of(operator, image=operator["image"])
    yield "helm-values", pod_of(
        {**helm, "env": helm["extraEnvs"]},
        image=f"{helm['image']['repository']}:{helm['image']['tag']}",
        ports=[{"containerPort": p["containerPort"], "protocol": p["protocol"], "name": name}
               for name, p in helm["ports"].items() if p["enabled"]])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name, manifest", list(manifests()),
                         ids=[name for name, _ in manifests()])
def test_the_schemas_of_kubernetes_take_it(name, manifest, version):
    kubernetes_validate.validate(manifest, version, strict=True)


def test_a_schema_would_refuse_a_key_that_is_not_one():
    manifest = read("native-sidecar")
    manifest["spec"]["template"]["spec"]["initContainers"][0]["readinessprobe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, VERSIONS[-1], strict=True)


def configurations():
    yield "configmap", yaml.safe_load(read("configmap")["data"]["spanlink.yaml"])
    yield "operator", read("operator")["spec"]["config"]
    yield "helm-values", read("helm-values")["alternateConfig"]
    yield "kafka-sidecar", yaml.safe_load(kafka_sidecar()["ConfigMap"]["data"]["spanlink.yaml"])
    yield "gateway", yaml.safe_load(gateway()["ConfigMap"]["data"]["spanlink.yaml"])


@pytest.mark.parametrize("configuration", [text for _, text in configurations()],
                         ids=[name for name, _ in configurations()])
def test_every_configuration_is_valid(tmp_path, configuration):
    config = tmp_path / "spanlink.yaml"
    config.write_text(yaml.safe_dump(configuration))
    known = subprocess.run([harness.SPANLINK, "components"], text=True, capture_output=True)
    if "kafka" in configuration["receivers"] and "kafka" not in known.stdout:
        pytest.skip("built without Kafka")
    ended = subprocess.run([harness.SPANLINK, "validate", "--config", config], text=True,
                           capture_output=True, env={**os.environ, **ENVIRONMENT})
    assert ended.returncode == 0, ended.stderr
    assert "warn" not in ended.stderr, ended.stderr
    assert configuration["extensions"]["health_check"]["endpoint"].endswith("POD_IP}:13133")


@pytest.mark.parametrize("name", SIDECARS)
def test_a_sidecar_is_confined_and_has_time_to_end(name):
    pod = read(name)["spec"]["template"]["spec"]
    sidecar = sidecar_of(name)
    context = {**pod["securityContext"], **sidecar["securityContext"]}
    assert context["runAsNonRoot"] and context["readOnlyRootFilesystem"]
    assert not context["allowPrivilegeEscalation"]
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert sidecar["startupProbe"] and sidecar["readinessProbe"]
    assert (sidecar.get("restartPolicy") == "Always") == (name == "native-sidecar")
    settings = yaml.safe_load(read("configmap")["data"]["spanlink.yaml"])
    budget = settings["processors"]["memory_limiter"]["limit_mib"]
    assert int(sidecar["resources"]["limits"]["memory"].removesuffix("Mi")) >= 2 * budget
    assert pod["terminationGracePeriodSeconds"] > 5 + 8 + 2


def test_the_gateway_tier_keeps_what_its_parts_promise_each_other():
    parts = gateway()
    pods, scaler = parts["StatefulSet"]["spec"], parts["HorizontalPodAutoscaler"]["spec"]
    settings = yaml.safe_load(parts["ConfigMap"]["data"]["spanlink.yaml"])
    container = pods["template"]["spec"]["containers"][0]
    assert scaler["scaleTargetRef"]["name"] == parts["StatefulSet"]["metadata"]["name"]
    assert scaler["minReplicas"] <= pods["replicas"] <= scaler["maxReplicas"]
    assert pods["serviceName"] == parts["Service"]["metadata"]["name"]
    labels = pods["template"]["metadata"]["labels"]
    assert labels == pods["selector"]["matchLabels"] == parts["Service"]["spec"]["selector"] == \
        parts["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"]
    budget = settings["processors"]["memory_limiter"]["limit_mib"]
    held = settings["processors"]["correlation"]
    assert held["hold_max_mib"] + held["index_max_mib"] < budget * 3 / 4
    assert container["resources"]["limits"]["memory"] == f"{2 * budget // 1024}Gi"
    grace = pods["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > int(settings["service"]["shutdown_timeout"].removesuffix("s")) + 2
    # A pod that restarts keeps its partitions.
    assert settings["receivers"]["kafka"]["group_instance_id"] == "${env:POD_NAME}"
    assert int(settings["receivers"]["kafka"]["session_timeout"].removesuffix("s")) > grace


# Pod shutdown

class Pod:
    """The sidecar as started by its manifest, on its own ports in front of real backends."""

    def __init__(self, folder, name, collector, standin):
        self.ports = {key: harness.free_port() for key in ("grpc", "http", "ingest", "health")}
        folder.mkdir(exist_ok=True)
        config = folder / "spanlink.yaml"
        config.write_text(read("configmap")["data"]["spanlink.yaml"])
        arguments = [str(config) if a == "/etc/spanlink/spanlink.yaml" else a
                     for a in sidecar_of(name)["args"]]
        for key, endpoint in (("grpc", "receivers.otlp.protocols.grpc"),
                              ("http", "receivers.otlp.protocols.http"),
                              ("ingest", "receivers.pyroscope"),
                              ("health", "extensions.health_check")):
            arguments += ["--set", f"{endpoint}.endpoint=127.0.0.1:{self.ports[key]}"]
        self.sidecar = harness.Program(
            name, folder, [harness.SPANLINK, *arguments],
            {**ENVIRONMENT, "TEMPO_ENDPOINT": f"127.0.0.1:{collector.grpc}",
             "PYROSCOPE_URL": standin.url})
        self.sidecar.wait_ready(f"http://127.0.0.1:{self.ports['health']}/", 10)

    def health(self):
        return requests.get(f"http://127.0.0.1:{self.ports['health']}/", timeout=5).status_code

    def probe(self):
        return subprocess.run([harness.SPANLINK, "health", "--endpoint",
                               f"127.0.0.1:{self.ports['health']}"], capture_output=True).returncode

    def send(self, service, number):
        """Sends a span on its own connection. Returns its id if it was acknowledged, else None."""
        request = ExportTraceServiceRequest()
        spans = request.resource_spans.add()
        spans.resource.attributes.add(key="service.name").value.string_value = service
        span = spans.scope_spans.add().spans.add(
            trace_id=os.urandom(16), span_id=os.urandom(8), name=f"span {number}",
            start_time_unix_nano=time.time_ns(), end_time_unix_nano=time.time_ns())
        with contextlib.suppress(requests.RequestException):
            answer = requests.post(
                f"http://127.0.0.1:{self.ports['http']}/v1/traces", timeout=5,
                data=request.SerializeToString(),
                headers={"Content-Type": "application/x-protobuf"})
            if answer.status_code == 200:
                return span.span_id.hex()
        return None


def arrived(collector, service, expected):
    """The backend writes its file shortly after its response."""
    harness.wait_for(lambda: len(collector.spans(service)) >= len(expected), 10)
    return sorted(span.span_id for span in collector.spans(service))


@pytest.fixture(scope="module")
def peers(tmp_path_factory):
    with contextlib.ExitStack() as stack:
        collector = harness.Collector(tmp_path_factory.mktemp("sink")).start()
        stack.callback(collector.stop)
        standin = harness.Standin(tmp_path_factory.mktemp("profiles")).start()
        stack.callback(standin.stop)
        yield collector, standin


def test_app_and_sidecar_end_together_and_the_apps_last_spans_arrive(tmp_path, peers):
    collector, standin = peers
    pod = Pod(tmp_path, "ordinary-sidecar", collector, standin)
    assert pod.health() == 200 and pod.probe() == 0
    acknowledged = [pod.send("pod-end", n) for n in range(20)]
    pod.sidecar.process.send_signal(signal.SIGTERM)     # both get SIGTERM now
    # New connections are still served; the application flushes after a second.
    until = time.monotonic() + 1
    assert harness.wait_for(lambda: pod.health() == 503, 2, 0.01)
    assert pod.probe() == 1
    while time.monotonic() < until:
        acknowledged.append(pod.send("pod-end", len(acknowledged)))
    acknowledged += [pod.send("pod-end", n) for n in range(1000, 1050)]
    assert None not in acknowledged, pod.sidecar.tail()
    assert pod.sidecar.wait(20) == 0, pod.sidecar.tail()
    assert arrived(collector, "pod-end", acknowledged) == sorted(acknowledged)
    assert "nothing that was acknowledged was lost" in pod.sidecar.log.read_text()


def test_without_the_delay_they_would_be_refused(tmp_path, peers):
    """A native sidecar needs no delay: it gets SIGTERM after the application has exited."""
    pod = Pod(tmp_path, "native-sidecar", *peers)
    acknowledged = [pod.send("native-end", n) for n in range(20)]
    pod.sidecar.process.send_signal(signal.SIGTERM)
    assert pod.sidecar.wait(20) == 0, pod.sidecar.tail()
    assert pod.send("native-end", 21) is None
    assert arrived(peers[0], "native-end", acknowledged) == sorted(acknowledged)
