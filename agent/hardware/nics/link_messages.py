"""Reads links, addresses and routes from pyroute2's messages.

Takes a socket; returns links. An address of the link itself (fe80::/10) and a route that the kernel made are
left out: nobody configured them.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import defaultdict
from collections.abc import Callable
from typing import Any, Final

from agent.hardware.nics.links import Link, Route
from agent.hardware.pcie import is_address
from agent.hardware.types import Bdf

LinkOwner = Callable[[Any], Bdf | None]
"""Tells which PCI function the link of a message belongs to."""

_UP: Final = 1
_MAIN_TABLE: Final = 254
_KERNEL: Final = 2
_UNICAST: Final = 1
_DEFAULT: Final = {socket.AF_INET: "0.0.0.0/0", socket.AF_INET6: "::/0"}


def parent_function(message: Any) -> Bdf | None:
    """Return what the kernel says of the device under a link, in any namespace.

    Source: Linux 5.14 and later, IFLA_PARENT_DEV_NAME. No program in a pod can change it.
    """
    parent = message.get_attr("IFLA_PARENT_DEV_NAME")
    is_pci = message.get_attr("IFLA_PARENT_DEV_BUS_NAME") == "pci"
    return Bdf(parent) if is_pci and parent and is_address(parent) else None


def links(netlink: Any, owner: LinkOwner) -> tuple[Link, ...]:
    """Return all links of the socket's namespace, by index."""
    addresses, routes = _addresses(netlink), _routes(netlink)
    found = (
        _link(message, owner(message), addresses[message["index"]], routes[message["index"]])
        for message in netlink.link("dump", ext_mask=0)
    )
    return tuple(sorted(found, key=lambda link: link.index))


def _link(message: Any, bdf: Bdf | None, addresses: list[str], routes: list[Route]) -> Link:
    return Link(
        name=message.get_attr("IFLA_IFNAME"),
        index=message["index"],
        mac=message.get_attr("IFLA_ADDRESS") or "",
        mtu=message.get_attr("IFLA_MTU") or 0,
        is_up=bool(message["flags"] & _UP),
        bdf=bdf,
        least_mtu=message.get_attr("IFLA_MIN_MTU") or None,
        most_mtu=message.get_attr("IFLA_MAX_MTU") or None,
        addresses=tuple(addresses),
        routes=tuple(routes),
    )


def _addresses(netlink: Any) -> defaultdict[int, list[str]]:
    found: defaultdict[int, list[str]] = defaultdict(list)
    for message in netlink.addr("dump"):
        text = message.get_attr("IFA_LOCAL") or message.get_attr("IFA_ADDRESS")
        if text and not ipaddress.ip_address(text).is_link_local:
            found[message["index"]].append(str(ipaddress.ip_interface(f"{text}/{message['prefixlen']}")))
    return found


def _routes(netlink: Any) -> defaultdict[int, list[Route]]:
    found: defaultdict[int, list[Route]] = defaultdict(list)
    for message in netlink.route("dump"):
        index = message.get_attr("RTA_OIF")
        if index is None or message["proto"] == _KERNEL or message["type"] != _UNICAST:
            continue
        if (message.get_attr("RTA_TABLE") or message["table"]) == _MAIN_TABLE and message[
            "family"
        ] in _DEFAULT:
            found[index].append(_route(message))
    return found


def _route(message: Any) -> Route:
    to = message.get_attr("RTA_DST")
    network = f"{to}/{message['dst_len']}" if to else _DEFAULT[message["family"]]
    return Route(network, message.get_attr("RTA_GATEWAY"))
