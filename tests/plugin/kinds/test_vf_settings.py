"""What a PF keeps of a claim's VF: set, read back, and restored as long as it is still ours to restore."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from devices_of_kinds import VF_SETTINGS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.hardware.nics.links import Link
from agent.hardware.nics.types import LinkState, VfSettings
from agent.hardware.ports import Machine
from agent.hardware.types import Bdf
from plugin.assembly import assemble
from plugin.base.errors import ClaimUnusable, HardwareFailed, NotReady
from scheduler_core.model.claim import OpaqueConfig

PF, VF, SIBLING = Bdf("0000:19:00.0"), "nic-0000-19-00-0-vf-0", "nic-0000-19-00-0-vf-1"
NEW = VfSettings(
    mac="00:00:00:00:00:00",
    vlan=0,
    qos=0,
    min_rate=0,
    max_rate=0,
    spoof_check=True,
    trust=False,
    link_state=LinkState.AUTO,
)
ALL = VfSettings(
    mac="02:00:00:00:00:07",
    vlan=100,
    qos=3,
    min_rate=100,
    max_rate=1000,
    spoof_check=False,
    trust=True,
    link_state=LinkState.ENABLE,
)


@pytest.fixture
def bench(bench_of: Callable[..., Any]) -> Any:
    """A machine with an Ethernet NIC that has two VFs."""
    return bench_of("a30x4")


def prepare(bench: Any, fields: Mapping[str, Any], uid: str = "u1", device: str = VF) -> None:
    parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": "VfConfig", **fields}
    config = OpaqueConfig(driver="tangram.dev", parameters=parameters)
    bench.driver.prepare(bench.claim(uid, device, configs=(config,)))


def present(bench: Any, index: int = 0) -> VfSettings:
    found: VfSettings = bench.machine.nics.settings.read(PF, index)
    return found


def test_every_setting_of_the_configuration_is_made_and_restored(bench: Any) -> None:
    prepare(bench, VF_SETTINGS)
    made = present(bench)
    bench.unprepare("u1")

    assert made == ALL
    assert present(bench) == NEW
    assert bench.leftovers() == []


# Each example leaves the machine as it was, so all of them may have one.
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.sets(st.sampled_from(sorted(VF_SETTINGS))))
def test_whatever_is_set_alone_nothing_else_changes_and_all_of_it_comes_back(
    bench: Any, names: set[str]
) -> None:
    before = VfSettings(mac="02:00:00:00:00:01", vlan=7, max_rate=500, trust=True)
    bench.machine.nics.settings.write(PF, 0, before)
    started = present(bench)
    chosen = {name: VF_SETTINGS[name] for name in names}
    chosen |= {"maxTxRate": 1000} if "minTxRate" in names else {}

    prepare(bench, chosen)
    made = present(bench)
    bench.unprepare("u1")

    fields = {
        "mac": {"mac"},
        "vlan": {"vlan", "qos"},
        "minTxRate": {"min_rate"},
        "maxTxRate": {"max_rate"},
        "spoofCheck": {"spoof_check"},
        "trust": {"trust"},
        "linkState": {"link_state"},
    }
    changed = {field for name in chosen for field in fields[name]}
    assert made == replace(started, **{field: getattr(ALL, field) for field in changed})
    assert present(bench) == started


def test_what_somebody_changed_while_the_claim_had_the_vf_stays(bench: Any) -> None:
    prepare(bench, {"trust": True, "vlan": {"id": 100}})
    bench.machine.nics.settings.write(PF, 0, VfSettings(vlan=200))

    bench.unprepare("u1")

    assert present(bench) == replace(NEW, vlan=200)


def test_a_vf_that_was_made_anew_is_not_reset_by_the_claim_that_had_the_old_one(bench: Any) -> None:
    # The end of an old pod must not reset a VF that somebody else set up meanwhile.
    prepare(bench, {"mac": "02:00:00:00:00:07"})
    for count in (0, 2):
        bench.simulated.set_vfs(PF, count)
    bench.machine.nics.settings.write(PF, 0, VfSettings(mac="02:00:00:00:00:08"))

    bench.unprepare("u1")

    assert present(bench).mac == "02:00:00:00:00:08"
    assert bench.records() == ()


def test_a_claim_whose_vfs_are_gone_is_undone(bench: Any) -> None:
    prepare(bench, VF_SETTINGS)
    bench.simulated.set_vfs(PF, 0)

    bench.unprepare("u1")

    assert bench.leftovers() == []


def test_a_mac_that_a_sibling_has_is_refused_and_changes_nothing(bench: Any) -> None:
    prepare(bench, {"mac": "02:00:00:00:00:07"}, "u0", SIBLING)

    with pytest.raises(HardwareFailed, match=r"VF 1 of the same PF has 02:00:00:00:00:07 already"):
        prepare(bench, VF_SETTINGS)

    assert present(bench) == NEW
    assert [record.claim_uid for record in bench.records()] == ["u0"]


@pytest.mark.parametrize("mode", ["rdma", "vfio", "netdev"])
@pytest.mark.parametrize(
    ("holder", "said"),
    [
        (PF, r"the PF itself \(enp25s0\) has"),
        (Bdf("0000:19:00.1"), "the node's interface .* has"),
        (Bdf("0000:19:00.3"), "the node's interface .* has"),
    ],
    ids=["the PF", "another NIC", "a sibling that the PF set nothing for"],
)
def test_a_mac_that_an_interface_of_the_node_has_is_refused_before_anything_is_changed(
    bench: Any, mode: str, holder: Bdf, said: str
) -> None:
    before = bench.simulated.kernel.links(None)
    mac = next(link.mac for link in before if link.bdf == holder)

    with pytest.raises(HardwareFailed, match=f"{said} {mac} already; choose another one"):
        prepare(bench, {"mode": mode, "mac": mac, "trust": True})

    assert (present(bench), bench.simulated.kernel.links(None)) == (NEW, before)
    assert bench.leftovers() == []


def test_a_mac_that_the_vf_s_own_interface_has_is_not_taken(bench: Any) -> None:
    mac = next(link.mac for link in bench.first_links if link.bdf == "0000:19:00.2")

    prepare(bench, {"mac": mac})

    assert present(bench).mac == mac


def test_a_mac_that_a_vf_of_another_nic_has_in_a_pod_is_refused(bench: Any) -> None:
    other = Bdf("0000:19:00.1")
    bench.simulated.set_vfs(other, 2)
    device = "nic-0000-19-00-1-vf-0"
    prepare(bench, {"mode": "netdev", "mac": "02:00:00:00:00:07"}, "u0", device)
    bench.bring_in("u0", device)

    with pytest.raises(HardwareFailed, match=r"VF 0 of PF 0000:19:00.1 has 02:00:00:00:00:07 already"):
        prepare(bench, {"mac": "02:00:00:00:00:07"})

    assert present(bench) == NEW


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"maxTxRate": 1_000_001}, "must be at most .* Mbit/s, the speed of its link"),
        ({"vlan": {"id": 4095}}, "must be at most 4094"),
        ({"vlan": {"id": 0, "qos": 1}}, "VfConfig.vlan.qos: 1: needs a VLAN id from 1 to 4094"),
        ({"minTxRate": 2, "maxTxRate": 1}, "must be at most maxTxRate"),
    ],
    ids=str,
)
def test_bad_settings_are_refused_before_anything_is_changed(
    bench: Any, fields: Mapping[str, Any], said: str
) -> None:
    with pytest.raises(ClaimUnusable, match=said):
        prepare(bench, {"trust": True, **fields})

    assert bench.leftovers() == []


def test_where_the_driver_refuses_one_setting_those_before_it_are_restored(bench: Any) -> None:
    refusing = RefusingKernel(bench.machine, "trust")

    with pytest.raises(HardwareFailed, match=r"set trust True on VF 0 .*the PF's driver cannot set this"):
        prepare(refusing.bench(bench), VF_SETTINGS)

    assert present(bench) == NEW
    assert bench.leftovers() == []


def test_a_setting_that_the_driver_takes_and_does_not_make_is_told(bench: Any) -> None:
    silent = RefusingKernel(bench.machine, "link_state", is_silent=True)

    with pytest.raises(NotReady, match=r"link state is auto after it was set to enable"):
        prepare(silent.bench(bench), VF_SETTINGS)

    assert bench.leftovers() == []


def test_a_setting_whose_value_the_driver_does_not_say_is_not_changed(bench: Any) -> None:
    mute = RefusingKernel(bench.machine, "trust", is_mute=True)

    with pytest.raises(HardwareFailed, match=r"trust .* could not be restored; leave the field out"):
        prepare(mute.bench(bench), VF_SETTINGS)

    assert present(bench) == NEW
    assert bench.leftovers() == []


def test_the_settings_of_a_claim_outlast_a_restart_and_are_made_again_where_they_are_lost(bench: Any) -> None:
    prepare(bench, VF_SETTINGS)
    bench.restart()
    bench.machine.nics.settings.restore(PF, 0, NEW)

    prepare(bench, VF_SETTINGS)
    again = present(bench)
    bench.unprepare("u1")

    assert again == ALL
    assert present(bench) == NEW


class RefusingKernel:
    """An rtnetlink whose driver does not do one setting."""

    def __init__(
        self, machine: Machine, field: str, *, is_silent: bool = False, is_mute: bool = False
    ) -> None:
        port: Any = machine.nics.settings
        self._kernel = port.kernel
        self._field, self._is_silent, self._is_mute = field, is_silent, is_mute
        self.machine = replace(machine, nics=replace(machine.nics, settings=replace(port, kernel=self)))

    def bench(self, bench: Any) -> Any:
        bench.driver = assemble(self.machine, bench.options, clock=bench.clock, sleep=bench.clock.sleep)
        return bench

    def links(self, namespace: Path | None) -> tuple[Link, ...]:
        found: tuple[Link, ...] = self._kernel.links(namespace)
        return found

    def vf_settings(self, pf: str) -> Mapping[int, VfSettings]:
        found: Mapping[int, VfSettings] = self._kernel.vf_settings(pf)
        if not self._is_mute:
            return found
        return {index: replace(one, **{self._field: None}) for index, one in found.items()}

    def set_vf(self, pf: str, index: int, wanted: VfSettings) -> None:
        if getattr(wanted, self._field) is None or self._is_mute:
            self._kernel.set_vf(pf, index, wanted)
        elif not self._is_silent:
            raise OSError(95, "Operation not supported")
