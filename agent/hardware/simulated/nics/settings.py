"""The rules of drivers for what a PF sets for its VFs. Pure: state to state, or ``Refused``.

An InfiniBand PF can set the link's state alone and, with mlx5, GUIDs. Any GUID is taken: Linux checks none.
Source: Linux, net/core/rtnetlink.c, do_setvfinfo; the answers of the mlx5 and i40e drivers; of GUIDs
drivers/infiniband/hw/mlx5/ib_virt.c. Not every driver refuses an address that a sibling has; this one does.
"""

from __future__ import annotations

import errno
from dataclasses import fields

from msgspec.structs import replace

from agent.hardware import guids
from agent.hardware.guids import NO_GUID
from agent.hardware.nics.types import LinkState, VfSettings
from agent.hardware.simulated.faults import NicTrouble
from agent.hardware.simulated.nic_state import SettingState
from agent.hardware.simulated.nics.functions import Function, functions, functions_of, with_function
from agent.hardware.simulated.nics.refused import Refused
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State
from agent.hardware.simulated.strikes import trouble

_NO_MAC = "00:00:00:00:00:00"
_MOST_VLAN, _MOST_QOS = 4094, 7
_GUIDS = ("node_guid", "port_guid")


def pf_named(node: NodeFile, state: State, name: str) -> Function:
    """Return the PF whose link in the host's namespace has a name. Raises: Refused."""
    for function in functions(node, state):
        link = function.link(state)
        if link is not None and link.namespace is None and link.name == name and function.index is None:
            return function
    raise Refused(errno.ENODEV)


def settings(state: State, pf: Function) -> dict[int, VfSettings]:
    """Return the settings of all VFs of a PF, by index. Trust and spoof check are unknown with InfiniBand."""
    vfs = (each for each in functions_of(pf.nic, state) if each.index is not None)
    return {vf.index or 0: _shown(vf, vf.of(state).setting) for vf in vfs}


def _shown(vf: Function, setting: SettingState) -> VfSettings:
    is_ethernet = vf.nic.form.link == "ethernet"
    return VfSettings(
        mac=setting.mac,
        vlan=setting.vlan,
        qos=setting.qos,
        min_rate=setting.min_rate,
        max_rate=setting.max_rate,
        spoof_check=setting.spoof_check if is_ethernet else None,
        trust=setting.trust if is_ethernet else None,
        link_state=LinkState(setting.link_state),
        node_guid=guids.normal(setting.node_guid or vf.first_guid) if vf.takes_guids else None,
        port_guid=guids.normal(setting.port_guid or vf.first_guid) if vf.takes_guids else None,
    )


def changed(state: State, pf: Function, index: int, wanted: VfSettings) -> State:
    """Return the state with the given settings of one VF changed. Raises: Refused."""
    if not 0 <= index < state.vfs[pf.bdf]:
        raise Refused(errno.EINVAL)
    vf = Function(pf.nic, index)
    if (wanted.node_guid or wanted.port_guid) and not vf.takes_guids:
        raise Refused(errno.EOPNOTSUPP)
    of_infiniband = VfSettings(
        link_state=wanted.link_state, node_guid=wanted.node_guid, port_guid=wanted.port_guid
    )
    if pf.nic.form.link != "ethernet" and wanted != of_infiniband:
        raise Refused(errno.EOPNOTSUPP)
    _check(state, pf, index, wanted)
    given = {one.name: value for one in fields(wanted) if (value := getattr(wanted, one.name)) is not None}
    # A GUID that is as the driver left it is one that was never set.
    given |= {name: None for name in _GUIDS if given.get(name) == vf.first_guid}
    function = vf.of(state)
    # The VF's own interface keeps its address until its driver starts again.
    changed_one = replace(function, setting=replace(function.setting, **given), link=vf.link(state))
    return with_function(state, vf, changed_one)


def _check(state: State, pf: Function, index: int, wanted: VfSettings) -> None:
    if NO_GUID in (wanted.node_guid, wanted.port_guid) and trouble(
        state, pf.nic.number, NicTrouble.NO_ZERO_GUID
    ):
        raise Refused(errno.EINVAL)
    present = settings(state, pf)
    siblings = {each.mac for other, each in present.items() if other != index and each.mac != _NO_MAC}
    if wanted.mac is not None and int(wanted.mac[:2], 16) & 1:
        raise Refused(errno.EINVAL)
    if wanted.mac in siblings:
        raise Refused(errno.EADDRINUSE)
    if (wanted.vlan or 0) > _MOST_VLAN or (wanted.qos or 0) > _MOST_QOS:
        raise Refused(errno.EINVAL)
    least, most = wanted.min_rate or 0, wanted.max_rate or 0
    fastest = (pf.nic.model.speed_gbps or 0) * 1000
    if (most and least > most) or (fastest and max(least, most) > fastest):
        raise Refused(errno.EINVAL)
