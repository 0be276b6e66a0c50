"""What is refused stands in a tenant's events and statuses: other tenants are there without their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from devices_of_kinds import allocated_device

from plugin.base.errors import DeviceHeld, LockTimeout, PluginError
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, OpaqueConfig

TEAM, SECRET = "acquisitions", "codename-hermes"
HALF = "gpu-0-mig-3g-20gb-4-7"
UNKNOWN = (TEAM, SECRET)


def of_another_team(claim: AllocatedClaim) -> AllocatedClaim:
    return replace(claim, ref=ClaimRef(TEAM, SECRET))


def refusal(bench: Any, claim: AllocatedClaim) -> str:
    with pytest.raises(PluginError) as refused:
        bench.driver.prepare(claim)
    assert isinstance(refused.value, DeviceHeld)
    return str(refused.value)


@pytest.mark.parametrize(
    ("held", "wanted"),
    [("gpu-0", "gpu-0"), (HALF, "gpu-0"), ("gpu-0", HALF), (HALF, "gpu-0-mig-7g-40gb-0-7")],
)
def test_the_holder_of_another_namespace_is_told_by_its_uid_only(bench: Any, held: str, wanted: str) -> None:
    bench.driver.prepare(of_another_team(bench.claim("u1", held)))

    text = refusal(bench, bench.claim("u2", wanted))

    assert "a claim of another namespace (completed, UID u1)" in text
    assert not any(word in text for word in UNKNOWN)
    assert "default/claim-u2" in text


def test_holders_of_several_namespaces_are_each_told_as_the_tenant_may_know_them(bench: Any) -> None:
    bench.driver.prepare(of_another_team(bench.claim("u1", HALF)))
    bench.prepare("u2", "gpu-0-mig-3g-20gb-0-3")

    text = refusal(bench, bench.claim("u3", "gpu-0"))

    assert "UID u1" in text
    assert "claim default/claim-u2 (completed)" in text
    assert not any(word in text for word in UNKNOWN)


def test_a_vf_of_a_nic_that_another_namespace_has_tells_no_name(bench_of: Callable[[str], Any]) -> None:
    bench, nic = bench_of("dgx-a100"), "nic-0000-4b-00-0"
    bench.driver.prepare(of_another_team(bench.claim("u1", f"{nic}-vf-0")))

    text = refusal(bench, bench.claim("u2", nic))

    assert "UID u1" in text
    assert not any(word in text for word in UNKNOWN)


def test_the_interval_that_another_namespace_has_tells_no_name(linked_bench: Any) -> None:
    def shared(uid: str, interval: str) -> AllocatedClaim:
        sharing = {"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": interval}}
        parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "GpuConfig", "sharing": sharing}
        configs = (OpaqueConfig(driver="tangram.dev", parameters=parameters),)
        result = allocated_device("gpu-0-shared", linked_bench.node, memory="10Gi")
        return replace(linked_bench.claim(uid, configs=configs), results=(result,))

    linked_bench.driver.prepare(of_another_team(shared("u1", "Long")))

    text = refusal(linked_bench, shared("u2", "Short"))

    assert "differs from Long, which a claim of another namespace (completed, UID u1) has of this GPU" in text
    assert not any(word in text for word in UNKNOWN)


def test_who_waits_for_the_lock_of_a_gpu_is_not_told_whose_claim_has_it(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    set_up = bench.driver._steps.setup.set_up

    def slow(*arguments: Any) -> Any:
        # While the first claim's GPU is being set up, the second one's time is up.
        if not told:
            told.append("")
            with pytest.raises(LockTimeout) as refused:
                bench.prepare("u2", "gpu-0")
            told[0] = str(refused.value)
        return set_up(*arguments)

    monkeypatch.setattr(type(bench.driver._steps.setup), "set_up", lambda _, *arguments: slow(*arguments))
    bench.driver.prepare(of_another_team(bench.claim("u1", HALF)))

    (text,) = told
    assert "this process holds it to prepare claim u1" in text
    assert not any(word in text for word in UNKNOWN)
