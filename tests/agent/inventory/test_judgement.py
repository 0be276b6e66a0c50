"""Whether a NIC's device can be prepared, and in which modes: judged from facts alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.nics.types import VFIO_PCI, IommuGroup, IommuMember
from agent.hardware.types import Bdf, PciFunction, PhysicalFunction, VirtualFunction
from agent.inventory.judgement import modes_of, why_needed, why_not_nic, why_not_vf, why_not_vfio
from agent.inventory.nic_facts import FunctionFacts
from agent.inventory.published import NicVf, WholeNic
from agent.inventory.withheld import Cause
from scheduler_core.frontends.configuration.values import VfMode

PF, VF, SIBLING = Bdf("0000:19:00.0"), Bdf("0000:19:00.2"), Bdf("0000:19:00.3")
ALONE = IommuGroup(21, "DMA", (IommuMember(VF, "mlx5_core"),))
GOOD = FunctionFacts(group=ALONE, has_vfio=True)


def function(bdf: Bdf, driver: str | None = "mlx5_core") -> PciFunction:
    return PciFunction(bdf=bdf, vendor_id="15b3", device_id="101e", class_code="020000", driver=driver)


def vf(facts: FunctionFacts = GOOD, rdma: str | None = "mlx5_2", driver: str | None = "mlx5_core") -> NicVf:
    pf = PhysicalFunction(function=function(PF), rdma_device="mlx5_0")
    vf = VirtualFunction(index=0, function=function(VF, driver), rdma_device=rdma)
    return NicVf(pf, 0, vf, facts=facts)


def with_neighbour(driver: str | None, *, claimable: bool = False) -> FunctionFacts:
    group = replace(ALONE, members=(*ALONE.members, IommuMember(SIBLING, driver)))
    return replace(GOOD, group=group, claimable=(SIBLING,) if claimable else ())


def test_a_vf_with_rdma_in_a_group_of_its_own_can_be_had_in_every_mode() -> None:
    assert modes_of(vf()) == set(VfMode)
    assert why_not_vf(vf()) is None


def test_a_vf_without_rdma_is_offered_for_vfio_and_as_an_interface() -> None:
    assert modes_of(vf(rdma=None)) == {VfMode.VFIO, VfMode.NETDEV}
    assert why_not_vf(vf(rdma=None)) is None


@pytest.mark.parametrize("driver", [None, "igb_uio", "uio_pci_generic", "pci-stub", "mlx5_vfio_pci"])
def test_a_vf_whose_driver_makes_no_interface_is_not_offered_as_one(driver: str | None) -> None:
    assert modes_of(vf(driver=driver)) == {VfMode.RDMA, VfMode.VFIO}


@pytest.mark.parametrize(("of_nic", "is_capable"), [("mlx5_core", True), (None, False)])
def test_a_vf_that_vfio_has_or_that_does_not_exist_is_as_its_nic(
    of_nic: str | None, is_capable: bool
) -> None:
    pf = PhysicalFunction(function=function(PF, of_nic))
    with_vfio = NicVf(pf, 0, VirtualFunction(index=0, function=function(VF, VFIO_PCI)), facts=GOOD)
    on_demand = NicVf(pf, 0, None, 4, facts=GOOD)

    for one in (with_vfio, on_demand):
        assert (VfMode.NETDEV in modes_of(one)) is is_capable


@pytest.mark.parametrize(
    ("facts", "cause"),
    [
        (replace(GOOD, has_vfio=False), Cause.NO_VFIO_DRIVER),
        (replace(GOOD, group=None), Cause.NO_IOMMU),
        (replace(GOOD, group=replace(ALONE, has_iommu=False)), Cause.NO_IOMMU),
        (with_neighbour("mlx5_core"), Cause.SHARED_IOMMU_GROUP),
        (with_neighbour("vfio-pci"), Cause.SHARED_IOMMU_GROUP),
        (with_neighbour(None, claimable=True), Cause.SHARED_IOMMU_GROUP),
    ],
)
def test_what_vfio_needs_is_judged_one_by_one(facts: FunctionFacts, cause: Cause) -> None:
    reason = why_not_vfio(facts, [VF])

    assert reason is not None
    assert reason.cause is cause
    assert modes_of(vf(facts)) == {VfMode.RDMA, VfMode.NETDEV}


@pytest.mark.parametrize("driver", [None, "pcieport", "pci-stub"])
def test_a_neighbour_that_nobody_uses_or_may_claim_does_not_keep_vfio_out(driver: str | None) -> None:
    assert why_not_vfio(with_neighbour(driver), [VF]) is None


def test_a_claim_that_has_the_whole_group_may_have_it() -> None:
    assert why_not_vfio(with_neighbour("mlx5_core", claimable=True), [VF, SIBLING]) is None


def test_a_vf_that_can_be_had_in_no_mode_tells_the_clause_of_each_mode() -> None:
    reason = why_not_vf(vf(replace(GOOD, group=None), rdma=None, driver=None))

    assert reason is not None
    assert reason.cause is Cause.NO_RDMA
    assert str(reason) == (
        "mode rdma: it has no RDMA device, mode vfio: it has no IOMMU group, mode netdev: it has no driver; "
        "the operator loads the driver's RDMA module; or the operator turns the IOMMU on, in the firmware "
        "and on the kernel's command line; or the operator gives it back to its network driver"
    )


def test_a_vf_whose_interface_carries_the_default_route_keeps_its_driver() -> None:
    facts = replace(GOOD, way_to_route=("eth1", "bond0"))

    assert modes_of(vf(facts)) == {VfMode.RDMA}
    assert "eth1 carries the node's default route (eth1 < bond0)" in str(why_needed(facts))


@pytest.mark.parametrize(
    ("facts", "driver", "cause"),
    [
        (GOOD, "igb_uio", Cause.NO_RDMA),
        (replace(GOOD, way_to_route=("eth0",)), "mlx5_core", Cause.DEFAULT_ROUTE),
        (FunctionFacts(problem="it is gone"), "mlx5_core", Cause.UNREADABLE),
    ],
)
def test_a_whole_nic_needs_rdma_or_an_interface_and_that_the_node_does_not_need_it(
    facts: FunctionFacts, driver: str, cause: Cause
) -> None:
    reason = why_not_nic(WholeNic(PhysicalFunction(function=function(PF, driver)), facts))

    assert reason is not None
    assert reason.cause is cause


@pytest.mark.parametrize(("rdma", "driver"), [("mlx5_0", None), (None, "mlx5_core")])
def test_a_whole_nic_with_rdma_or_an_interface_is_offered_without_an_iommu(
    rdma: str | None, driver: str | None
) -> None:
    pf = PhysicalFunction(function=function(PF, driver), rdma_device=rdma)

    assert why_not_nic(WholeNic(pf, FunctionFacts())) is None


def test_a_mode_that_the_policy_does_not_offer_is_none_of_a_vfs_and_what_is_left_counts() -> None:
    two = replace(vf(), allowed=frozenset({VfMode.RDMA, VfMode.VFIO}))
    left = why_not_vf(replace(vf(rdma=None), allowed=frozenset({VfMode.RDMA})))

    assert modes_of(two) == {VfMode.RDMA, VfMode.VFIO}
    assert why_not_vf(two) is None
    assert left is not None
    assert left.cause is Cause.NO_RDMA
    assert "mode vfio: the policy of the node does not offer it in mode vfio" in left.text


@pytest.mark.parametrize(("mode", "cause"), [(VfMode.VFIO, Cause.POLICY), (VfMode.NETDEV, None)])
def test_a_whole_nic_is_offered_in_the_modes_of_the_policy_that_it_can_be_had_in(
    mode: VfMode, cause: Cause | None
) -> None:
    pf = PhysicalFunction(function=function(PF), rdma_device="mlx5_0")

    reason = why_not_nic(WholeNic(pf, GOOD, frozenset({mode})))

    assert (reason and reason.cause) == cause


def test_what_a_policy_excludes_is_told_with_that_alone() -> None:
    pf = PhysicalFunction(function=function(PF), rdma_device="mlx5_0")

    for reason in (
        why_not_vf(replace(vf(), allowed=frozenset())),
        why_not_nic(WholeNic(pf, GOOD, frozenset())),
    ):
        assert reason is not None
        assert reason.text == "the policy of the node excludes it"


def test_a_function_that_could_not_be_read_is_withheld_with_the_problem() -> None:
    reason = why_not_vf(vf(FunctionFacts(problem="cannot list /sys/x: denied")))

    assert reason is not None
    assert reason.cause is Cause.UNREADABLE
    assert "denied" in reason.text


@given(
    drivers=st.tuples(*[st.sampled_from([None, "mlx5_core", "vfio-pci"])] * 2),
    later=st.tuples(*[st.sampled_from([None, "mlx5_core", "vfio-pci"])] * 2),
)
def test_no_change_of_a_driver_of_claimable_functions_changes_what_is_true_of_another(
    drivers: tuple[str | None, str | None], later: tuple[str | None, str | None]
) -> None:
    # Claims give VFs to VFIO and back; what is published of their neighbours must not follow.
    def judged(own: str | None, neighbour: str | None) -> bool:
        members = (IommuMember(VF, own), IommuMember(SIBLING, neighbour))
        facts = replace(GOOD, group=replace(ALONE, members=members), claimable=(SIBLING,))
        return why_not_vfio(facts, [VF]) is None

    assert judged(*drivers) == judged(*later)
