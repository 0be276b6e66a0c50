"""The settings that a claim wants for a network interface, checked before anything is changed.

Pure: takes a wish; raises ``InvalidArgument`` with the field, its value and the rule that it breaks.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agent.hardware.errors import InvalidArgument
from agent.hardware.nics.links import Link, Route

_NAME: Final = re.compile(r"[^\s/:\x00]{1,15}")
_NO_NAMES: Final = (".", "..", "all", "default")
_MAC: Final = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_MULTICAST: Final = 1

_Problem = tuple[str, object, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedInterface:
    """A network interface as somebody wants it.

    Shape: None means "as it is"; addresses and routes are added to those that it has; ``up`` None leaves
           it. Units: ``mtu`` bytes.
    """

    name: str | None = None
    mtu: int | None = None
    mac: str | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()
    up: bool | None = True

    @classmethod
    def like(cls, link: Link) -> WantedInterface:
        """Return the wish to have a link again as it is: what is recorded before the link is changed.

        Of a route only destination and gateway are kept.
        """
        return cls(
            name=link.name,
            mtu=link.mtu,
            mac=link.mac,
            addresses=link.addresses,
            routes=link.routes,
            up=link.is_up,
        )


def normal(wanted: WantedInterface) -> WantedInterface:
    """Return the wish in the kernel's spelling. Raises: InvalidArgument for the first broken rule."""
    for field, value, rule in _problems(wanted):
        raise InvalidArgument("use the configuration", f"interface {field} {value!r}", rule, _REMEDY)
    return WantedInterface(
        name=wanted.name,
        mtu=wanted.mtu,
        mac=wanted.mac.lower() if wanted.mac else None,
        addresses=tuple(str(ipaddress.ip_interface(text)) for text in wanted.addresses),
        routes=tuple(_normal_route(route) for route in wanted.routes),
        up=wanted.up,
    )


_REMEDY: Final = "correct the configuration"


def _problems(wanted: WantedInterface) -> Iterator[_Problem]:
    if wanted.name is not None and (not _NAME.fullmatch(wanted.name) or wanted.name in _NO_NAMES):
        yield "name", wanted.name, "must be 1 to 15 characters without white space, '/' and ':'"
    if wanted.mac is not None:
        yield from mac_problems(wanted.mac)
    for text in wanted.addresses:
        if _interface(text) is None:
            yield "address", text, "must be an IP address with a prefix length such as 10.0.0.2/24"
    for route in wanted.routes:
        yield from _route_problems(route)


def mac_problems(mac: str) -> Iterator[_Problem]:
    """Yield what is wrong with a hardware address. Twenty bytes are IP over InfiniBand's."""
    if len(mac) == 3 * 20 - 1:
        return
    if not _MAC.fullmatch(mac.lower()):
        yield "mac", mac, "must be six hex bytes such as 02:00:00:00:00:01"
    elif int(mac[:2], 16) & _MULTICAST:
        yield "mac", mac, "must be a unicast address: the first byte is even"


def _route_problems(route: Route) -> Iterator[_Problem]:
    to, via = _network(route.to), _address(route.via) if route.via else None
    if to is None:
        yield "route", route.to, "must be a network such as 10.0.0.0/8, without bits beyond the prefix"
    elif route.via and via is None:
        yield "gateway", route.via, "must be an IP address"
    elif via is not None and via.version != to.version:
        yield "gateway", route.via, f"must be of IP version {to.version} like the route to {route.to}"


def _normal_route(route: Route) -> Route:
    via = str(ipaddress.ip_address(route.via)) if route.via else None
    return Route(str(ipaddress.ip_network(route.to)), via)


def _interface(text: str) -> object | None:
    try:
        return ipaddress.ip_interface(text) if "/" in text else None
    except ValueError:
        return None


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
