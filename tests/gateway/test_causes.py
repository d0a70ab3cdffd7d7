"""What sidecars and gateways that run say of brokers that they cannot use."""
import contextlib
import socket
import socketserver
import threading

import pytest

import credentials
import gateways
import harness
import sides
import test_mistakes

CLOSES = "it may expect TLS or SASL"


@pytest.mark.takes(15)
@pytest.mark.parametrize("listener", ["TLS", "SASL"])
def test_cleartext_to_a_listener_with_tls_or_sasl_is_explained(
        guarded, backend, tmp_path, listener):
    settings = {"brokers": guarded.at(listener)}
    gateway = gateways.Gateway(tmp_path, {**settings, "group_id": "cleartext"}, backend, wait=False)
    sidecar = sides.Sidecar(tmp_path, settings)
    assert sidecar.post("traces", gateways.request(1, 1)) == 200
    assert harness.wait_for(lambda: CLOSES in gateway.ready()[1], 60), gateway.ready()
    assert gateway.lines("kafka: ", CLOSES)
    assert harness.wait_for(lambda: sidecar.lines("kafka: ", CLOSES), 60), sidecar.tail()
    for program in (gateway, sidecar):
        program.kill()


@pytest.mark.takes(15)
def test_a_listener_that_never_answers_is_told(backend, tmp_path):
    mute = "accepts connections and does not answer"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        gateway = gateways.Gateway(tmp_path, {
            "brokers": [address], "group_id": "mute"}, backend, wait=False)
        error = checked(tmp_path, {"brokers": [address]})
        assert mute in error and "closes" not in error
        assert harness.wait_for(lambda: f"broker {address} {mute}" in gateway.ready()[1], 60), (
            gateway.ready())
    assert gateway.lines("kafka: ", f"the broker {mute}") and not gateway.lines("closes")
    gateway.kill()


@contextlib.contextmanager
def relay(port, target):
    """Listens at a port, and passes what it gets to another address, and back."""
    def copy(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self):
            with socket.create_connection(target) as other:
                back = threading.Thread(target=copy, args=(other, self.request), daemon=True)
                back.start()
                copy(self.request, other)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = daemon_threads = True
        block_on_close = False

    with Server(("127.0.0.1", port), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


def test_a_broker_that_answers_is_not_called_unreachable(kafka, backend, tmp_path):
    port = harness.free_port()
    gateway = gateways.Gateway(tmp_path, {
        "brokers": [f"127.0.0.1:{port}"], "group_id": "behind_relay",
        "traces": {"topics": ["behind_relay"]}}, backend, wait=False)
    assert harness.wait_for(lambda: "cannot be reached" in gateway.ready()[1], 60)
    host, _, at = kafka.addresses[0].partition(":")
    with relay(port, (host, int(at))):
        told = harness.wait_for(
            lambda: next((text for text in [gateway.ready()[1]] if "not exist yet" in text), ""), 60)
        assert told and "cannot be reached" not in told
        gateway.kill()


@pytest.mark.takes(15)
def test_an_exporter_that_no_broker_answers_counts_as_failing(tmp_path):
    sidecar = sides.Sidecar(tmp_path, {"brokers": ["127.0.0.1:1"]},
                            metrics_port=harness.free_port())
    assert sidecar.post("traces", gateways.request(1, 1)) == 200
    assert harness.wait_for(lambda: sidecar.metric("spanlink_exporter_retries") > 1, 60)
    sidecar.kill()


def test_a_group_of_members_with_other_strategies_is_explained(kafka, backend, tmp_path):
    import confluent_kafka
    name = kafka.topic("mixed_group", 2)
    other = confluent_kafka.Consumer(kafka.client(**{
        "group.id": name, "partition.assignment.strategy": "cooperative-sticky"}))
    other.subscribe([name])

    def has_joined():
        other.poll(0.1)
        return other.assignment()
    assert harness.wait_for(has_joined, 60)
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": name, "traces": {"topics": [name]}}, backend,
        wait=False)
    told = f"the group {name} has members whose group_rebalance_strategies lack range"
    assert harness.wait_for(lambda: has_joined() and told in gateway.ready()[1], 60), gateway.tail()
    other.close()
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.tail()
    assert len(gateway.lines(told)) == 1
    assert not gateway.lines("Inconsistent group protocol")
    assert gateway.stop() == 0


def test_a_consumer_of_the_group_that_takes_one_topic_is_suspected(kafka, backend, tmp_path):
    import confluent_kafka
    spans, profiles = kafka.topic("shared_spans", 2), kafka.topic("shared_profiles", 2)
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": spans, "traces": {"topics": [spans]},
        "profiles": {"topics": [profiles]}}, backend, signals=("traces", "profiles"))
    other = confluent_kafka.Consumer(kafka.client(**{
        "group.id": spans, "partition.assignment.strategy": "range"}))
    other.subscribe([spans])
    told = "or another consumer of the group reads only some of the topics"
    assert harness.wait_for(lambda: [other.poll(0.1), told in gateway.ready()[1]][1], 60), (
        gateway.ready())
    other.close()
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.tail()
    assert gateway.stop() == 0


def reader_of(name, kafka, backend, folder):
    """A gateway that reads a new topic with one partition."""
    return gateways.Gateway(folder, {
        "brokers": kafka.addresses, "group_id": name,
        "traces": {"topics": [kafka.topic(name, 1)]}}, backend)


def test_the_first_join_of_a_group_is_no_silence_of_the_brokers(kafka, backend, tmp_path):
    gateway = reader_of("first_join", kafka, backend, tmp_path)
    assert not gateway.lines("no answer from the brokers")
    assert gateway.stop() == 0


def test_a_topic_that_is_gone_is_named(kafka, backend, tmp_path):
    name = "gone"
    gateway = reader_of(name, kafka, backend, tmp_path)
    kafka.forget([name])
    assert harness.wait_for(lambda: f"the topic {name} does not exist" in gateway.ready()[1], 60), (
        gateway.ready(), gateway.tail())
    kafka.topic(name, 1)
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.tail()
    assert gateway.stop() == 0


def checked(tmp_path, settings):
    code, _, errors = test_mistakes.check(
        tmp_path, {"traces": {"topics": ["otlp_spans"]}, **settings})
    assert code == 1 and len(errors) == 1, errors
    return errors[0]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_sasl_to_a_listener_without_it_is_no_wrong_password(guarded, tmp_path, mechanism):
    error = checked(tmp_path, {"brokers": guarded.addresses, **credentials.sasl(mechanism)})
    assert "does not use SASL on this port, but auth.sasl is set" in error


def test_tls_to_a_listener_without_it_is_told(guarded, tmp_path):
    error = checked(tmp_path, {"brokers": guarded.addresses, "tls": {}})
    assert "this port may not use TLS" in error and "routines" not in error


def test_reasons_to_refuse_a_certificate_are_told_apart(guarded, tmp_path):
    [address] = guarded.at("BOTH")
    tls = {"ca_file": f"{guarded.pki}/ca.pem"}
    sasl = credentials.sasl("PLAIN")
    assert "is of a CA that is not in tls.ca_file" in checked(
        tmp_path, {"brokers": [address], "tls": {"ca_file": f"{guarded.pki}/other.pem"}, **sasl})
    port = address.rpartition(":")[2]
    assert "does not name the host" in checked(
        tmp_path, {"brokers": [f"localhost:{port}"], "tls": tls, **sasl})
