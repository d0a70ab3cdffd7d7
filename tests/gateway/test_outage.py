"""The brokers are away while sidecars accept spans and profiles."""
import contextlib
import re
import signal
import time

import pytest
import requests

import broker
import gateways
import harness
import sides
import test_mistakes
import test_shown
import tier

WINDOWS_BEFORE, WINDOWS_AFTER = 4, 3    # a service's windows are known before the outage


@contextlib.contextmanager
def started(programs):
    yield programs
    for program in programs:
        assert program.stop() == 0


@pytest.fixture
def cluster(tmp_path):
    made = broker.Cluster(tmp_path / "kafka").start()
    yield made
    made.stop()


def killed(victim, seconds):
    victim.kill()
    time.sleep(seconds)
    victim.start().wait()


def stopped(victim, seconds):
    victim.program.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    victim.program.process.send_signal(signal.SIGCONT)


@pytest.mark.takes(100)
@pytest.mark.parametrize("how,seconds,session,window,hold", [
    # It outlasts the hold, so links are exact only if the lanes' clocks stand still.
    (killed, 14, "6s", 4, tier.SHORT_HOLD),
    pytest.param(killed, 60, "45s", 8, {}, marks=pytest.mark.soak),
    pytest.param(killed, 60, "6s", 8, {}, marks=pytest.mark.soak),
    pytest.param(stopped, 60, "45s", 8, {}, marks=pytest.mark.soak)])
def test_links_are_exact_after_an_outage(cluster, backend, tmp_path, how, seconds, session, window,
                                         hold):
    before = WINDOWS_BEFORE * window
    made = tier.Tier(tmp_path, cluster, "outage", backend, gateways=2,
                     **{"receivers.kafka.session_timeout": session}, **hold)
    made.play(before + seconds + WINDOWS_AFTER * window, window=window)
    time.sleep(before)
    how(cluster.brokers[0], seconds)
    made.finish(240)


@pytest.mark.takes(20)
def test_brokers_that_hang_are_logged_and_shown(cluster, backend, tmp_path):
    name, hung = cluster.topic("silent", 1), cluster.brokers[0].program.process
    gateway = gateways.Gateway(tmp_path, {
        "brokers": cluster.addresses, "group_id": name, "session_timeout": "45s",
        "traces": {"topics": [name]}}, backend)
    with started([gateway]):
        hung.send_signal(signal.SIGSTOP)
        assert harness.wait_for(lambda: gateway.lines("the brokers have not answered"), 60)
        assert gateway.metrics()["silence_seconds"] >= 10
        assert "the brokers have not answered for" in gateway.explain()
        hung.send_signal(signal.SIGCONT)
        assert harness.wait_for(lambda: gateway.metrics()["silence_seconds"] < 5, 60)


@pytest.mark.takes(20)
def test_brokers_that_are_down_are_the_cause_of_not_being_ready(cluster, backend, tmp_path):
    name = cluster.topic("down", 2)
    gateway = gateways.Gateway(tmp_path, {
        "brokers": cluster.addresses, "group_id": name, "traces": {"topics": [name]}}, backend)
    with started([gateway]):
        before = int(time.time()) - 2       # they are asked each second
        cluster.brokers[0].kill()
        killed_at = int(time.time())
        assert harness.wait_for(lambda: not gateway.ready()[0], 60)     # its session has ended
        cause = gateway.ready()[1]
        since = [time.strftime("%H:%M:%SZ", time.gmtime(at)) for at in range(before, killed_at + 1)]
        assert any(f"no broker has answered since {each}: broker {cluster.addresses[0]} cannot be "
                   "reached: Connection refused" in cause for each in since), cause
        assert "not ready: no broker has answered since" in gateway.explain()
        assert gateway.lines("no broker has answered since", "this member gives up its partitions")
        assert not gateway.lines("gave this member's partitions to others")
        outage = time.time() - killed_at
        cluster.brokers[0].start().wait()
        assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.ready()
        assert gateway.lines("no answer from the brokers for")
        joined = re.findall(r"joining the group took (\d+) s", "\n".join(gateway.lines("joining")))
        assert all(int(seconds) < outage for seconds in joined), (joined, outage)


@pytest.mark.takes(25)
def test_records_have_the_time_at_which_they_were_accepted(cluster, tmp_path):
    cluster.topic("dated", 1)
    sidecar = sides.Sidecar(tmp_path, {"brokers": cluster.addresses, "traces": {"topic": "dated"}})
    with started([sidecar]):
        cluster.brokers[0].kill()
        times = []
        for number in range(1, 13):     # more than sending_queue.num_consumers
            began = time.time()
            assert sidecar.post("traces", gateways.request(number, 1)) == 200
            times.append((began, time.time()))
            time.sleep(0.2)
        cluster.brokers[0].start().wait()
        records = cluster.records("dated", len(times))
    # Those of the first requests, all in librdkafka's queue, are in order.
    assert gateways.read_spans(records[:9]) == list(range(1, 10))
    records.sort(key=lambda record: gateways.read_spans([record]))
    for record, (began, answered) in zip(records, times, strict=True):
        assert began - 0.001 <= record.timestamp / 1000 <= answered


@pytest.mark.takes(20)
def test_a_topic_that_refuses_old_records_gets_them_with_the_time_of_sending(cluster, tmp_path):
    cluster.topic("strict", 1, message_timestamp_before_max_ms=1000)
    sidecar = sides.Sidecar(tmp_path, {"brokers": cluster.addresses, "traces": {"topic": "strict"}})
    with started([sidecar]):
        cluster.brokers[0].kill()
        assert sidecar.post("traces", gateways.request(1, 1)) == 200
        time.sleep(2)
        cluster.brokers[0].start().wait()
        [record] = cluster.records("strict", 1)
        assert time.time() - record.timestamp / 1000 < 30
        assert sidecar.lines("refuses the time of a record of topic strict")


@pytest.fixture
def three(tmp_path):
    made = broker.Cluster(tmp_path / "kafka", 3).start()
    yield made
    made.stop()


@pytest.mark.takes(60)
def test_what_is_said_while_one_of_three_brokers_is_down(three, backend, tmp_path):
    # Each partition has its leader on another broker, and all three replicas must be in sync.
    name = three.topic("strictly", 3, min_insync_replicas=3)
    status, other = harness.free_port(), harness.free_port()
    settings = {"brokers": three.addresses, "traces": {"topic": name}}
    sidecar = sides.Sidecar(tmp_path, settings, status=status)
    hasty = sides.Sidecar(tmp_path, {**settings, "timeout": "2s"}, name="hasty")
    gateway = gateways.Gateway(tmp_path, {
        "brokers": three.addresses, "group_id": name, "traces": {"topics": [name]}}, backend,
        status=other)
    why = f"topic {name}: brokers refuse records of partition"
    todo = "2 of its 3 replicas are in sync and min.insync.replicas is 3: start the brokers"
    with started([sidecar, hasty, gateway]):
        assert sidecar.post("traces", gateways.request(1, 1)) == 200
        assert harness.wait_for(lambda: backend.has([1]), 60), gateway.tail()
        [victim] = [each for each in three.brokers if three.coordinator(name) == each.node]
        victim.kill()
        for number, each in enumerate((sidecar, hasty), 2):
            assert each.post("traces", gateways.request(number, 1)) == 200

        causes = []

        def shown():
            causes.append(gateway.ready())
            page = requests.get(f"http://127.0.0.1:{status}/api/pipelines", timeout=30).text
            return why in page and todo in page
        assert harness.wait_for(shown, 60), sidecar.tail()
        unreachable = f"{three.addresses[victim.node - 1]} cannot be reached"
        assert all(ready or unreachable in cause for ready, cause in causes), causes
        for port in (status, other):
            assert harness.wait_for(lambda: test_shown.problem(port, "kafka", name, todo), 60), (
                test_shown.top(port))
        assert harness.wait_for(lambda: hasty.lines(" warn ", why, todo), 60), hasty.tail()
        # It says that they may, if no broker told min.insync.replicas in time.
        assert len(sidecar.lines(" warn ", f"topic {name}: brokers ")) == 1, sidecar.tail()

        # On a busy machine the brokers that run may answer too late for one check.
        def checked():
            code, _, errors = test_mistakes.check(tmp_path, {
                "brokers": three.addresses, "traces": {"topic": name}}, "exporters")
            assert code == 1, errors
            return why in errors[0] and todo in errors[0]

        assert harness.wait_for(checked, 60)
        for each in (sidecar, hasty, gateway):
            assert not each.lines("can be reached again"), each.tail()
        assert not gateway.lines("gave this member's partitions to others"), gateway.tail()
        victim.start().wait()
        assert harness.wait_for(lambda: backend.has([2, 3]), 60), gateway.tail()
        for port in (status, other):
            assert harness.wait_for(lambda: not test_shown.problem(port, "in sync"), 60), (
                test_shown.top(port))


@pytest.mark.takes(40)
def test_a_gateway_that_is_not_told_where_partitions_end_says_why(three, backend, tmp_path):
    # A broker that takes over a partition tells its end when enough replicas have what it has.
    name, status = three.topic("untold", 3, min_insync_replicas=3), harness.free_port()
    producer = gateways.Producer(three)
    producer.spans(name, 1, 300, partitions=3)
    for number in range(301, 3001):
        producer.send(name, gateways.request(number, 1), partition=number % 3)
        if number == 1500:
            three.brokers[0].kill()
    gateway = gateways.Gateway(tmp_path, {
        "brokers": three.addresses, "group_id": name, "traces": {"topics": [name]}}, backend,
        wait=False, status=status)
    gateway.wait_ports(status, seconds=60)
    with started([gateway]):
        assert harness.wait_for(lambda: test_shown.problem(
            status, f"topic {name}", "min.insync.replicas is 3: start the brokers"), 60), (
                test_shown.top(status))
        three.brokers[0].start()
        assert harness.wait_for(lambda: backend.has(range(1, 3001)), 60), gateway.tail()
    producer.flush()


@pytest.mark.takes(110)
def test_links_are_exact_after_too_few_replicas_were_in_sync(three, backend, tmp_path):
    # Brokers answer all the time, and refuse records for longer than spans are held.
    window, seconds = 4, 45
    made = tier.Tier(tmp_path, three, "insync", backend,
                     **{"receivers.kafka.session_timeout": "45s"}, **tier.SHORT_HOLD)
    for each in ("insync_spans", "insync_profiles"):
        three.configure(each, min_insync_replicas=3)
    made.play(WINDOWS_BEFORE * window + seconds + WINDOWS_AFTER * window, window=window)
    time.sleep(WINDOWS_BEFORE * window)
    victim = next(each for each in three.brokers if three.coordinator("insync") != each.node)
    killed(victim, seconds)
    made.finish(240)
    [gateway] = made.gateways
    assert len(gateway.lines(" warn ", "in sync and min.insync.replicas is 3",
                             "decisions wait for records that producers keep meanwhile")) == 1
    assert len(gateway.lines(" info ", "enough replicas are in sync again, after",
                             "decisions wait")) == 1, gateway.tail()
    silent = [float(line.split("no answer from the brokers for ")[1].split()[0])
              for line in gateway.lines("no answer from the brokers for ")]
    assert all(each < seconds for each in silent), gateway.tail()
