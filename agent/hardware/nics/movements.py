"""Plans how an interface gets into a pod's network namespace and back: what to do from what is.

Pure: takes a wish and the links of two namespaces; returns the steps that are left to do. A second container
of the pod, a restart and a crash in between need no record: what is done already is not planned again.
Functions are found by PCI address, never by name: when a namespace ends, the kernel gives a link back under
the name that it had there, or as ``dev<index>``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.hardware.errors import AlreadyTaken, InvalidArgument, NotThereYet
from agent.hardware.nics.links import (
    AddAddress,
    AddRoute,
    Link,
    Move,
    Rename,
    SetMac,
    SetMtu,
    SetUp,
    Step,
)
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.types import Bdf


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace with its links. Shape: ``namespace`` None for the host's."""

    namespace: Path | None
    links: Sequence[Link]

    def link_of(self, bdf: Bdf) -> Link | None:
        """Return a function's link here, None if it is elsewhere."""
        return next((link for link in self.links if link.bdf == bdf), None)

    def named(self, name: str) -> Link | None:
        """Return the link of this name."""
        return next((link for link in self.links if link.name == name), None)

    def __str__(self) -> str:
        return "the host's namespace" if self.namespace is None else f"namespace {self.namespace}"


@dataclass(frozen=True, slots=True)
class Planned:
    """A step and the namespace in which the link is before it."""

    namespace: Path | None
    step: Step


def way_in(bdf: Bdf, wanted: WantedInterface, host: Place, pod: Place) -> tuple[Planned, ...]:
    """Return the steps that bring a function's link from the host to the pod, as wanted.

    Raises: NotThereYet if neither has it; AlreadyTaken, InvalidArgument if the pod or the link cannot have
            it so. Then nothing has been changed.
    """
    link = pod.link_of(bdf) or host.link_of(bdf)
    if link is None:
        raise NotThereYet(_IN, _subject(bdf), f"neither {host} nor {pod} has its link")
    wanted = replace(wanted, name=wanted.name or link.name)
    _refuse_impossible(bdf, link, wanted, host, pod)
    return tuple(_steps(link, wanted, host if pod.link_of(bdf) is None else pod, pod))


def way_back(bdf: Bdf, original: WantedInterface, host: Place, pod: Place) -> tuple[Planned, ...]:
    """Return the steps that bring a function's link back to the host, as it was.

    If another link has taken its name there, it is called ``dev<index>``, as the kernel does it: a pod's end
    must not depend on a name. Shape: ``pod`` has no links if its namespace has ended.
    Raises: NotThereYet if neither has it.
    """
    link = host.link_of(bdf) or pod.link_of(bdf)
    if link is None:
        reason = f"neither {host} nor {pod} has its link"
        raise NotThereYet(_BACK, _subject(bdf), reason, "it is retried: the kernel gives it back")
    wanted = replace(original, name=_free_name(original.name or link.name, link, host))
    return tuple(_steps(link, wanted, pod if host.link_of(bdf) is None else host, host))


_IN = "move into the pod's network namespace"
_BACK = "move back to the host's network namespace"


def _subject(bdf: Bdf) -> str:
    return f"PCI function {bdf}"


def _steps(link: Link, wanted: WantedInterface, place: Place, target: Place) -> Iterator[Planned]:
    """Yield the steps for a link that is in ``place`` now and shall be in ``target``."""
    assert wanted.name is not None, "the callers choose a name"
    if place is not target:
        yield Planned(place.namespace, Move(link.name, target.namespace, wanted.name))
        link = replace(link, name=wanted.name, is_up=False, addresses=(), routes=())
    for step in _changes(link, wanted):
        yield Planned(target.namespace, step)


def _changes(link: Link, wanted: WantedInterface) -> Iterator[Step]:
    name = wanted.name or link.name
    is_renamed, has_other_mac = name != link.name, wanted.mac not in (None, link.mac)
    up = link.is_up if wanted.up is None else wanted.up
    if link.is_up and (is_renamed or has_other_mac or not up):
        # The kernel renames no link that is up before 6.2, and many drivers change no address then.
        yield SetUp(link.name, False)
        kept = tuple(address for address in link.addresses if ":" not in address)
        link = replace(link, is_up=False, addresses=kept, routes=())
    if is_renamed:
        yield Rename(link.name, name)
    if wanted.mtu not in (None, link.mtu):
        yield SetMtu(name, wanted.mtu or link.mtu)
    if has_other_mac:
        yield SetMac(name, wanted.mac or link.mac)
    yield from (AddAddress(name, one) for one in wanted.addresses if one not in link.addresses)
    if up and not link.is_up:
        yield SetUp(name, True)
    if up:
        yield from (AddRoute(name, route) for route in wanted.routes if route not in link.routes)


def _refuse_impossible(bdf: Bdf, link: Link, wanted: WantedInterface, host: Place, pod: Place) -> None:
    subject = f"{_subject(bdf)} ({link.name})"
    holder = pod.named(wanted.name or link.name)
    if holder is not None and holder.bdf != bdf:
        raise AlreadyTaken(_IN, subject, f"{pod} has an interface {holder.name} already")
    for place in (pod, host):
        alike = next((one for one in place.links if one.mac == wanted.mac and one.bdf != bdf), None)
        if alike is not None:
            raise AlreadyTaken(_IN, subject, f"{alike.name} in {place} has the address {wanted.mac} already")
    least, most = link.least_mtu or 0, link.most_mtu or 0
    if wanted.mtu is not None and (wanted.mtu < least or (most and wanted.mtu > most)):
        limits = f"its MTU may be {least} to {most} bytes, not {wanted.mtu}"
        raise InvalidArgument(_IN, subject, limits, "correct the configuration")


def _free_name(name: str, link: Link, host: Place) -> str:
    holder = host.named(name)
    if holder is None or holder.bdf == link.bdf:
        return name
    return link.name if host.named(link.name) is link else f"dev{link.index}"
