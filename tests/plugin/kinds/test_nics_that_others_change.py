"""A NIC or VF that a claim has, while others end late, take drivers away or look at its health."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agent.hardware.nics.types import VFIO_PCI
from agent.hardware.types import Bdf
from plugin.kinds.health import Health
from scheduler_core.model.claim import OpaqueConfig

PF = Bdf("0000:19:00.0")
NIC, VF, OTHER_NIC = "nic-0000-19-00-0", "nic-0000-19-00-0-vf-0", "nic-0000-19-00-1"


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with two Ethernet NICs, one of which has two VFs."""
    return bench_of("a30x4")


def prepare(bench: Any, uid: str, **fields: Any) -> None:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", **fields}
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)
    bench.driver.prepare(bench.claim(uid, VF, configs=(config,)))


def ill(bench: Any) -> list[str]:
    return [entry.device for entry in bench.driver.health.read() if entry.health is not Health.HEALTHY]


@pytest.mark.parametrize("fields", [{"trust": True}, {"mode": "vfio", "trust": True}])
def test_the_late_end_of_an_old_claim_does_not_reset_the_vf_of_the_next_one(
    bench: Any, fields: dict[str, Any]
) -> None:
    prepare(bench, "old", **fields)
    bench.unprepare("old")
    prepare(bench, "new", **fields)
    before = bench.leftovers()

    bench.unprepare("old")

    assert bench.leftovers() == before
    assert bench.machine.nics.settings.read(PF, 0).trust


def test_a_vf_that_vfio_has_for_a_claim_is_healthy(bench: Any) -> None:
    assert ill(bench) == []
    prepare(bench, "u1", mode="vfio")

    assert bench.machine.nics.reader.interfaces(Bdf("0000:19:00.2")) == ()
    assert ill(bench) == []


def test_a_nic_that_somebody_gave_to_user_space_hides_no_other_device(bench: Any) -> None:
    before = bench.names()
    bench.machine.nics.functions.give_to(PF, VFIO_PCI)

    after = bench.restart() and bench.names()

    assert {name for name in before if not name.startswith(NIC)} <= set(after)
    bench.prepare("u1", OTHER_NIC)
    bench.unprepare("u1")
