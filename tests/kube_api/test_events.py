"""Events tell once what happened and count what happens again; whoever emits them never waits nor fails."""

from __future__ import annotations

from threading import Event, Thread

import pytest
from scripted_api import Clock, Hang, Reply, Script, status, stored

from kube_api import EventWriter, KubeApi, Regarding
from kube_api.events.ledger import CountedAgain, EventLedger, NewEvent, Occurrence, Write
from kube_api.events.waiting import MOST, MOST_OF_ONE
from kube_api.pacing import Budgets, TokenBucket

NODE = Regarding(api_version="v1", kind="Node", name="a", uid="u")
COMPONENT = "tangram.dev/agent"


def occurrence(message: str = "counters were dropped", regarding: Regarding = NODE) -> Occurrence:
    return Occurrence(regarding, "Warning", "CountersDropped", message, "Publish")


@pytest.fixture
def ledger() -> EventLedger:
    return EventLedger(COMPONENT, "a")


def test_the_first_occurrence_is_written_whole(ledger: EventLedger) -> None:
    write = ledger.observe(occurrence(), 1_700_000_000.25)

    assert isinstance(write, NewEvent)
    assert write.namespace == "default"
    name = write.document["metadata"]["name"]
    assert name.startswith("a.")
    assert write.document == {
        "metadata": {"name": name, "namespace": "default"},
        "eventTime": "2023-11-14T22:13:20.250000Z",
        "reportingController": COMPONENT,
        "reportingInstance": "a",
        "type": "Warning",
        "reason": "CountersDropped",
        "action": "Publish",
        "note": "counters were dropped",
        "regarding": {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "u"},
    }


def test_an_event_about_a_claim_lies_beside_it(ledger: EventLedger) -> None:
    write = ledger.observe(occurrence(regarding=Regarding.of(stored("train"))), 1.0)

    assert isinstance(write, NewEvent)
    assert write.namespace == "default"
    assert write.document["regarding"]["kind"] == "ResourceClaim"


def test_the_same_again_is_counted_and_written_once_a_minute(ledger: EventLedger) -> None:
    ledger.observe(occurrence(), 0.0)

    writes = [ledger.observe(occurrence(), float(second)) for second in range(10, 130, 10)]

    written = [write for write in writes if isinstance(write, CountedAgain)]
    assert [write.patch["series"]["count"] for write in written] == [7, 13]
    assert writes.count(None) == 10


def test_a_count_that_nobody_wrote_is_written_when_it_is_quiet_and_only_once(ledger: EventLedger) -> None:
    ledger.observe(occurrence(), 0.0)
    ledger.observe(occurrence(), 1.0)

    (write,) = ledger.unwritten(2.0)

    assert isinstance(write, CountedAgain)
    assert write.patch == {"series": {"count": 2, "lastObservedTime": "1970-01-01T00:00:01.000000Z"}}
    assert ledger.unwritten(3.0) == []


def test_other_words_are_another_event(ledger: EventLedger) -> None:
    first, second = ledger.observe(occurrence("one"), 0.0), ledger.observe(occurrence("two"), 0.0)

    assert isinstance(first, NewEvent)
    assert isinstance(second, NewEvent)
    assert first.document["metadata"]["name"] != second.document["metadata"]["name"]


def test_the_same_after_a_long_silence_is_a_new_event(ledger: EventLedger) -> None:
    ledger.observe(occurrence(), 0.0)

    assert isinstance(ledger.observe(occurrence(), 361.0), NewEvent)


def test_long_words_are_cut_to_what_the_server_takes(ledger: EventLedger) -> None:
    long = Regarding(api_version="v1", kind="Node", name="a" * 229 + ".b" + "c" * 20)

    write = ledger.observe(occurrence("ü" * 2000, long), 0.0)

    assert isinstance(write, NewEvent)
    assert len(write.document["note"].encode()) <= 1024
    assert len(write.document["metadata"]["name"]) <= 253
    assert ".." not in write.document["metadata"]["name"]


def test_a_thousand_different_events_do_not_grow_for_ever(ledger: EventLedger) -> None:
    writes: list[Write | None] = [ledger.observe(occurrence(str(n)), float(n)) for n in range(1000)]

    assert all(isinstance(write, NewEvent) for write in writes)
    assert len(ledger._series) <= 256


def emit(writer: EventWriter, message: str = "counters were dropped") -> None:
    writer.emit(NODE, "Warning", "CountersDropped", message, "Publish")


def test_a_writer_says_it_to_the_server(api: KubeApi, server: Script, clock: Clock) -> None:
    writer = EventWriter(api, COMPONENT, clock, instance="a")

    emit(writer)
    emit(writer)
    writer.close()

    first, second = server.requests
    path = "/apis/events.k8s.io/v1/namespaces/default/events"
    assert (first.method, first.path) == ("POST", path)
    assert (second.method, second.path) == ("PATCH", f"{path}/{first.body['metadata']['name']}")
    assert second.body["series"]["count"] == 2


@pytest.mark.parametrize("failure", [Reply(status(403, "Forbidden"), 403), Reply(status(500), 500)])
def test_a_server_that_refuses_events_is_logged_once(
    api: KubeApi, server: Script, clock: Clock, caplog: pytest.LogCaptureFixture, failure: Reply
) -> None:
    writer = EventWriter(api, COMPONENT, clock)
    server.answers(failure)

    for number in range(5):
        emit(writer, str(number))
    writer.close()

    (record,) = caplog.records
    assert record.getMessage().startswith("lost an event: cannot create Event default/a.")


def test_an_event_that_the_server_forgot_is_written_anew(api: KubeApi, server: Script, clock: Clock) -> None:
    writer = EventWriter(api, COMPONENT, clock)
    server.answers(Reply(), Reply(status(404, "NotFound"), 404), Reply())
    emit(writer)
    clock.now += 61
    emit(writer)
    clock.now += 61

    emit(writer)
    writer.close()

    assert [request.method for request in server.requests] == ["POST", "PATCH", "POST"]


def test_words_that_cannot_be_sent_lose_only_themselves(
    api: KubeApi, server: Script, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    writer = EventWriter(api, COMPONENT, clock)

    writer.emit(NODE, "Warning", "\udcff", "cannot be encoded", "Publish")
    emit(writer, "also \udcff bytes of a file name")
    writer.close()

    assert [request.body["note"] for request in server.requests] == ["also ? bytes of a file name"]
    assert "lost an event" in caplog.text


def test_nobody_waits_for_a_server_that_hangs(
    api: KubeApi, server: Script, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    writer = EventWriter(api, COMPONENT, clock)
    server.answers(Hang())

    for number in range(400):
        emit(writer, str(number))
    writer.close(timeout_s=0.01)

    assert "dropped an event, the queue is full" in caplog.text
    server.over.set()


def test_a_flood_of_events_is_cut(api: KubeApi, server: Script, clock: Clock) -> None:
    writer = EventWriter(api, COMPONENT, clock)

    for number in range(100):
        emit(writer, str(number))
    writer.close()

    assert len(server.requests) == 25


def test_many_threads_may_emit(api: KubeApi, server: Script, clock: Clock) -> None:
    writer = EventWriter(api, COMPONENT, clock)
    threads = [Thread(target=lambda: [emit(writer) for _ in range(10)]) for _ in range(5)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()

    assert server.requests[-1].body["series"]["count"] == 50


def claim_in(namespace: str) -> Regarding:
    return Regarding(api_version="v1", kind="ResourceClaim", name="c", namespace=namespace, uid="u")


def test_one_tenant_with_a_thousand_events_silences_nobody(
    api: KubeApi, server: Script, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    writer = EventWriter(api, COMPONENT, clock)

    for number in range(1000):
        writer.emit(claim_in("loud"), "Warning", "Refused", str(number), "Prepare")
    writer.emit(claim_in("quiet"), "Warning", "Refused", "no such device", "Prepare")
    emit(writer, "of the node")
    writer.close(60.0)

    notes = [request.body["note"] for request in server.requests]
    assert notes[-2:] == ["no such device", "of the node"]
    assert len(notes) <= 25 + 2
    # Writers of earlier tests may still log of their own namespaces.
    assert not any(message.startswith("dropped an event of namespace quiet") for message in caplog.messages)


def test_events_about_claims_in_default_take_nothing_from_those_about_the_node(
    api: KubeApi, server: Script, clock: Clock
) -> None:
    writer = EventWriter(api, COMPONENT, clock)

    for number in range(60):
        writer.emit(claim_in("default"), "Warning", "Refused", str(number), "Prepare")
    emit(writer, "of the node")
    writer.close(60.0)

    notes = [request.body["note"] for request in server.requests]
    assert notes == [*map(str, range(25)), "of the node"]


def test_four_tenants_that_fill_the_queue_do_not_silence_a_fifth(
    api: KubeApi, server: Script, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    writer, is_filled = EventWriter(api, COMPONENT, clock, burst=MOST_OF_ONE), Event()
    server.answers(lambda _: Reply() if is_filled.wait(60.0) else Reply(status(500), 500))
    emit(writer, "is written while the others come")
    assert server.have_come(1)

    for number in range(MOST_OF_ONE):
        for tenant in "abcd":
            writer.emit(claim_in(tenant), "Warning", "Refused", f"{tenant}{number}", "Prepare")
    writer.emit(claim_in("fifth"), "Warning", "Refused", "no such device", "Prepare")
    is_filled.set()
    writer.close(60.0)

    notes = [request.body["note"] for request in server.requests]
    assert notes[-1] == "no such device"
    assert len(notes) == 1 + MOST
    assert "dropped an event, the queue is full: Refused a63" in caplog.messages


def test_budgets_of_many_namespaces_do_not_grow_for_ever(clock: Clock) -> None:
    budgets = Budgets(lambda: TokenBucket(1.0, 1, clock), 10)

    first = budgets.of("0")
    for number in range(10):
        budgets.of(str(number))

    assert budgets.of("0") is first
    budgets.of("10")
    assert len(budgets._kept) == 10
