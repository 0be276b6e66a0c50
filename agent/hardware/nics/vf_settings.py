"""What PFs set for their VFs: read, written field by field, restored.

Takes a PF's address and a VF's index. Only what differs is written: writing VLAN 0 over VLAN 0 would break
the trunk policy of some switches, and some drivers refuse what they already have.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Final, Protocol

from agent.hardware import guids
from agent.hardware.errors import InvalidArgument, NotFound, NotSupported
from agent.hardware.nics.kernel import NetworkKernel
from agent.hardware.nics.refusals import Meaning, translated
from agent.hardware.nics.taken_addresses import TakenAddresses, VfReader
from agent.hardware.nics.types import NetInterface, VfSettings
from agent.hardware.nics.wishes import mac_problems
from agent.hardware.types import Bdf

MOST_VLAN: Final = 4094
MOST_QOS: Final = 7
_ANSWERS: Final = {
    errno.EOPNOTSUPP: Meaning(
        NotSupported,
        "the PF's driver cannot set this for its VFs",
        "leave this setting out of the configuration",
    ),
    errno.EINVAL: Meaning(
        InvalidArgument,
        "the PF's driver rejects the value",
        "correct the configuration: a rate may be above the link's, or the driver cannot set it so",
    ),
}

_GUID_ANSWERS: Final = {
    errno.EOPNOTSUPP: Meaning(
        NotSupported,
        "the PF's driver cannot set GUIDs for its VFs",
        "the operator updates the driver, or leaves these VFs out by the node's policy",
    ),
    errno.EINVAL: Meaning(
        InvalidArgument,
        "the NIC's firmware rejects the GUID",
        "the operator updates the firmware, or sets the VF's GUIDs",
    ),
}


class FunctionReader(VfReader, Protocol):
    """Reads a function's interfaces and VFs."""

    def interfaces(self, bdf: Bdf) -> tuple[NetInterface, ...]:
        """Return the interfaces of a function, the preferred one first."""
        ...


@dataclass(frozen=True, slots=True)
class PfSettings:
    """The ``VfSettingsPort`` over a kernel's rtnetlink. Settings of a VF are made on its PF's interface."""

    reader: FunctionReader
    kernel: NetworkKernel

    def read(self, pf: Bdf, index: int) -> VfSettings:
        """Return all settings of one VF."""
        return self._of(self._all(pf, self._netdev(pf)), pf, index)

    def write(self, pf: Bdf, index: int, wanted: VfSettings) -> VfSettings:
        """Set what ``wanted`` gives and return what the settings were before."""
        subject = _subject(pf, index)
        for field, value, rule in _problems(wanted):
            raise InvalidArgument(
                "set up", f"{subject}, {field} {value!r}", rule, "correct the configuration"
            )
        netdev = self._netdev(pf)
        present = self._all(pf, netdev)
        before = self._of(present, pf, index)
        self._addresses.refuse(pf, index, wanted, present)
        for change in changes(wanted, before):
            with translated(f"set {shown(change)}", subject, _answers(change)):
                self.kernel.set_vf(netdev, index, change)
        return before

    def refuse_taken(self, pf: Bdf, index: int, wanted: VfSettings) -> None:
        """Check that no other function of the node has the MAC or a GUID."""
        self._addresses.refuse(pf, index, wanted, self._all(pf, self._netdev(pf)))

    def restore(self, pf: Bdf, index: int, original: VfSettings) -> None:
        """Set everything back to what was read before, in the reverse order.

        Linux hands a GUID of zero on to the NIC's firmware, and no manual promises that each version takes
        it; a firmware that refuses gets all ones, as it does from ib-sriov-cni. Both are read as no GUID.
        """
        netdev = self._netdev(pf)
        before = self._of(self._all(pf, netdev), pf, index)
        for change in reversed(tuple(changes(original, before))):
            with translated(f"restore {shown(change)}", _subject(pf, index), _answers(change)):
                try:
                    self.kernel.set_vf(netdev, index, change)
                except OSError as error:
                    ones = _with_ones(change)
                    if ones is None or error.errno != errno.EINVAL:
                        raise
                    self.kernel.set_vf(netdev, index, ones)

    @property
    def _addresses(self) -> TakenAddresses:
        return TakenAddresses(self.reader, self.kernel)

    def _netdev(self, pf: Bdf) -> str:
        found = self.reader.interfaces(pf)
        if not found:
            reason = "it has no network interface in this namespace"
            raise NotFound("reach VFs through their PF", f"PF {pf}", reason, _NEED_NETDEV)
        return found[0].name

    def _all(self, pf: Bdf, netdev: str) -> Mapping[int, VfSettings]:
        with translated("read the settings of VFs", f"PF {pf} ({netdev})"):
            return self.kernel.vf_settings(netdev)

    @staticmethod
    def _of(present: Mapping[int, VfSettings], pf: Bdf, index: int) -> VfSettings:
        if index not in present:
            raise NotFound("read settings", _subject(pf, index), f"the PF has VFs {sorted(present)}")
        return present[index]


_NEED_NETDEV: Final = "the operator must leave the PF on its kernel driver, in the host's network namespace"


def _subject(pf: Bdf, index: int) -> str:
    return f"VF {index} of PF {pf}"


def changes(wanted: VfSettings, present: VfSettings) -> Iterator[VfSettings]:
    """Yield what must be written, one request each, in an order that drivers accept.

    The address comes first, because some drivers check it against trust and spoof check. VLAN and priority
    are one request, and so are both rates.
    """
    if wanted.mac is not None and wanted.mac.lower() != present.mac:
        yield VfSettings(mac=wanted.mac.lower())
    vlan = (_chosen(wanted.vlan, present.vlan), _chosen(wanted.qos, present.qos))
    if vlan != (present.vlan or 0, present.qos or 0):
        yield VfSettings(vlan=vlan[0], qos=vlan[1])
    rates = (_chosen(wanted.min_rate, present.min_rate), _chosen(wanted.max_rate, present.max_rate))
    if rates != (present.min_rate or 0, present.max_rate or 0):
        yield VfSettings(min_rate=rates[0], max_rate=rates[1])
    if wanted.link_state not in (None, present.link_state):
        yield VfSettings(link_state=wanted.link_state)
    if wanted.trust not in (None, present.trust):
        yield VfSettings(trust=wanted.trust)
    if wanted.spoof_check not in (None, present.spoof_check):
        yield VfSettings(spoof_check=wanted.spoof_check)
    # One request each: Linux' do_setvfinfo leaves the rest of a request out after the node's GUID.
    if wanted.node_guid not in (None, present.node_guid):
        yield VfSettings(node_guid=wanted.node_guid)
    if wanted.port_guid not in (None, present.port_guid):
        yield VfSettings(port_guid=wanted.port_guid)


def _answers(change: VfSettings) -> Mapping[int, Meaning]:
    return _ANSWERS if (change.node_guid or change.port_guid) is None else _GUID_ANSWERS


def _with_ones(change: VfSettings) -> VfSettings | None:
    """Return a change that writes ``NO_GUID`` with the other form of it, None for any other change."""
    match change:
        case VfSettings(node_guid=guids.NO_GUID):
            return VfSettings(node_guid=guids.ALL_ONES)
        case VfSettings(port_guid=guids.NO_GUID):
            return VfSettings(port_guid=guids.ALL_ONES)
        case _:
            return None


def _chosen(wanted: int | None, present: int | None) -> int:
    return wanted if wanted is not None else present or 0


def shown(settings: VfSettings) -> str:
    """Return the given settings as text: ``vlan 5, qos 0``."""
    given = ((field.name, getattr(settings, field.name)) for field in fields(settings))
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in given if value is not None)


def _problems(wanted: VfSettings) -> Iterator[tuple[str, object, str]]:
    for field, guid in (("node_guid", wanted.node_guid), ("port_guid", wanted.port_guid)):
        if guid is not None and (rule := guids.problem(guid)) is not None:
            yield field, guid, rule
    if wanted.mac is not None:
        yield from mac_problems(wanted.mac)
    if wanted.vlan is not None and not 0 <= wanted.vlan <= MOST_VLAN:
        yield "vlan", wanted.vlan, f"must lie between 0 (none) and {MOST_VLAN}"
    if wanted.qos is not None and not 0 <= wanted.qos <= MOST_QOS:
        yield "qos", wanted.qos, f"must lie between 0 and {MOST_QOS}"
    if wanted.qos and wanted.vlan == 0:
        yield "qos", wanted.qos, "needs a VLAN"
    for field, rate in (("min_rate", wanted.min_rate), ("max_rate", wanted.max_rate)):
        if rate is not None and rate < 0:
            yield field, rate, "must not be negative"
    if wanted.max_rate and wanted.min_rate is not None and wanted.min_rate > wanted.max_rate:
        yield "min_rate", wanted.min_rate, f"must not be above max_rate, {wanted.max_rate}"
