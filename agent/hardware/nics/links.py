"""Network links and the single steps that change them, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agent.hardware.types import Bdf


@dataclass(frozen=True, slots=True)
class Route:
    """A route through an interface. Shape: ``to`` such as ``10.0.0.0/8`` or ``0.0.0.0/0``; ``via`` None
    for a network that is reached directly."""

    to: str
    via: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A network link of one namespace.

    Shape: ``bdf`` None for a link that is no PCI function; ``least_mtu`` and ``most_mtu`` None if the
           kernel does not say; ``addresses`` such as ``10.0.0.2/24``, those of the link itself (fe80::/10)
           left out; ``routes`` only those that somebody added. Units: MTUs bytes.
    """

    name: str
    index: int
    mac: str
    mtu: int
    is_up: bool
    bdf: Bdf | None = None
    least_mtu: int | None = None
    most_mtu: int | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[Route, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """Move a link to another namespace under a name; it arrives down and without addresses.

    Shape: ``into`` None for the caller's namespace, else the file of one.
    """

    link: str
    into: Path | None
    name: str


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a link that is down."""

    link: str
    name: str


@dataclass(frozen=True, slots=True)
class SetMtu:
    """Set the MTU. Units: bytes."""

    link: str
    mtu: int


@dataclass(frozen=True, slots=True)
class SetMac:
    """Set the hardware address."""

    link: str
    mac: str


@dataclass(frozen=True, slots=True)
class SetUp:
    """Switch a link on or off."""

    link: str
    up: bool


@dataclass(frozen=True, slots=True)
class AddAddress:
    """Add an IP address with its prefix length."""

    link: str
    address: str


@dataclass(frozen=True, slots=True)
class AddRoute:
    """Add a route to a link that is up."""

    link: str
    route: Route


Step = Move | Rename | SetMtu | SetMac | SetUp | AddAddress | AddRoute
"""One change of one link: one request to the kernel."""
