"""IP addresses and networks. Source: the Kubernetes IP and CIDR libraries; Go's ``net/netip``."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.library.equality import make_strict
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import TYPE_NAMES

_Address = IPv4Address | IPv6Address
_LENGTH: Final = re.compile(r"0|[1-9][0-9]{0,2}", re.ASCII)
_LINK_LOCAL_4: Final = (169 << 8) + 254
_LINK_LOCAL_6: Final = 0xFE80 >> 6
_MAX_TEXT: Final = 128  # addresses are shorter
_IP: Final = "net.IP"
_CIDR: Final = "net.CIDR"


@dataclass(frozen=True, slots=True)
class Network:
    """An address with the length of its prefix; bits behind the prefix may be set."""

    address: _Address
    length: int

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    @property
    def prefix(self) -> int:
        """Return the bits of the prefix."""
        return int(self.address) >> (self.address.max_prefixlen - self.length)


for _kind, _name in ((IPv4Address, _IP), (IPv6Address, _IP), (Network, _CIDR)):
    TYPE_NAMES[_kind] = _name
    make_strict(_kind)


def parse_ip(text: str) -> _Address:
    """Read an address; zones and IPv4 addresses in IPv6 form are refused."""
    try:
        address = ip_address(text) if len(text) <= _MAX_TEXT else None
    except ValueError:
        address = None
    if address is None:
        raise EvaluationError(f"IP address {text[:64]!r} must be IPv4 or IPv6")
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise EvaluationError(f"IP address {text[:64]!r} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise EvaluationError(f"IPv4-mapped IPv6 address {text[:64]!r} is not allowed")
    return address


def parse_network(text: str) -> Network:
    """Read an address with the length of a prefix."""
    head, slash, length = text[:_MAX_TEXT].rpartition("/")
    if len(text) > _MAX_TEXT or not slash or not _LENGTH.fullmatch(length):
        raise EvaluationError(f"network {text[:64]!r} must be an address, '/' and a prefix length")
    address = parse_ip(head)
    if int(length) > address.max_prefixlen:
        raise EvaluationError(f"network {text[:64]!r}: prefix length out of range")
    return Network(address, int(length))


def is_ip(text: str) -> bool:
    """Whether a string is an address."""
    try:
        parse_ip(text)
    except EvaluationError:
        return False
    return True


def is_network(text: str) -> bool:
    """Whether a string is a network."""
    try:
        parse_network(text)
    except EvaluationError:
        return False
    return True


def is_global_unicast(address: _Address) -> bool:
    """Whether it is a unicast address; private ones count, link-local ones do not (RFC 4291)."""
    if address.max_prefixlen == 32 and int(address) == 0xFFFFFFFF:
        return False
    return not (
        address.is_unspecified or address.is_loopback or address.is_multicast or is_link_local(address)
    )


def is_link_local(address: _Address) -> bool:
    """Whether it is a link-local unicast address."""
    if isinstance(address, IPv4Address):
        return int(address) >> 16 == _LINK_LOCAL_4
    return int(address) >> 118 == _LINK_LOCAL_6


def is_link_local_multicast(address: _Address) -> bool:
    """Whether it is 224.0.0.0/24, or ff?2::/16."""
    if isinstance(address, IPv4Address):
        return int(address) >> 8 == 224 << 16
    return (int(address) >> 112) & 0xFF0F == 0xFF02


def contains_ip(network: Network, address: _Address) -> bool:
    """Whether an address lies in a network."""
    if network.address.version != address.version:
        return False
    return network.prefix == int(address) >> (address.max_prefixlen - network.length)


def contains_network(network: Network, other: Network) -> bool:
    """Whether a network lies in another, or is it."""
    return network.length <= other.length and contains_ip(network, other.address)


def masked(network: Network) -> Network:
    """Return a network without the bits behind its prefix."""
    rest = network.address.max_prefixlen - network.length
    return Network(type(network.address)(network.prefix << rest), network.length)


OVERLOADS: Final = (
    Overload("string_to_ip", "ip(string)", _IP, parse_ip),
    Overload("cidr_ip", f"{_CIDR}.ip()", _IP, lambda network: network.address),
    Overload("ip_family", f"{_IP}.family()", "int", lambda address: address.version),
    Overload("ip_is_canonical", r"ip\.isCanonical(string)", "bool", lambda text: str(parse_ip(text)) == text),
    Overload("ip_is_unspecified", f"{_IP}.isUnspecified()", "bool", lambda address: address.is_unspecified),
    Overload("ip_is_loopback", f"{_IP}.isLoopback()", "bool", lambda address: address.is_loopback),
    Overload("ip_is_link_local_multicast", f"{_IP}.isLinkLocalMulticast()", "bool", is_link_local_multicast),
    Overload("ip_is_link_local_unicast", f"{_IP}.isLinkLocalUnicast()", "bool", is_link_local),
    Overload("ip_is_global_unicast", f"{_IP}.isGlobalUnicast()", "bool", is_global_unicast),
    Overload("is_ip", "isIP(string)", "bool", is_ip),
    Overload("ip_to_string", f"string({_IP})", "string", str),
    Overload("string_to_cidr", "cidr(string)", _CIDR, parse_network),
    Overload(
        "cidr_contains_ip_string",
        f"{_CIDR}.containsIP(string)",
        "bool",
        lambda network, text: contains_ip(network, parse_ip(text)),
    ),
    Overload("cidr_contains_ip_ip", f"{_CIDR}.containsIP({_IP})", "bool", contains_ip),
    Overload(
        "cidr_contains_cidr_string",
        f"{_CIDR}.containsCIDR(string)",
        "bool",
        lambda network, text: contains_network(network, parse_network(text)),
    ),
    Overload("cidr_contains_cidr", f"{_CIDR}.containsCIDR({_CIDR})", "bool", contains_network),
    Overload("cidr_prefix_length", f"{_CIDR}.prefixLength()", "int", lambda network: network.length),
    Overload("cidr_masked", f"{_CIDR}.masked()", _CIDR, masked),
    Overload("is_cidr", "isCIDR(string)", "bool", is_network),
    Overload("cidr_to_string", f"string({_CIDR})", "string", str),
)
