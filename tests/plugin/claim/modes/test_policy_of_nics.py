"""A policy says which kinds of a NIC are offered, and in which modes; the plugin refuses the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.offered import offered
from agent.inventory.options.settings import Settings
from agent.policy.following import FollowedPolicy
from plugin.base.errors import DeviceUnusable, PluginError
from scheduler_core.model.claim import OpaqueConfig

HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n- nics:\n"
NIC = "nic-0000-19-00-0"
CAPABLE = ("rdmaCapable", "vfioCapable", "netdevCapable")


@dataclass
class Site:
    """A driver of four A30s and two NICs under a policy."""

    bench: object
    file: Path

    def says(self, *entries: str) -> None:
        self.file.write_text(HEAD + "".join(f"  - {entry}\n" for entry in entries))
        self.bench.restart()

    def published(self) -> dict[str, dict[str, object]]:
        """Return the capabilities of the NICs' devices that the agent of the node publishes."""
        followed = FollowedPolicy(self.bench.options.effect_file, Settings())
        read = discover(self.bench.machine.readers, self.bench.node)
        found = describe(offered(followed.settings(read).on(read)))
        return {
            one.name: {key: one.attributes.get(f"tangram.dev/{key}") for key in CAPABLE}
            for one in found.pool.devices
            if one.name in found.by_name and one.name.startswith("nic-")
        }

    def prepare(self, uid: str, device: str, kind: str = "VfConfig", **fields: object):
        parameters = {"apiVersion": "tangram.dev/v1alpha1", "kind": kind, **fields}
        configs = (
            (OpaqueConfig(driver="tangram.dev", parameters=parameters),)
            if fields or kind != "VfConfig"
            else ()
        )
        return self.bench.driver.prepare(self.bench.claim(uid, device, configs=configs))


@pytest.fixture
def site(bench_of: Callable[..., object], folder: Path) -> Site:
    bench = bench_of("a30x4")
    file = folder / "policy.yaml"
    bench.options = replace(bench.options, policy=file)
    return Site(bench, file)


def test_without_kinds_and_modes_everything_is_offered(site: Site) -> None:
    site.says("attributes: {a.b/c: x}")

    assert set(site.published()) == {NIC, f"{NIC}-vf-0", f"{NIC}-vf-1", "nic-0000-19-00-1"}
    assert set(site.published()[f"{NIC}-vf-0"].values()) == {True}


def test_vfs_alone_are_offered_and_their_nic_stays_their_source(site: Site) -> None:
    site.says("kinds: [vf]")

    assert set(site.published()) == {f"{NIC}-vf-0", f"{NIC}-vf-1"}
    assert site.prepare("c1", f"{NIC}-vf-0")
    with pytest.raises(PluginError, match="the policy of the node excludes it"):
        site.prepare("c2", "nic-0000-19-00-1")


def test_a_nic_alone_is_offered_and_none_of_its_vfs(site: Site) -> None:
    site.says("kinds: [nic]")

    assert set(site.published()) == {NIC, "nic-0000-19-00-1"}
    with pytest.raises(PluginError, match="the policy of the node excludes it"):
        site.prepare("c1", f"{NIC}-vf-0")


def test_a_mode_that_is_not_offered_is_not_published_and_refused_with_the_reason(site: Site) -> None:
    site.says("modes: [rdma]")
    refused = r"the policy of the node does not offer it in mode {}; the administrator changes the policy"

    assert site.published()[f"{NIC}-vf-0"] == dict(zip(CAPABLE, (True, False, False), strict=True))
    assert site.published()[NIC] == dict(zip(CAPABLE, (True, None, False), strict=True))
    for uid, mode in (("c1", "vfio"), ("c2", "netdev")):
        with pytest.raises(DeviceUnusable, match=refused.format(mode)):
            site.prepare(uid, f"{NIC}-vf-0", mode=mode)
    with pytest.raises(DeviceUnusable, match=refused.format("netdev")):
        site.prepare("c3", NIC, "NicConfig")
    assert site.prepare("c4", f"{NIC}-vf-0")


def test_a_claim_without_a_mode_means_rdma_and_is_refused_where_that_is_not_offered(site: Site) -> None:
    site.says("modes: [vfio]")

    with pytest.raises(DeviceUnusable, match="does not offer it in mode rdma"):
        site.prepare("c1", f"{NIC}-vf-0")
    assert site.prepare("c2", f"{NIC}-vf-0", mode="vfio")
    assert NIC not in site.published()


def test_an_interface_comes_without_rdma_devices_where_rdma_is_not_offered(site: Site) -> None:
    site.says("modes: [netdev]")
    vf = f"{NIC}-vf-0"

    assert site.published()[vf]["rdmaCapable"] is False
    assert site.prepare("c1", vf, mode="netdev")
    (record,) = site.bench.records()
    assert [(one.device, one.has_rdma) for one in record.devices] == [(vf, False)]


def test_one_vf_has_modes_of_its_own(site: Site) -> None:
    site.says(
        "{modes: [rdma, netdev], vfs: [{indexes: [1], modes: [vfio]}]}",
    )

    found = site.published()
    assert found[f"{NIC}-vf-0"] == dict(zip(CAPABLE, (True, False, True), strict=True))
    assert found[f"{NIC}-vf-1"] == dict(zip(CAPABLE, (False, True, False), strict=True))


def test_only_named_nics_are_offered_where_all_others_are_excluded(site: Site) -> None:
    site.says("excluded: true", "{select: {pciAddresses: ['0000:19:00.1']}, excluded: false}")

    assert set(site.published()) == {"nic-0000-19-00-1"}


def test_modes_of_a_nic_change_when_the_claims_of_its_vfs_have_ended(site: Site) -> None:
    site.says("modes: [rdma]")
    site.prepare("c1", f"{NIC}-vf-0")

    site.says("modes: [vfio]")
    during = site.published()[f"{NIC}-vf-1"]
    site.bench.unprepare("c1")
    site.bench.driver.policy.look_after()

    assert during["vfioCapable"] is False
    assert site.published()[f"{NIC}-vf-1"]["vfioCapable"] is True
