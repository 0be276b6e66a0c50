"""What the PF sets for a claim's VF: from its configuration, recorded before the first change, and restored.

Takes claimed VFs; the machine and what is known of the VFs change. The caller holds the NIC's lock.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import fields
from typing import Final, Self

import msgspec

from agent.hardware.errors import NotSupported
from agent.hardware.nics.ports import Nics
from agent.hardware.nics.types import LinkState, VfSettings
from agent.hardware.nics.vf_settings import shown
from agent.hardware.types import Bdf
from plugin.base.errors import NotReady
from scheduler_core.frontends.configuration.values import VfConfig

_log = logging.getLogger(__name__)
_FIELDS: Final = tuple(field.name for field in fields(VfSettings))


class RecordedSettings(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a VF as they are recorded.

    Shape: None is left as it is. Units: rates are millions of bits per second.
    """

    mac: str | None = None
    vlan: int | None = None
    qos: int | None = None
    min_rate: int | None = None
    max_rate: int | None = None
    spoof_check: bool | None = None
    trust: bool | None = None
    link_state: str | None = None
    node_guid: str | None = None
    port_guid: str | None = None

    def with_guid(self, guid: str) -> Self:
        """Return the settings with a GUID for node and port; the link follows its PF's if it is not set."""
        state = LinkState.AUTO.value if self.link_state is None else self.link_state
        return msgspec.structs.replace(self, node_guid=guid, port_guid=guid, link_state=state)

    def given(self) -> Iterator[str]:
        """Yield the names of the settings that the claim asks for."""
        return (name for name in _FIELDS if getattr(self, name) is not None)

    def for_kernel(self, *names: str) -> VfSettings:
        """Return these settings alone, as the machine's port takes them."""
        chosen = {name: getattr(self, name) for name in names}
        state = chosen.get("link_state")
        return VfSettings(**{**chosen, "link_state": LinkState(state) if state is not None else None})


NOTHING: Final = RecordedSettings()


def wanted(config: VfConfig) -> RecordedSettings:
    """Return the settings that a configuration asks for."""
    vlan = config.vlan
    found = RecordedSettings(
        mac=config.mac,
        vlan=vlan.id if vlan else None,
        qos=vlan.qos if vlan else None,
        min_rate=config.min_tx_rate_mbps,
        max_rate=config.max_tx_rate_mbps,
        spoof_check=config.spoof_check,
        trust=config.trust,
        link_state=config.link_state,
    )
    return found if config.guid is None else found.with_guid(config.guid)


def originals(nics: Nics, pf: Bdf, index: int, asked: RecordedSettings) -> RecordedSettings:
    """Return what the settings are that shall be changed.

    Raises: NotSupported where the driver does not say it, since it could not be restored; HardwareError.
    """
    present = _recorded(nics.settings.read(pf, index))
    for name in asked.given():
        if getattr(present, name) is None:
            reason = "its driver does not say what it is now, so it could not be restored"
            remedy = "leave the field out of the VfConfig"
            if name in ("node_guid", "port_guid"):
                remedy = (
                    "the operator sets the VF's GUIDs, or updates the kernel: Linux reports them from 5.5"
                )
            raise NotSupported(f"set {name.replace('_', ' ')}", _subject(pf, index), reason, remedy)
    return _only(present, asked)


def apply(nics: Nics, pf: Bdf, index: int, asked: RecordedSettings) -> None:
    """Set what is asked for and read it back. Raises: NotReady; HardwareError."""
    nics.settings.write(pf, index, asked.for_kernel(*asked.given()))
    refuse_other(nics, pf, index, asked)


def refuse_other(nics: Nics, pf: Bdf, index: int, asked: RecordedSettings) -> None:
    """Check that the settings are those that were asked for. Raises: NotReady; HardwareError."""
    present = _recorded(nics.settings.read(pf, index))
    for name in asked.given():
        found, meant = getattr(present, name), getattr(asked, name)
        if found != meant:
            reason = f"{name.replace('_', ' ')} is {found} after it was set to {meant}"
            remedy = "it is retried; if it persists, the NIC's driver does not do it: leave the field out"
            raise NotReady("set up", _subject(pf, index), reason, remedy)


def give_back(nics: Nics, pf: Bdf, index: int, asked: RecordedSettings, original: RecordedSettings) -> None:
    """Restore the settings that are still as they were set; what somebody else changed since stays.

    Raises: HardwareError. A second call goes on from there.
    """
    present = _recorded(nics.settings.read(pf, index))
    ours = [name for name in asked.given() if getattr(present, name) == getattr(asked, name)]
    for name in asked.given():
        now = getattr(present, name)
        if now not in (getattr(asked, name), getattr(original, name)):
            _log.warning("%s: %s is %s, which no claim set; it stays", _subject(pf, index), name, now)
    restored = original.for_kernel(*ours)
    if restored != VfSettings() and restored != asked.for_kernel(*ours):
        nics.settings.restore(pf, index, restored)
        _log.info("%s: restored %s", _subject(pf, index), shown(restored))


def _recorded(found: VfSettings) -> RecordedSettings:
    return RecordedSettings(**{name: getattr(found, name) for name in _FIELDS})


def _only(present: RecordedSettings, asked: RecordedSettings) -> RecordedSettings:
    return RecordedSettings(**{name: getattr(present, name) for name in asked.given()})


def _subject(pf: Bdf, index: int) -> str:
    return f"VF {index} of NIC {pf}"
