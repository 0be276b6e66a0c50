"""PURE: what is recorded of an interface that a pod gets: how it is wanted, how it was, and where it is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import msgspec

from agent.hardware.nics.links import Link, Route
from agent.hardware.nics.wishes import WantedInterface
from plugin.machine.namespaces import PodNamespace
from scheduler_core.frontends.configuration.values import Netdev


class RecordedRoute(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A route. Shape: ``via`` None for a network that is reached directly."""

    to: str
    via: str | None = None


class RecordedInterface(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An interface as it was, or is wanted. Shape: None is "as it is". Units: ``mtu`` bytes."""

    name: str | None = None
    mtu: int | None = None
    mac: str | None = None
    addresses: tuple[str, ...] = ()
    routes: tuple[RecordedRoute, ...] = ()
    up: bool = True

    @classmethod
    def of_link(cls, link: Link) -> Self:
        """Return what a link is now."""
        return cls(
            name=link.name,
            mtu=link.mtu,
            mac=link.mac,
            addresses=link.addresses,
            routes=tuple(RecordedRoute(to=route.to, via=route.via) for route in link.routes),
            up=link.is_up,
        )

    @classmethod
    def wanted(cls, netdev: Netdev | None, mac: str | None = None) -> Self:
        """Return what a configuration asks for."""
        chosen = netdev or Netdev()
        return cls(
            name=chosen.name,
            mtu=chosen.mtu,
            mac=mac,
            addresses=chosen.addresses,
            routes=tuple(RecordedRoute(to=one.destination, via=one.gateway) for one in chosen.routes),
        )

    def wish(self) -> WantedInterface:
        """Return it as the machine's port takes it."""
        return WantedInterface(
            name=self.name,
            mtu=self.mtu,
            mac=self.mac,
            addresses=self.addresses,
            routes=tuple(Route(route.to, route.via) for route in self.routes),
            up=self.up,
        )


class RecordedNamespace(msgspec.Struct, frozen=True, kw_only=True):
    """A pod's network namespace as it is recorded."""

    path: str
    identity: str

    @classmethod
    def of(cls, namespace: PodNamespace) -> Self:
        """Return a namespace for a record."""
        return cls(path=str(namespace.path), identity=namespace.identity)

    def opened(self) -> PodNamespace:
        """Return it as the machine's modules take it."""
        return PodNamespace(Path(self.path), self.identity)


class ClaimedInterface(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The interface of a claim's function.

    Shape: ``before`` how it was on the host, durable before anything of it changes; ``pod`` the namespace
           that it was brought into last, durable before it goes there.
    """

    wanted: RecordedInterface = RecordedInterface()
    before: RecordedInterface | None = None
    pod: RecordedNamespace | None = None

    @property
    def in_pod(self) -> RecordedInterface:
        """Return how it is in a pod: as it is wanted, under the host's name where no other is wanted."""
        host_name = self.before.name if self.before is not None else None
        return msgspec.structs.replace(self.wanted, name=self.wanted.name or host_name)

    @property
    def network_data(self) -> Mapping[str, Any] | None:
        """Return what the claim's status and containers are told of it, None until that is known."""
        if self.before is None:
            return None
        addresses = {"ips": list(self.wanted.addresses)} if self.wanted.addresses else {}
        mac = self.wanted.mac or self.before.mac
        return {"interfaceName": self.in_pod.name, "hardwareAddress": mac, **addresses}

    def as_planned(self) -> Self:
        """Return it without what was there before and where it is."""
        return msgspec.structs.replace(self, before=None, pod=None)
