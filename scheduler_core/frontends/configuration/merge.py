"""Which configuration counts for a device: the last one of its kind that is for its request.

Those of classes come before those of the claim. A configuration replaces earlier ones as a whole, as
upstream's and NVIDIA's drivers do; their fields are not mixed. Defaults are filled in at the end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.configuration.errors import requests_text
from scheduler_core.frontends.configuration.network import DEFAULT_MODE
from scheduler_core.frontends.configuration.values import (
    CONFIG_OF,
    Config,
    GpuConfig,
    Interval,
    MigConfig,
    NicConfig,
    TimeSlicing,
    VfConfig,
    VfMode,
    Vlan,
    VlanProtocol,
)
from scheduler_core.model.claim import is_among

_DEFAULT_PROTOCOL: Final = VlanProtocol.CUSTOMER


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenConfig:
    """A configuration as a claim has it.

    Shape: ``requests`` names requests, or ``request/alternative``; empty for all. ``index`` is its place in
           the list of the claim, or of the class where ``from_class``.
    """

    config: Config
    requests: tuple[str, ...] = ()
    from_class: bool = False
    index: int = 0

    def is_for(self, request: str) -> bool:
        """Whether it is for a request or alternative, as allocation results name it."""
        return is_among(request, self.requests)

    @property
    def subject(self) -> str:
        """Return the requests that it is for, for messages."""
        return requests_text(self.requests, from_class=self.from_class)


def counting(given: Sequence[GivenConfig], request: str, device_type: str) -> GivenConfig | None:
    """Return the configuration that counts for a device, None where none was given for it.

    Shape: classes count before the claim, each in listed order.
    """
    kind = CONFIG_OF.get(device_type)
    found = [one for one in in_order(given) if type(one.config) is kind and one.is_for(request)]
    return found[-1] if found else None


def effective(given: Sequence[GivenConfig], request: str, device_type: str) -> Config | None:
    """Return the configuration of a device with all defaults; None for a type that has none."""
    kind = CONFIG_OF.get(device_type)
    if kind is None:
        return None
    found = counting(given, request, device_type)
    return with_defaults(kind() if found is None else found.config)


def in_order(given: Iterable[GivenConfig]) -> list[GivenConfig]:
    """Return configurations in the order in which they count: those of classes first."""
    return sorted(given, key=lambda one: not one.from_class)


def with_defaults(config: Config) -> Config:
    """Fill in what was not given and has a default. What then is None stays as the hardware has it."""
    match config:
        case GpuConfig(sharing=TimeSlicing(interval=None)):
            return GpuConfig(TimeSlicing(Interval.DEFAULT))
        case GpuConfig() | MigConfig() | NicConfig():
            return config
        case VfConfig(mode=mode, vlan=vlan, management_devices=management):
            mode = mode or DEFAULT_MODE
            if mode is VfMode.RDMA and management is None:
                management = False
            return replace(
                config, mode=mode, vlan=vlan and _tag_with_defaults(vlan), management_devices=management
            )


def _tag_with_defaults(vlan: Vlan) -> Vlan:
    return Vlan(vlan.id, vlan.qos or 0, vlan.protocol or _DEFAULT_PROTOCOL)
