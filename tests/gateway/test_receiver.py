"""The receiver kafka, with a real broker."""
import re
import signal
import time

import pytest
import yaml

import credentials
import gateways
import harness
import sides
import uploads


def reads(kafka, name, **more):
    """The settings of a receiver of one topic of traces."""
    return {"brokers": kafka.addresses, "group_id": name, "traces": {"topics": [name]}, **more}


@pytest.mark.parametrize("encoding", [pytest.param("otlp_proto", marks=pytest.mark.soak),
                                      "otlp_json"])
def test_what_a_collector_writes_is_read(kafka, tmp_path, encoding):
    topics = {what: kafka.topic(f"from_collector_{encoding}_{what}", 3) for what in sides.GROUPS}
    through = harness.Collector(tmp_path / "through").start()
    port = harness.free_port()
    writer = sides.collector(tmp_path, "writer", {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"kafka": {
            "brokers": kafka.addresses,
            **{what: {"topic": topic, "encoding": encoding} for what, topic in topics.items()}}},
        "service": {"pipelines": {what: {"receivers": ["otlp"], "exporters": ["kafka"]}
                                  for what in sides.GROUPS}}}, [port])

    class Sink:
        url = f"http://127.0.0.1:{through.http}"
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": f"from_collector_{encoding}",
        **{what: {"topics": [topic], "encoding": encoding} for what, topic in topics.items()}},
        Sink, signals=tuple(topics))
    sides.check_arrival(tmp_path, lambda what, body: sides.post(port, what, body), through,
                        lambda: (writer.tail(), gateway.tail()))
    assert gateway.stop() == 0
    for program in (writer, through.program):
        program.kill()


def test_profiles_that_a_collector_writes_are_read_and_linked(kafka, backend, tmp_path):
    """In topics of one partition: the Collector gives spans and profiles no common key."""
    topics = {what: kafka.topic(f"collected_{what}", 1) for what in ("traces", "profiles")}
    port = harness.free_port()
    writer = sides.collector(tmp_path, "writer", {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {"kafka": {"brokers": kafka.addresses, **{
            what: {"topic": topic} for what, topic in topics.items()}}},
        "service": {"pipelines": {what: {"receivers": ["otlp"], "exporters": ["kafka"]}
                                  for what in topics}}}, [port])
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": "collected",
        **{what: {"topics": [topic]} for what, topic in topics.items()}},
        backend, signals=tuple(topics), processors={"correlation": {}}, profiles="otlp_http")
    now = time.time_ns()
    profile = uploads.Ebpf("shop").sample(
        "work", [now - 10**9, now - 10**9 + 1], f"{1:032x}", f"{1:016x}").encode(
            now - 2 * 10**9, 2 * 10**9)
    for what, body in (("traces", gateways.request(1, 1, start=now - 10**9)),
                       ("profiles", profile)):
        assert sides.post(port, what, body) == 200
    assert harness.wait_for(lambda: backend.linked == {1} and backend.profiles, 60), (
        writer.tail(), gateway.explain())
    [(path, body)] = backend.profiles
    assert path.endswith(sides.PATHS["profiles"])
    assert sides.samples_in(body) == sides.samples_in(profile) != []
    assert gateway.stop() == 0
    writer.kill()


@pytest.mark.takes(15)
def test_nothing_is_lost_by_a_kill_and_only_the_uncommitted_is_doubled(
        kafka, producer, backend, tmp_path, soak):
    name, uncommitted = kafka.topic("killed", 4), set()
    with gateways.Load(producer, name, 40) as load:
        for _ in range(10 if soak else 2):
            gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
            seen = len(backend.spans)
            assert harness.wait_for(lambda seen=seen: len(backend.spans) > seen + 2000, 60)
            gateway.kill()
            uncommitted |= gateways.uncommitted(kafka, name, name)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: backend.has(load.numbers), 60), gateway.tail()
    again = set(backend.doubled())
    print(f"{len(load.numbers)} spans, {len(again)} twice, {len(uncommitted)} not committed")
    assert again <= uncommitted, sorted(again - uncommitted)[:5]
    assert gateway.stop() == 0


@pytest.mark.takes(15)
def test_a_lane_of_which_every_record_waits_goes_on(kafka, producer, backend, tmp_path):
    name = kafka.topic("crowded", 1)
    numbers = producer.spans(name, 1, 20_000, partitions=1)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend,
                               processors={"correlation": {"hold": "5s"}})
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.explain()
    assert gateway.stop() == 0


def test_new_tls_files_are_used_without_a_restart_or_loss(guarded, backend, tmp_path):
    name = guarded.topic("renewed", 4)
    tls = credentials.client(guarded, "gateway", "other")
    gateway = gateways.Gateway(tmp_path, reads(guarded, name, brokers=guarded.at("TLS"), tls=tls,
                                               dead_letter={"topic": "renewed_dead"}),
                               backend, wait=False)
    assert harness.wait_for(lambda: gateway.lines("TLS to"), 60), gateway.tail()
    credentials.client(guarded, "gateway", "ca")
    with gateways.Load(gateways.Producer(guarded), name) as load:
        assert harness.wait_for(lambda: len(backend.spans) > 200, 60), gateway.tail()
        credentials.client(guarded, "gateway", "ca")
        assert harness.wait_for(lambda: gateway.lines("joining the group again"), 60)
        seen = len(backend.spans)
        assert harness.wait_for(lambda: len(backend.spans) > seen + 200, 60), gateway.tail()
    assert harness.wait_for(lambda: backend.has(load.numbers), 60), gateway.tail()
    assert not backend.doubled()
    assert gateway.stop() == 0


def test_lanes_move_between_members_without_loss_or_doubles(kafka, producer, backend, tmp_path):
    name = kafka.topic("moved", 4)
    with gateways.Load(producer, name) as load:
        first = gateways.Gateway(tmp_path, reads(kafka, name), backend)
        assert first.metrics()["lanes"] == 4
        second = gateways.Gateway(tmp_path, reads(kafka, name), backend)
        assert harness.wait_for(lambda: second.metrics()["lanes"] == 2
                                and first.metrics()["lanes"] == 2, 60), second.explain()
        seen = second.metrics().get("otelcol_receiver_accepted_spans", 0)
        assert harness.wait_for(lambda: second.metrics().get("otelcol_receiver_accepted_spans", 0)
                                > seen + 300, 60)
        assert second.stop() == 0
        assert harness.wait_for(lambda: first.metrics()["lanes"] == 4, 60)
    assert harness.wait_for(lambda: backend.has(load.numbers), 60), first.explain()
    assert not backend.doubled()
    assert first.metrics()["rebalances"] >= 3
    assert first.stop() == 0


def test_a_restart_of_a_static_member_rebalances_nobody(kafka, producer, backend, tmp_path):
    name = kafka.topic("static", 4)
    members = [gateways.Gateway(tmp_path, reads(kafka, name, group_instance_id=f"pod-{number}"),
                                backend) for number in range(2)]
    assert harness.wait_for(lambda: all(each.metrics()["lanes"] == 2 for each in members), 60)
    before = members[0].metrics()["rebalances"]
    members[1].kill()
    again = gateways.Gateway(tmp_path, reads(kafka, name, group_instance_id="pod-1"), backend)
    numbers = producer.spans(name, 1, 100)
    assert harness.wait_for(lambda: backend.has(numbers), 60)
    assert members[0].metrics()["rebalances"] == before and again.metrics()["lanes"] == 2
    for each in (members[0], again):
        assert each.stop() == 0


def topics_changed(gateway, topics, how, backend, tmp_path):
    """Gives a gateway other topics of traces; returns the one that then runs."""
    settings = yaml.safe_load(gateway.config.read_text())
    settings["receivers"]["kafka"]["traces"]["topics"] = topics
    if how == "reload":
        gateway.config.write_text(yaml.safe_dump(settings))
        gateway.process.send_signal(signal.SIGHUP)
        return gateway
    if how == "kill":
        gateway.kill()
    else:
        assert gateway.stop() == 0
    return gateways.Gateway(tmp_path, settings["receivers"]["kafka"], backend, wait=False)


def says(gateway, told):
    """Whether it is not ready for this reason."""
    ready, why = gateway.ready()
    return not ready and told in why


@pytest.mark.takes(10)
@pytest.mark.parametrize("how", ["restart", "kill", "reload"])
def test_a_static_member_never_reads_topics_that_it_had_before(kafka, producer, backend, tmp_path,
                                                               how):
    """The broker gives it its last assignment again."""
    name, old = kafka.topic(f"changed_{how}", 4), kafka.topic(f"before_{how}", 4)
    gateway = gateways.Gateway(tmp_path, reads(
        kafka, name, group_instance_id="pod-0", traces={"topics": [old]}), backend)
    read = producer.spans(old, 1, 20)
    assert harness.wait_for(lambda: gateways.committed(kafka, name, old) == 20, 60, 0.5)
    gateway = topics_changed(gateway, [name], how, backend, tmp_path)
    told = f"the group's assignment still has topic {old}, which is not configured; asking the group"
    assert harness.wait_for(lambda: says(gateway, told), 20, 0.05), gateway.tail()
    producer.spans(old, 101, 20)
    numbers = producer.spans(name, 201, 20)
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.tail()
    assert gateway.ready()[0] and gateway.metrics()["lanes"] == 4
    assert len(gateway.lines(told)) == 1
    assert len(gateway.lines("the group has assigned the configured topics")) == 1
    assert set(backend.spans) == set(read) | set(numbers)
    assert gateways.committed(kafka, name, old) == 20
    assert gateway.stop() == 0


@pytest.mark.takes(10)
def test_a_reload_of_a_static_member_delivers_nothing_twice(kafka, producer, backend, tmp_path):
    """The new one joins when the old one has committed what it delivered."""
    name = kafka.topic("reloaded_static", 4)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name, group_instance_id="pod-0"), backend)
    backend.delay = 0.5
    numbers = [*producer.spans(name, 1, 40)]
    assert harness.wait_for(lambda: backend.asked, 20, 0.01)
    gateway.config.write_text(gateway.config.read_text().replace(
        "heartbeat_interval: 500ms", "heartbeat_interval: 600ms"))
    gateway.process.send_signal(signal.SIGHUP)
    assert harness.wait_for(lambda: gateway.lines("reloaded: receivers.kafka changed"), 20, 0.05)
    numbers += producer.spans(name, 41, 40)
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.tail()
    assert harness.wait_for(lambda: gateways.committed(kafka, name, name) == 80, 60, 0.5)
    assert not gateway.lines("fenced") and not gateway.lines("could not be committed")
    assert backend.doubled() == {} and gateway.metrics()["lanes"] == 4
    assert gateway.stop() == 0


@pytest.mark.takes(15)
def test_static_members_whose_topics_change_one_after_another_end_up_with_the_new_ones(
        kafka, producer, backend, tmp_path):
    name, old = kafka.topic("rolled", 4), kafka.topic("rolled_before", 4)
    members = [gateways.Gateway(tmp_path, reads(
        kafka, name, group_instance_id=f"pod-{number}", traces={"topics": [old]}), backend)
        for number in range(3)]
    assert harness.wait_for(
        lambda: sorted(each.metrics()["lanes"] for each in members) == [1, 1, 2], 60)
    for number, member in enumerate(members):
        members[number] = topics_changed(member, [name], "restart", backend, tmp_path)
        assert harness.wait_for(lambda m=members[number]: m.ready()[0], 60), members[number].tail()
    numbers = producer.spans(name, 1, 100)
    assert harness.wait_for(lambda: backend.has(numbers), 60)
    assert harness.wait_for(
        lambda: sorted(each.metrics()["lanes"] for each in members) == [1, 1, 2], 60)
    for member in members:
        assert not member.lines("are not read") and member.stop() == 0


@pytest.mark.takes(10)
def test_a_static_member_is_assigned_a_topic_that_was_added(kafka, producer, backend, tmp_path):
    name, other = kafka.topic("first_topic", 4), kafka.topic("added_topic", 4)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name, group_instance_id="pod-0"), backend)
    gateway = topics_changed(gateway, [name, other], "restart", backend, tmp_path)
    told = f"the group's assignment lacks topic {other}; asking the group to assign again"
    assert harness.wait_for(lambda: says(gateway, told), 20, 0.05), gateway.tail()
    numbers = [*producer.spans(name, 1, 20), *producer.spans(other, 21, 20)]
    assert harness.wait_for(lambda: backend.has(numbers), 20), gateway.tail()
    assert gateway.ready()[0] and not gateway.lines("are not read")
    assert gateway.stop() == 0


def test_a_member_whose_place_was_taken_says_so_and_joins_again(kafka, producer, backend, tmp_path):
    name = kafka.topic("fenced", 4)
    first, second = (gateways.Gateway(tmp_path / folder, reads(
        kafka, name, group_instance_id="same"), backend) for folder in ("first", "second"))
    assert harness.wait_for(
        lambda: first.lines("place to another with group_instance_id same; joining") or
        second.lines("place to another with group_instance_id same; joining"), 60)
    assert second.stop() == 0
    numbers = producer.spans(name, 1, 100)
    assert harness.wait_for(lambda: backend.has(numbers), 90), first.explain()
    assert first.metrics()["lanes"] == 4
    assert first.stop() == 0


def test_a_start_that_fails_takes_nobodys_place(kafka, backend, tmp_path):
    name = kafka.topic("guarded_place", 2)
    settings = reads(kafka, name, group_instance_id="same")
    first = gateways.Gateway(tmp_path / "first", settings, backend)
    second = gateways.Gateway(tmp_path / "second", settings, backend, wait=False, more={
        "extensions": {"health_check": {"endpoint": f"127.0.0.1:{first.health}"}, "zpages": {
            "endpoint": f"127.0.0.1:{harness.free_port()}"}}})
    assert second.process.wait(30) != 0
    third = gateways.Gateway(tmp_path / "third", settings, backend, wait=False, more={
        "service": {**yaml.safe_load(second.config.read_text())["service"], "telemetry": {
            "metrics": {"readers": [{"pull": {"exporter": {"prometheus": {
                "host": "127.0.0.1", "port": first.metrics_port}}}}]}}}})
    assert third.process.wait(30) != 0
    time.sleep(3)       # a heartbeat would tell it
    assert not first.lines("place to another") and first.metrics()["rebalances"] == 1
    assert first.stop() == 0


@pytest.mark.parametrize("instance", ["", "pod-0"])
def test_a_gateway_that_stood_still_goes_on_at_once(kafka, backend, tmp_path, instance):
    """The brokers have been there all the time, so it waits for nobody's records."""
    name = kafka.topic(f"still_{instance}", 4)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name, group_instance_id=instance), backend)
    for _ in range(3):
        before = gateway.metrics()["rebalances"]
        gateway.process.send_signal(signal.SIGSTOP)
        assert harness.wait_for(lambda: not kafka.admin.describe_consumer_groups(
            [name])[name].result(20).members, 40)
        gateway.process.send_signal(signal.SIGCONT)
        assert harness.wait_for(lambda before=before: gateway.metrics()["rebalances"] > before
                                and gateway.metrics()["lanes"] == 4, 20), gateway.tail()
    assert all(line.endswith(" in 1 s") for line in gateway.lines("joining the group again"))
    waits = [float(line.split("no answer from the brokers for ")[1].split()[0])
             for line in gateway.lines("no answer from the brokers")]
    assert max(waits, default=0) < 5, gateway.tail()
    assert gateway.stop() == 0


def test_unreadable_records_become_dead_letters(kafka, producer, backend, tmp_path):
    name, dead = kafka.topic("poisoned", 2), kafka.topic("dead", 1)
    numbers = list(producer.spans(name, 1, 10, partitions=1))
    producer.send(name, b"\xff\xff\xff", key=b"key", partition=0)
    producer.flush()
    numbers += producer.spans(name, 11, 10, partitions=1)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name, dead_letter={"topic": dead}), backend)
    assert harness.wait_for(lambda: backend.has(numbers), 60)
    letter, = kafka.records(dead, 1)
    headers = dict(letter.headers)
    assert letter.value == b"\xff\xff\xff" and letter.key == b"key"
    assert (headers["topic"], headers["partition"], headers["offset"]) == (b"poisoned", b"0", b"10")
    assert headers["reason"]
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 60), gateway.explain()
    assert gateway.metrics()["dead_letters"] == gateway.metrics()["unreadable_records"] == 1
    assert gateway.stop() == 0


def test_what_came_of_an_incomplete_value_becomes_a_dead_letter(kafka, producer, backend, tmp_path):
    name, dead = kafka.topic("incomplete", 1), kafka.topic("dead_parts", 1)
    for number in range(1, 12):     # more than may be incomplete at once
        producer.send(name, b"front-%d" % number, key=b"key", headers={
            "spanlink.encoding": "pprof", "spanlink.part": f"1/3 {number:016x}"})
    producer.flush()
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": name, "dead_letter": {"topic": dead},
        "profiles": {"topics": [name], "encoding": "native"}}, backend, signals=("profiles",))
    letters = kafka.records(dead, 3)
    for letter in letters:
        headers = dict(letter.headers)
        assert letter.value == b"front-%d" % (int(headers["offset"]) + 1)
        assert headers["reason"] == b"2 of 3 parts of a record never arrived"
    assert harness.wait_for(lambda: gateway.metrics()["dead_letters"] == len(letters), 20)
    assert gateway.metrics()["unreadable_records"] == len(letters)
    assert gateway.stop() == 0


def test_without_a_dead_letter_topic_they_are_logged(kafka, producer, backend, tmp_path):
    name = kafka.topic("skipped", 1)
    producer.send(name, b"\xff\xff\xff")
    producer.flush()
    numbers = producer.spans(name, 1, 5, partitions=1)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: backend.has(numbers), 60)
    assert gateway.lines("a record of skipped cannot be read, partition 0, offset 0")
    assert gateway.stop() == 0


def test_a_full_queue_pauses_and_loses_nothing(kafka, producer, backend, tmp_path):
    name = kafka.topic("paused", 4)
    backend.status = 503
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend,
                               exporter={"sending_queue": {"queue_size": 5}})
    numbers = producer.spans(name, 1, 400, each=20)
    assert harness.wait_for(lambda: gateway.metrics()["lanes_paused"] == 4, 60), gateway.explain()
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 400, 60), gateway.explain()
    assert gateway.metrics()["pauses"] >= 4
    assert gateway.ready()[0]
    backend.status = 200
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.explain()
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 60)
    assert not backend.doubled() and gateway.metrics()["lanes_paused"] == 0
    assert gateway.stop() == 0


@pytest.mark.takes(15)
def test_a_backlog_stays_within_the_memory_limit(kafka, producer, backend, tmp_path):
    name = kafka.topic("large_backlog", 4)
    backend.status = 503
    numbers = producer.spans(name, 1, 600, each=2000)      # 600 records of about 100 kB
    gateway = gateways.Gateway(
        tmp_path, reads(kafka, name), backend, processors={"memory_limiter": {"limit_mib": 64}})
    assert harness.wait_for(lambda: gateway.metrics()["lanes_paused"] > 0, 60), gateway.explain()
    assert not harness.wait_for(lambda: gateway.peak_mib() >= 64 + 24, 2)
    backend.status = 200
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.explain()
    assert not backend.doubled()
    assert gateway.stop() == 0


def test_what_an_exporter_gives_up_is_read_again(kafka, producer, backend, tmp_path):
    name = kafka.topic("given_up", 2)
    backend.status = 503
    gateway = gateways.Gateway(
        tmp_path, reads(kafka, name), backend,
        exporter={"retry_on_failure": {"initial_interval": "50ms", "max_interval": "50ms",
                                       "max_elapsed_time": "300ms"}})
    numbers = producer.spans(name, 1, 20, partitions=2)
    assert harness.wait_for(lambda: gateway.metrics()["rewinds"] >= 2, 60), gateway.explain()
    backend.status = 200
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.explain()
    gateway.stop()


def test_it_is_ready_once_partitions_are_assigned(kafka, backend, tmp_path):
    gateway = gateways.Gateway(tmp_path, reads(kafka, "late_topic"), backend, wait=False)
    assert harness.wait_for(
        lambda: "the topic late_topic does not exist yet" in gateway.ready()[1], 60)
    assert not gateway.ready()[0]
    kafka.topic("late_topic", 2)
    assert harness.wait_for(lambda: gateway.ready()[0], 60), gateway.tail()
    assert "2 lanes of the group late_topic" in gateway.explain()
    assert gateway.stop() == 0


def test_topics_with_different_partition_counts_are_refused(kafka, backend, tmp_path):
    kafka.topic("six_spans", 6)
    kafka.topic("four_profiles", 4)
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "traces": {"topics": ["six_spans"]},
        "profiles": {"topics": ["four_profiles"]}}, backend, signals=("traces", "profiles"),
        wait=False)
    assert gateway.wait(20) != 0
    assert "six_spans has 6, four_profiles has 4 partitions" in gateway.log.read_text()


def test_a_member_that_hung_past_its_session_leaves_its_lanes(kafka, producer, backend, tmp_path):
    name = kafka.topic("stood_still", 4)
    first = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    second = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: second.metrics()["lanes"] == 2, 60)
    first.process.send_signal(signal.SIGSTOP)
    numbers = list(producer.spans(name, 1, 200))
    assert harness.wait_for(lambda: backend.has(numbers), 60), second.explain()
    first.process.send_signal(signal.SIGCONT)
    numbers += producer.spans(name, 201, 200)
    assert harness.wait_for(lambda: first.metrics()["lanes"] == 2, 60), first.explain()
    numbers += producer.spans(name, 401, 200)
    assert harness.wait_for(lambda: backend.has(numbers), 60)
    for each in (first, second):
        assert each.stop() == 0


def test_partitions_may_be_added_while_it_runs(kafka, producer, backend, tmp_path):
    name = kafka.topic("grown", 2)
    gateway = gateways.Gateway(
        tmp_path, reads(kafka, name, metadata={"refresh_interval": "1s"}), backend)
    assert gateway.metrics()["lanes"] == 2
    kafka.grow(name, 4)
    assert harness.wait_for(lambda: gateway.metrics()["lanes"] == 4, 60), gateway.explain()
    numbers = producer.spans(name, 1, 20)
    assert harness.wait_for(lambda: backend.has(numbers), 60)
    assert len(gateway.lines("topic grown has 4 partitions now, 2 before")) == 1
    assert gateway.stop() == 0


def test_a_memory_limit_that_lowers_what_is_fetched_ahead_is_told_of(kafka, backend, tmp_path):
    name = kafka.topic("narrow", 12)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name, max_fetch_size=50_000_000), backend,
                               processors={"memory_limiter": {"limit_mib": 64}})
    [line] = gateway.lines("are fetched ahead instead of 1048576 (max_partition_fetch_size)")
    assert " at most 322638 bytes of each of the 12 partitions" in line
    assert "takes 7 MiB of the memory limit of 64 MiB" in line
    [line] = gateway.lines("(max_fetch_size), which would exceed an eighth")
    assert "at most 8388608 bytes instead of 50000000" in line
    assert gateway.stop() == 0


def test_headers_become_resource_attributes(kafka, producer, backend, tmp_path):
    name = kafka.topic("with_headers", 1)
    producer.spans(name, 1, 1, partitions=1, headers={"region": b"eu", "other": b"x"})
    gateway = gateways.Gateway(tmp_path, reads(
        kafka, name, header_extraction={"extract_headers": True, "headers": ["region"]}), backend)
    assert harness.wait_for(lambda: backend.has([1]), 60)
    assert backend.attributes == [{"service.name": "shop", "kafka.header.region": "eu"}]
    assert gateway.stop() == 0


def pprof_of(*numbers):
    pprof = uploads.Pprof([("cpu", "nanoseconds")])
    for number in numbers:
        pprof.sample([10**7], span_id=f"{number:016x}")
    return pprof.encode(time.time_ns() - 10 * 10**9, 10 * 10**9)


def pair(kafka, name, folder, partitions=2, **producer):
    """Topics of spans and profiles, a sidecar that writes both, and the settings of a receiver."""
    kafka.pair(name, partitions)
    sidecar = sides.Sidecar(folder, {
        "brokers": kafka.addresses, "producer": producer, "traces": {"topic": f"{name}_spans"},
        "profiles": {"topic": f"{name}_profiles", "encoding": "native"}}, ("traces", "profiles"))
    return sidecar, {
        "brokers": kafka.addresses, "group_id": name, "traces": {"topics": [f"{name}_spans"]},
        "profiles": {"topics": [f"{name}_profiles"], "encoding": "native"}}


@pytest.mark.takes(20)
def test_spans_find_profiles_that_were_delivered_before_a_kill(kafka, producer, backend, tmp_path):
    name = "replayed"
    sidecar, both = pair(kafka, name, tmp_path)
    settings = {"signals": ("traces", "profiles"), "processors": {"correlation": {}}}
    gateway = gateways.Gateway(tmp_path, both, backend, **settings)
    began = time.time_ns() - 5 * 10**9
    assert sidecar.upload("name=shop&format=pprof", pprof_of(1, 2)) == 200
    assert harness.wait_for(lambda: len(backend.profiles) == 1, 60), gateway.explain()
    assert harness.wait_for(
        lambda: gateways.committed(kafka, name, f"{name}_profiles") == 1, 60, 0.5)
    gateway.kill()
    spans = gateways.request(1, 2, start=began)
    assert sidecar.post("traces", spans) == 200
    gateway = gateways.Gateway(tmp_path, both, backend, **settings)
    assert harness.wait_for(lambda: backend.has([1, 2]), 90), gateway.explain()
    assert backend.linked == {1, 2}
    assert gateway.metrics()["replayed_records"] == 1 and len(backend.profiles) == 1
    assert gateway.stop() == 0 and sidecar.stop() == 0


def test_records_that_the_broker_deleted_unread_are_counted_as_lost(
        kafka, producer, backend, tmp_path):
    name = kafka.topic("expired", 1)
    producer.spans(name, 1, 10, partitions=1)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: gateways.committed(kafka, name, name) == 10, 60, 0.5)
    gateway.kill()
    producer.spans(name, 11, 10, partitions=1)
    kafka.delete_before(name, 0, 15)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    assert harness.wait_for(lambda: backend.has(range(16, 21)), 60), gateway.explain()
    assert gateway.metrics()["expired_records"] == 5
    assert gateway.lines("5 records of expired, partition 0, were lost")
    assert gateway.stop() == 0


def test_records_that_expire_while_a_lane_is_behind_are_counted_as_lost(
        kafka, producer, backend, tmp_path):
    name, other = kafka.topic("overtaken", 2), kafka.topic("kept", 2)
    backend.status = 503
    gateway = gateways.Gateway(
        tmp_path, reads(kafka, name, traces={"topics": [name, other]},
                        max_partition_fetch_size=65536),
        backend, exporter={"sending_queue": {"queue_size": 3}})
    producer.spans(name, 1000, 200, each=1000, partitions=1)    # records of about 50 kB
    assert harness.wait_for(lambda: gateway.metrics()["lanes_paused"] == 1, 60), gateway.explain()
    kafka.delete_before(name, 0, 150)
    backend.status = 200
    last = range(200_000, 201_000)
    assert harness.wait_for(lambda: backend.has(last), 60), gateway.explain()
    assert harness.wait_for(     # requests before the last one may still be on their way
        lambda: gateway.metrics()["expired_records"] == 200 - len(backend.spans) // 1000, 60)
    expired = int(gateway.metrics()["expired_records"])
    assert 0 < expired <= 150
    assert f'topic="{name}",partition="0"}} {expired}\n' in gateway.page()
    sentence = f"{expired} records of {name}, partition 0, were lost: the broker deleted them"
    assert sentence in gateway.explain()
    [line] = gateway.lines("were lost")
    assert sentence in line and "offset 149" in line and "longer retention" in line
    assert gateway.stop() == 0


def test_offsets_of_an_aborted_transaction_are_not_counted_as_lost(kafka, backend, tmp_path):
    import confluent_kafka
    name = kafka.topic("transactions", 1)
    gateway = gateways.Gateway(tmp_path, reads(kafka, name), backend)
    writer = confluent_kafka.Producer(kafka.client(**{"transactional.id": name}))
    writer.init_transactions(60)
    for first, end in ((1, writer.commit_transaction), (11, writer.abort_transaction),
                       (21, writer.commit_transaction)):
        writer.begin_transaction()
        for number in range(first, first + 10):
            writer.produce(name, gateways.request(number, 1))
        end(60)
    assert harness.wait_for(lambda: backend.has(range(21, 31)), 60), gateway.explain()
    assert not backend.has([11]) and gateway.metrics()["expired_records"] == 0
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 30), gateway.explain()
    assert gateway.stop() == 0


@pytest.mark.takes(15)
def test_a_lane_waits_for_what_an_open_transaction_holds_back(kafka, backend, tmp_path):
    import confluent_kafka
    name = "held_back"
    sidecar, both = pair(kafka, name, tmp_path, 1)
    gateway = gateways.Gateway(tmp_path, both, backend, signals=("traces", "profiles"),
                               processors={"correlation": {}})
    writer = confluent_kafka.Producer(kafka.client(**{"transactional.id": name}))
    writer.init_transactions(60)
    writer.begin_transaction()
    writer.produce(f"{name}_profiles", b"")
    assert writer.flush(60) == 0
    began = time.time_ns() - 5 * 10**9
    assert sidecar.upload("name=shop&format=pprof", pprof_of(1)) == 200
    assert sidecar.post("traces", gateways.request(1, 1, start=began)) == 200
    assert harness.wait_for(lambda: gateway.lines("open transaction"), 60), gateway.explain()

    def behind():
        return float(re.search(r"clock ([0-9.]+)s behind", gateway.explain())[1])
    assert harness.wait_for(lambda: behind() > 8, 60), gateway.explain()
    assert not backend.spans
    assert f"has held back 2 records of {name}_profiles" in gateway.explain()
    assert 'lane="0",signal="profiles"} 2\n' in gateway.page()
    [line] = gateway.lines("open transaction")
    assert f"{name}_profiles/0" in line and "kafka-transactions.sh" in line
    writer.abort_transaction(60)
    assert harness.wait_for(lambda: backend.linked == {1}, 60), gateway.explain()
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 30), gateway.explain()
    assert "open transaction" not in gateway.explain()
    assert gateway.stop() == 0 and sidecar.stop() == 0


def test_held_spans_of_a_stopped_member_are_delivered_by_the_next_one(kafka, backend, tmp_path):
    name = "handed_over"
    sidecar, both = pair(kafka, name, tmp_path)
    settings = {"signals": ("traces", "profiles"), "processors": {"correlation": {}}}
    gateway = gateways.Gateway(tmp_path, both, backend, **settings)
    assert sidecar.post("traces", gateways.request(1, 2)) == 200
    assert harness.wait_for(lambda: gateway.metrics().get("spanlink_hold_spans") == 2
                            or gateway.metrics()["lag"] == 1, 60), gateway.explain()
    assert gateway.stop() == 0
    assert not backend.spans, "held spans were sent unjudged"
    gateway = gateways.Gateway(tmp_path, both, backend, **settings)
    assert sidecar.upload("name=shop&format=pprof", pprof_of(1, 2)) == 200
    assert harness.wait_for(lambda: backend.linked == {1, 2}, 60), gateway.explain()
    assert not backend.doubled()
    assert gateway.stop() == 0 and sidecar.stop() == 0


def test_profiles_arrive_as_they_were_sent(kafka, backend, tmp_path):
    sidecar, both = pair(kafka, "as_sent", tmp_path, 1, max_message_bytes=50000)
    gateway = gateways.Gateway(tmp_path, both, backend, signals=("traces", "profiles"))
    text = b"".join(b"main;work%d 3\n" % n for n in range(15000))
    assert sidecar.upload("name=shop.cpu&format=folded", text) == 200
    assert harness.wait_for(lambda: len(backend.profiles) == 1, 60), gateway.explain()
    path, body = backend.profiles[0]
    assert body == text and "format=folded" in path and "shop.cpu" in path
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 60), gateway.explain()
    assert gateway.stop() == 0 and sidecar.stop() == 0


def test_a_profile_that_is_cut_again_for_its_topic_leaves_no_unreadable_parts(kafka, backend,
                                                                              tmp_path):
    kafka.topic("cut_again_spans", 1)
    kafka.topic("cut_again_profiles", 1, max_message_bytes=20000)
    both = {"brokers": kafka.addresses, "traces": {"topic": "cut_again_spans"},
            "profiles": {"topic": "cut_again_profiles", "encoding": "native"}}
    sidecar = sides.Sidecar(tmp_path, {**both, "producer": {"max_message_bytes": 50000}},
                            ("traces", "profiles"))
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": "cut_again",
        "traces": {"topics": ["cut_again_spans"]},
        "profiles": {"topics": ["cut_again_profiles"], "encoding": "native"}},
        backend, signals=("traces", "profiles"))
    text = b"".join(b"main;work%05d 3\n" % n for n in range(6500))  # two large parts and a small one
    assert sidecar.upload("name=shop.cpu&format=folded", text) == 200
    assert harness.wait_for(lambda: len(backend.profiles) == 1, 60), gateway.explain()
    assert backend.profiles[0][1] == text
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 60), gateway.explain()
    assert gateway.stop() == 0 and sidecar.stop() == 0
    assert sidecar.lines("a broker refuses") and not gateway.lines("cannot be read")


@pytest.mark.takes(10)
def test_a_broker_that_is_behind_does_not_move_the_start(kafka, producer, backend, tmp_path):
    """It ends before the committed offset, as one does that led the partition before it stopped."""
    import confluent_kafka
    name = kafka.topic("behind", 1)
    producer.spans(name, 1, 10, partitions=1)
    other = confluent_kafka.Consumer(kafka.client(**{"group.id": name}))
    other.commit(offsets=[confluent_kafka.TopicPartition(name, 0, 20)], asynchronous=False)
    other.close()
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": name, "traces": {"topics": [name]}}, backend,
        wait=False)
    told = f"{name}/0 ends at offset 10, before the committed 20: a broker may be behind"
    assert harness.wait_for(lambda: gateway.lines(told), 60), gateway.tail()
    assert told in gateway.ready()[1]
    numbers = producer.spans(name, 11, 15, partitions=1)
    assert harness.wait_for(lambda: backend.has(numbers[10:]), 60), gateway.tail()
    assert set(backend.spans) == set(numbers[10:])
    assert gateway.stop() == 0


@pytest.mark.takes(20)
def test_a_partition_that_stays_shorter_than_what_is_committed_is_read_again(
        kafka, producer, backend, tmp_path):
    import confluent_kafka
    name = kafka.topic("shorter", 1)
    numbers = producer.spans(name, 1, 10, partitions=1)
    other = confluent_kafka.Consumer(kafka.client(**{"group.id": name}))
    other.commit(offsets=[confluent_kafka.TopicPartition(name, 0, 20)], asynchronous=False)
    other.close()
    gateway = gateways.Gateway(tmp_path, {
        "brokers": kafka.addresses, "group_id": name, "traces": {"topics": [name]}}, backend)
    assert harness.wait_for(lambda: backend.has(numbers), 60), gateway.tail()
    assert gateway.stop() == 0
