"""Translates the settings of VFs from and to pyroute2's form. Pure."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from agent.hardware import guids
from agent.hardware.nics.types import LinkState, VfSettings

_UNKNOWN: Final = 0xFFFFFFFF
"""What the kernel says of a switch that the driver does not have."""

_LINK_STATES: Final = tuple(LinkState)
"""By the numbers of IFLA_VF_LINK_STATE_AUTO, ENABLE and DISABLE of if_link.h."""


def settings(message: Any) -> Mapping[int, VfSettings]:
    """Return the settings of all VFs that a link message has, by index."""
    entries = (message.get_attr("IFLA_VFINFO_LIST") or {"attrs": ()})["attrs"]
    infos = (info for name, info in entries if name == "IFLA_VF_INFO")
    return dict(_setting(info) for info in infos)


def _setting(info: Any) -> tuple[int, VfSettings]:
    mac = info.get_attr("IFLA_VF_MAC")
    vlan = info.get_attr("IFLA_VF_VLAN") or {}
    rate = info.get_attr("IFLA_VF_RATE") or {}
    return int(mac["vf"]), VfSettings(
        mac=mac["mac"],
        vlan=vlan.get("vlan"),
        qos=vlan.get("qos"),
        min_rate=rate.get("min_tx_rate"),
        max_rate=rate.get("max_tx_rate"),
        spoof_check=_switch(info.get_attr("IFLA_VF_SPOOFCHK"), "spoofchk"),
        trust=_switch(info.get_attr("IFLA_VF_TRUST"), "trust"),
        link_state=_link_state(info.get_attr("IFLA_VF_LINK_STATE")),
        node_guid=_guid(info.get_attr("IFLA_VF_IB_NODE_GUID"), "ib_node_guid"),
        port_guid=_guid(info.get_attr("IFLA_VF_IB_PORT_GUID"), "ib_port_guid"),
    )


def _switch(entry: Any, name: str) -> bool | None:
    return None if entry is None or entry[name] == _UNKNOWN else bool(entry[name])


def _link_state(entry: Any) -> LinkState | None:
    number = None if entry is None else entry["link_state"]
    return _LINK_STATES[number] if number is not None and number < len(_LINK_STATES) else None


def _guid(entry: Any, name: str) -> str | None:
    if entry is None:
        return None
    if isinstance(entry, bytes):
        # pyroute2 takes the attribute to have 36 bytes. The kernel's has 16, a number, a gap and the GUID in
        # the machine's order, so the last one of a message comes undecoded, behind its head of 4 bytes.
        return guids.normal(entry[12:20][:: -1 if sys.byteorder == "little" else 1].hex(":"))
    return guids.normal(entry[name])


def request(index: int, wanted: VfSettings) -> dict[str, Any]:
    """Return pyroute2's request for the given settings of one VF."""
    found: dict[str, Any] = {"vf": index}
    if wanted.mac is not None:
        found["mac"] = wanted.mac
    if wanted.vlan is not None:
        found["vlan"] = {"vlan": wanted.vlan, "qos": wanted.qos or 0}
    if wanted.min_rate is not None or wanted.max_rate is not None:
        found["rate"] = {"min_tx_rate": wanted.min_rate or 0, "max_tx_rate": wanted.max_rate or 0}
    if wanted.link_state is not None:
        found["link_state"] = _LINK_STATES.index(wanted.link_state)
    if wanted.trust is not None:
        found["trust"] = int(wanted.trust)
    if wanted.spoof_check is not None:
        found["spoofchk"] = int(wanted.spoof_check)
    if wanted.node_guid is not None:
        found["ib_node_guid"] = wanted.node_guid
    if wanted.port_guid is not None:
        found["ib_port_guid"] = wanted.port_guid
    return found
