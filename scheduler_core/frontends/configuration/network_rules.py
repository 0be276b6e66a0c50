"""Rules for what people write about networks: MAC and IP addresses, GUIDs, names of interfaces.

Each function returns the rule that a text breaks, or None.
Source: Linux ``dev_valid_name`` and ``is_valid_ether_addr``.
"""

from __future__ import annotations

import re
from ipaddress import (
    IPv4Address,
    IPv4Interface,
    IPv4Network,
    IPv6Address,
    IPv6Interface,
    IPv6Network,
    ip_address,
    ip_interface,
    ip_network,
)
from typing import Final

IpAddress = IPv4Address | IPv6Address
IpInterface = IPv4Interface | IPv6Interface
IpNetwork = IPv4Network | IPv6Network

_MAC: Final = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", re.ASCII)
_GUID: Final = re.compile(r"[0-9a-f]{2}(?::[0-9a-f]{2}){7}", re.ASCII)
_WITH_PREFIX: Final = re.compile(r"[0-9A-Fa-f.:]+/[0-9]{1,3}", re.ASCII)
_NAME: Final = re.compile(r"[!-~]+", re.ASCII)
_NAME_BYTES: Final = 15
_NAME_REFUSED: Final = "/:%"


def mac_rule(text: str) -> str | None:
    """Check a MAC address."""
    if _MAC.fullmatch(text.lower()) is None:
        return "must be six bytes in hexadecimal, such as 02:00:00:00:00:01"
    if int(text[:2], 16) & 1:
        return "must be the address of one device: its first byte must be even"
    return "must not be zero" if set(text) <= set("0:") else None


def guid_rule(text: str) -> str | None:
    """Check the GUID of an InfiniBand VF."""
    if _GUID.fullmatch(text.lower()) is None:
        return "must be eight bytes in hexadecimal, such as 02:00:00:00:00:00:00:01"
    digits = set(text.lower()) - {":"}
    return "must not be zero or all ones, which mean that there is none" if digits in ({"0"}, {"f"}) else None


def interface_name_rule(text: str) -> str | None:
    """Check the name of a network interface in a pod."""
    if _NAME.fullmatch(text) is None or any(sign in text for sign in _NAME_REFUSED):
        return "must be printable ASCII without white space and without '/', ':' and '%'"
    if len(text) > _NAME_BYTES:
        return f"has {len(text)} bytes; at most {_NAME_BYTES} are allowed"
    if text in (".", ".."):
        return "must not be '.' or '..'"
    return "is the name of an interface that every pod has" if text == "lo" else None


def address_rule(text: str) -> str | None:
    """Check an address with its prefix."""
    wanted = "must be an address with a prefix, such as 192.0.2.10/24 or 2001:db8::10/64"
    if _WITH_PREFIX.fullmatch(text) is None:
        return wanted
    try:
        interface = ip_interface(text)
    except ValueError:
        return wanted
    network = interface.network
    if network.prefixlen < network.max_prefixlen - 1 and interface.ip == network.network_address:
        return "is the network itself: write the address of a host in it"
    if network.prefixlen < network.max_prefixlen - 1 and _is_broadcast(interface):
        return "is the network's broadcast address"
    return unicast_rule(interface.ip)


def destination_rule(text: str) -> str | None:
    """Check the destination of a route."""
    wanted = "must be a network with a prefix, such as 198.51.100.0/24 or ::/0"
    if _WITH_PREFIX.fullmatch(text) is None:
        return wanted
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return wanted
    if ip_interface(text).ip != network.network_address:
        return f"has host bits set: write {network}"
    return "must not be a multicast network" if network.is_multicast else None


def gateway_rule(text: str) -> str | None:
    """Check the address of a gateway."""
    try:
        return unicast_rule(ip_address(text)) if "%" not in text else "must not have a zone"
    except ValueError:
        return "must be an address without a prefix, such as 192.0.2.1 or fe80::1"


def unicast_rule(address: IpAddress) -> str | None:
    """Check that one host can have an address."""
    if address.is_multicast or address.is_loopback or address.is_unspecified:
        return "must be the address of one host: not multicast, loopback or unspecified"
    if isinstance(address, IPv4Address) and int(address) == 2**32 - 1:
        return "must be the address of one host: not broadcast"
    return None


def _is_broadcast(interface: IpInterface) -> bool:
    is_v4 = isinstance(interface, IPv4Interface)
    return is_v4 and interface.ip == interface.network.broadcast_address
