"""A claim that no pod of this node has any more is undone: late, after two looks, and never on a guess."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from damaged_files import flip, places

from plugin.base.errors import DeviceHeld
from plugin.claim.reconciling.standing import ASK_S, GRACE_S
from scheduler_core.model.claim import ClaimRef, ClaimUid

HALF = "gpu-0-mig-3g-20gb-4-7"
LOOKS = 1 + int(GRACE_S / ASK_S)
"""How many looks at the API server end a claim that is over."""
Look = Callable[[], bool]


@pytest.fixture
def prepared(bench: Any, claims: Any, look: Look) -> Any:
    """A claim that a pod has, after the first look."""
    bench.prepare("u1", HALF)
    claims.have("u1", HALF)
    as_read_for_prepare(bench, claims, "u1")
    look()
    return bench


def as_read_for_prepare(bench: Any, claims: Any, uid: str) -> None:
    bench.driver.figures.pods.note(uid, claims.known[f"claim-{uid}"])


def deleted(claims: Any) -> None:
    claims.known.clear()


def replaced(claims: Any) -> None:
    claims.have("u1", HALF)
    claims.known["claim-u1"]["metadata"]["uid"] = "u2"


def reserved_for_nobody(claims: Any) -> None:
    claims.have("u1", HALF, pods=())


def allocated_elsewhere(claims: Any) -> None:
    claims.have("u1", HALF, pool="node-2")


@pytest.mark.parametrize("over", [deleted, replaced, reserved_for_nobody, allocated_elsewhere])
def test_a_record_whose_claim_is_over_is_undone_after_the_grace_period(
    prepared: Any, claims: Any, heard: Any, look_later: Look, over: Callable[[Any], None]
) -> None:
    over(claims)
    for _ in range(LOOKS - 1):
        look_later()
        assert len(prepared.records()) == 1

    look_later()

    assert prepared.leftovers() == []
    assert heard.said == [("changed", "u1")]
    assert 'tangram_plugin_repairs_total{kind="end"} 1.0' in prepared.driver.metrics.text()


def test_a_claim_that_a_pod_has_stays_for_ever(prepared: Any, look_later: Look) -> None:
    for _ in range(3 * LOOKS):
        look_later()

    assert len(prepared.instances()) == 1


def test_each_claim_is_asked_for_once_in_a_look_and_not_at_every_look(
    prepared: Any, claims: Any, look: Look, look_later: Look
) -> None:
    prepared.prepare("u2", "gpu-1")
    claims.have("u2", "gpu-1")
    as_read_for_prepare(prepared, claims, "u2")
    look()
    assert claims.asked == [], "a claim that was just prepared is not asked for"

    look_later()
    look()

    assert claims.asked == ["claim-u1", "claim-u2"]


def test_a_claim_that_an_earlier_process_prepared_is_asked_for_its_pods_once(
    bench: Any, claims: Any, look: Look
) -> None:
    bench.prepare("u1", HALF)
    claims.have("u1", HALF, pods=("trainer",))
    bench.restart()

    for _ in range(3):
        look()

    assert claims.asked == ["claim-u1"]
    assert 'pod="trainer"' in bench.driver.metrics.text()


def test_the_look_that_undoes_a_claim_asks_once_too(prepared: Any, claims: Any, look_later: Look) -> None:
    deleted(claims)
    for _ in range(LOOKS):
        look_later()

    assert claims.asked == ["claim-u1"] * LOOKS


def test_an_api_server_that_does_not_answer_ends_nothing(
    prepared: Any, claims: Any, look_later: Look, caplog: pytest.LogCaptureFixture
) -> None:
    claims.is_down = True

    for _ in range(3 * LOOKS):
        assert look_later(), "nothing here is wrong: the next look has time"

    assert len(prepared.instances()) == 1
    lines = [line for line in caplog.messages if "nothing is undone" in line]
    assert len(lines) == 1
    assert "connection refused" in lines[0]


def test_an_api_server_that_is_gone_when_the_claim_is_to_be_undone_ends_nothing(
    prepared: Any, claims: Any, look_later: Look
) -> None:
    deleted(claims)
    for _ in range(LOOKS - 1):
        look_later()
    claims.is_down = True

    look_later()

    assert len(prepared.instances()) == 1
    claims.is_down = False
    look_later()
    assert prepared.leftovers() == []


def test_a_claim_that_is_reserved_again_begins_its_grace_period_anew(
    prepared: Any, claims: Any, look_later: Look
) -> None:
    for _ in range(3):
        reserved_for_nobody(claims)
        for _ in range(LOOKS - 1):
            look_later()
        claims.have("u1", HALF)
        look_later()

    assert len(prepared.instances()) == 1


def test_a_pod_that_gets_the_claim_in_the_last_moment_keeps_its_devices(
    prepared: Any, claims: Any, look_later: Look
) -> None:
    reserved_for_nobody(claims)
    for _ in range(LOOKS - 1):
        look_later()
    before = prepared.instances()
    claims.have("u1", HALF)
    prepared.prepare("u1", HALF)
    reserved_for_nobody(claims)  # and the pod ends again: its grace period begins

    look_later()

    assert prepared.instances() == before


def test_while_it_is_asked_for_the_last_time_nobody_prepares_the_claim(
    prepared: Any, claims: Any, look_later: Look
) -> None:
    refused: list[str] = []

    def kubelet() -> None:
        no_time = prepared.driver.budgets.begin(remaining_s=0.0)
        try:
            with prepared.driver.opened(ClaimUid("u1"), ClaimRef("default", "claim-u1"), no_time):
                pass
        except Exception as error:  # noqa: BLE001 - what it is refused with is what is asked
            refused.append(str(error))

    deleted(claims)
    for _ in range(LOOKS - 1):
        look_later()
    claims.meanwhile = kubelet

    look_later()

    assert "this process holds it to undo claim u1, which is over" in refused[0]


def test_a_claim_on_a_lost_gpu_that_is_over_is_parked(prepared: Any, claims: Any, look_later: Look) -> None:
    deleted(claims)
    prepared.inject("gpu-0:lost")
    for _ in range(LOOKS):
        look_later()

    assert [record.state for record in prepared.records()] == ["undoing"]
    assert not prepared.document("u1").exists()
    prepared.simulated.reset_gpu(prepared.uuid(0))
    prepared.driver.parked.look_after()
    assert prepared.leftovers() == []


def test_an_instance_that_a_program_still_uses_is_not_destroyed(
    prepared: Any, claims: Any, look_later: Look
) -> None:
    deleted(claims)
    prepared.inject("gpu-0:destroy-compute-instance:in-use:1")
    for _ in range(LOOKS):
        look_later()

    assert len(prepared.instances()) == 1
    with pytest.raises(DeviceHeld):
        prepared.prepare("u2", HALF)
    prepared.driver.parked.look_after()
    assert prepared.leftovers() == []


def spoil(bench: Any) -> None:
    file = bench.options.claims_dir / "u1.json"
    data = file.read_bytes()
    file.write_bytes(flip(data, places(data)[-2]))


def test_a_claim_in_quarantine_ends_when_it_is_over_and_not_before(
    prepared: Any, claims: Any, look_later: Look
) -> None:
    spoil(prepared)
    for _ in range(2 * LOOKS):
        look_later()
    assert len(prepared.instances()) == 1

    deleted(claims)
    for _ in range(LOOKS):
        look_later()

    assert prepared.leftovers() == [f"{prepared.options.claims_dir}/u1.json.corrupt"]


def test_without_an_api_server_no_claim_is_over(prepared: Any, heard: Any) -> None:
    for _ in range(3 * LOOKS):
        prepared.clock.now += ASK_S
        prepared.driver.looks(heard).look()

    assert len(prepared.instances()) == 1
