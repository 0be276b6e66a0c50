"""What holds of the events of GPUs: they come once.

Fixtures: ``machine``, a simulated machine with two GPUs and without faults; ``fresh_source``, which hears its
events; ``source``, the same that has been asked already; ``later``, which lets so much time pass that it
tries again what it could not do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from agent.hardware.errors import HardwareError, HardwareFault
from agent.hardware.health.ports import GpuEventSource
from agent.hardware.health.types import GpuEvent, GpuEventKind, Unwatched
from agent.hardware.simulated import SimulatedMachine, parse_injected
from agent.hardware.types import GpuUuid

MOST_ANSWERS = 40
NEVER_HEARD_OF = 9_999_999_999


def raise_events(machine: SimulatedMachine, *texts: str) -> None:
    machine.inject(*(parse_injected(text) for text in texts))


def uuid_of(machine: SimulatedMachine, minor: int) -> GpuUuid:
    return next(card.uuid for card in machine.node.cards if card.minor == minor)


def heard(source: GpuEventSource, most: int = MOST_ANSWERS) -> list[GpuEvent]:
    """All events that have come: what is asked until an answer without any, over failed sessions too."""
    found: list[GpuEvent] = []
    for _ in range(most):
        try:
            answer = source.wait(0)
        except HardwareError:
            continue
        found += answer.events
        if not answer.events and not answer.is_new_session:
            return found
    raise AssertionError(f"events still come after {most} answers")


def unwatched(source: GpuEventSource) -> Sequence[Unwatched]:
    return source.wait(0).unwatched


def xid(gpu: GpuUuid | None, number: int, times: int = 1, **instance: int) -> GpuEvent:
    return GpuEvent(gpu=gpu, kind=GpuEventKind.XID, xid=number, times=times, **instance)


def test_the_first_answer_comes_at_once_and_says_that_events_may_have_been_missed(
    fresh_source: GpuEventSource,
) -> None:
    first, second = fresh_source.wait(3600), fresh_source.wait(0)

    assert (first.events, first.unwatched, first.is_new_session) == ((), (), True)
    assert not second.is_new_session


def test_an_xid_is_heard_once_with_its_gpu_and_number(machine, source) -> None:
    raise_events(machine, "gpu-1:xid=31")

    assert heard(source) == [xid(uuid_of(machine, 1), 31)]
    assert heard(source) == []


def test_an_xid_never_heard_of_comes_with_its_number(machine, source) -> None:
    raise_events(machine, f"gpu-0:xid={NEVER_HEARD_OF}")

    assert heard(source) == [xid(uuid_of(machine, 0), NEVER_HEARD_OF)]


def test_an_xid_names_the_mig_instance_even_if_it_is_gone(machine, source) -> None:
    raise_events(machine, "gpu-0:xid=43:gi=7:ci=0", "gpu-0:xid=43:gi=99")

    gpu = uuid_of(machine, 0)
    assert heard(source) == [xid(gpu, 43, gi_id=7, ci_id=0), xid(gpu, 43, gi_id=99)]


def test_an_event_of_a_gpu_that_nobody_knows_comes_without_a_gpu(machine, source) -> None:
    raise_events(machine, "machine:xid=79")

    assert heard(source) == [xid(None, 79)]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("gpu-1:ecc=1", GpuEventKind.UNCORRECTABLE_ECC),
        ("gpu-1:mig-changed", GpuEventKind.MIG_CHANGED),
        ("gpu-1:unavailable", GpuEventKind.UNAVAILABLE),
        ("gpu-1:recovery=node-reboot", GpuEventKind.RECOVERY_CHANGED),
    ],
)
def test_every_kind_of_event_is_heard(machine, source, text: str, kind: GpuEventKind) -> None:
    raise_events(machine, text)

    assert heard(source) == [GpuEvent(gpu=uuid_of(machine, 1), kind=kind)]


def test_equal_events_come_as_one_with_their_number_and_others_apart(machine, source) -> None:
    raise_events(machine, "gpu-0:xid=13:3", "gpu-1:xid=13", "gpu-0:xid=13:2", "gpu-0:xid=31")

    first, second = uuid_of(machine, 0), uuid_of(machine, 1)
    assert heard(source) == [xid(first, 13, 5), xid(second, 13), xid(first, 31)]


def test_nothing_of_a_storm_is_lost(machine, source) -> None:
    raise_events(machine, "gpu-0:xid=13:300", "gpu-1:xid=48:300")

    came = heard(source, most=601)

    assert sum(event.times for event in came if event.xid == 13) == 300
    assert sum(event.times for event in came if event.xid == 48) == 300


def test_what_came_between_two_questions_is_heard(machine, source) -> None:
    raise_events(machine, "gpu-0:xid=31")
    raise_events(machine, "gpu-1:xid=43")

    assert [event.xid for event in heard(source)] == [31, 43]


def test_a_gpu_whose_events_cannot_be_registered_is_told_and_the_others_are_heard(
    machine, fresh_source
) -> None:
    raise_events(machine, "gpu-1:watch-events:not-supported")
    (told,) = fresh_source.wait(0).unwatched
    raise_events(machine, "gpu-1:xid=48", "gpu-0:xid=48")

    assert told.gpu == uuid_of(machine, 1)
    assert told.gpu in told.reason
    assert [event.gpu for event in heard(fresh_source)] == [uuid_of(machine, 0)]


def test_a_gpu_that_could_not_be_registered_is_tried_again(
    machine, fresh_source, later: Callable[[], None]
) -> None:
    raise_events(machine, "gpu-1:watch-events:timed-out:1")
    assert [one.gpu for one in fresh_source.wait(0).unwatched] == [uuid_of(machine, 1)]

    later()

    assert unwatched(fresh_source) == ()
    raise_events(machine, "gpu-1:xid=48")
    assert [event.gpu for event in heard(fresh_source)] == [uuid_of(machine, 1)]


def test_an_error_of_waiting_is_told_and_the_next_call_begins_anew(machine, source) -> None:
    raise_events(machine, "machine:wait-events:hardware-fault:1")

    with pytest.raises(HardwareFault):
        source.wait(0)

    assert source.wait(0).is_new_session
    raise_events(machine, "gpu-0:xid=31")
    assert [event.xid for event in heard(source)] == [31]


def test_a_gpu_that_falls_off_the_bus_is_told_and_the_others_are_heard(machine, source) -> None:
    raise_events(machine, "gpu-1:xid=79")
    came = heard(source)

    raise_events(machine, "gpu-0:xid=48")

    assert came == [xid(uuid_of(machine, 1), 79)]
    assert [event.gpu for event in heard(source)] == [uuid_of(machine, 0)]
    assert [one.gpu for one in unwatched(source)] == [uuid_of(machine, 1)]


def test_a_gpu_that_is_back_is_heard_again(machine, source, later: Callable[[], None]) -> None:
    raise_events(machine, "gpu-1:xid=79")
    heard(source)
    machine.reset_gpu(uuid_of(machine, 1))

    later()

    assert unwatched(source) == ()
    raise_events(machine, "gpu-1:xid=31")
    assert [event.xid for event in heard(source)] == [31]
