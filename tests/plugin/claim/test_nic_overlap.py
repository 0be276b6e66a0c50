"""A NIC and its VFs exclude each other, also where the slices do not say so."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.inventory.model import NodeDevices
from agent.inventory.published import NicVf
from plugin.base.errors import DeviceHeld
from plugin.claim.overlap import refuse_overlap
from plugin.claim.plan import placeholder
from plugin.claim.record import Record
from plugin.claim.states import State
from plugin.kinds.kind import Common, Wanted
from plugin.kinds.nic_vf.rdma import RdmaVfKind
from scheduler_core.model.claim import ClaimRef, ClaimUid
from scheduler_core.model.device import DeviceName

NIC = "nic-0000-0c-00-0"


def record(uid: str, node: NodeDevices, index: int) -> Record:
    name = DeviceName(f"{NIC}-vf-{index}")
    published = node.by_name[name]
    assert isinstance(published, NicVf)
    common = Common(requests=("r",), pool="n", device=name, cdi_id="x")
    claimed = RdmaVfKind().plan(Wanted(published, common))
    start = placeholder(ClaimUid(uid), ClaimRef("default", uid), "tangram.dev", "boot")
    return msgspec.structs.replace(start.with_devices([claimed]), state=State.COMPLETED)


@given(one=st.integers(0, 7), other=st.integers(0, 7))
def test_two_claims_have_two_vfs_or_one_waits(dgx_devices: NodeDevices, one: int, other: int) -> None:
    held, wanted = record("a", dgx_devices, one), record("b", dgx_devices, other)
    if one != other:
        refuse_overlap(wanted, [held], dgx_devices)
        return
    with pytest.raises(DeviceHeld, match="a"):
        refuse_overlap(wanted, [held], dgx_devices)
