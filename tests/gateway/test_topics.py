"""Topics that change under gateways that run."""
import pytest

import gateways
import harness


def make_again(kafka, name, partitions):
    """Deletes a topic and creates it at once, as soon as the brokers let it have its old name."""
    from confluent_kafka import KafkaException, admin
    kafka.admin.delete_topics([name])[name].result(60)

    def made():
        try:
            kafka.admin.create_topics([admin.NewTopic(name, partitions, 1)])[name].result(60)
        except KafkaException:
            return False
        return True
    assert harness.wait_for(made, 60)
    def known():
        found = kafka.admin.list_topics(timeout=10).topics
        return name in found and len(found[name].partitions) == partitions
    assert harness.wait_for(known, 60)


@pytest.mark.takes(10)
@pytest.mark.parametrize("first,second", [(20, 60),     # the position is below the new end
                                          (60, 20)])    # and above
def test_a_topic_that_is_made_again_is_read_from_its_first_record(
        kafka, producer, backend, tmp_path, first, second):
    name = kafka.topic(f"made_again_{first}", 2)
    gateway = gateways.Gateway(tmp_path, {"brokers": kafka.addresses, "group_id": name,
                                          "initial_offset": "latest",
                                          "traces": {"topics": [name]}}, backend)
    old = producer.spans(name, 1, first, partitions=2)
    assert harness.wait_for(lambda: backend.has(old), 60), gateway.tail()
    assert harness.wait_for(lambda: gateways.committed(kafka, name, name) == first, 60)
    make_again(kafka, name, 2)
    new = gateways.Producer(kafka).spans(name, 1001, second, partitions=2)
    assert harness.wait_for(lambda: backend.has(new), 30), (gateway.explain(), gateway.tail())
    assert harness.wait_for(lambda: gateway.metrics()["lag"] == 0, 60), gateway.explain()
    [line] = gateway.lines(f"topic {name} was deleted and made again")
    assert "2 partitions are read from their first record" in line
    assert gateway.metrics()["restarted_partitions"] == 2
    assert not set(old) & set(backend.doubled())
    later = gateways.Producer(kafka).spans(name, 2001, 10, partitions=2)
    assert harness.wait_for(lambda: backend.has(later), 60), gateway.tail()
    assert harness.wait_for(lambda: gateways.committed(kafka, name, name) == second + 10, 60)
    assert len(gateway.lines("was deleted and made again")) == 1
    assert gateway.stop() == 0
