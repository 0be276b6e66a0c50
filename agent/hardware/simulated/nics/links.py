"""The kernel's rules for network links. Pure: state and step to state, or ``Refused``.

Source: Linux, net/core/dev.c (dev_change_net_namespace, dev_change_name), net/ipv4/fib_semantics.c.
"""

from __future__ import annotations

import errno
import ipaddress
from collections.abc import Iterator

from msgspec.structs import replace

from agent.hardware.nics.links import (
    AddAddress,
    AddRoute,
    Link,
    Move,
    Rename,
    Route,
    SetMac,
    SetMtu,
    SetUp,
    Step,
)
from agent.hardware.simulated.nic_state import LinkState, RouteState
from agent.hardware.simulated.nics.functions import Function, functions, with_function
from agent.hardware.simulated.nics.refused import Refused
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State

LEAST_MTU, MOST_MTU = 68, 9978
"""Bytes. Source: the mlx5 driver's limits."""

_LONGEST_NAME = 15
_Found = Iterator[tuple[Function, LinkState]]


def links(node: NodeFile, state: State, namespace: str | None) -> tuple[Link, ...]:
    """Return the links of a namespace, by index."""
    found = (_shown(function, link) for function, link in _within(node, state, namespace))
    return tuple(sorted(found, key=lambda link: link.index))


def _within(node: NodeFile, state: State, namespace: str | None) -> _Found:
    for function in functions(node, state):
        link = function.link(state)
        if link is not None and link.namespace == namespace:
            yield function, link


def _shown(function: Function, link: LinkState) -> Link:
    return Link(
        name=link.name,
        index=function.link_index,
        mac=link.mac,
        mtu=link.mtu,
        is_up=link.up,
        bdf=function.bdf,
        least_mtu=LEAST_MTU,
        most_mtu=MOST_MTU,
        addresses=link.addresses,
        routes=tuple(Route(route.to, route.via) for route in link.routes),
    )


def named(node: NodeFile, state: State, namespace: str | None, name: str) -> tuple[Function, LinkState]:
    """Return a link of a namespace by name. Raises: Refused."""
    for function, link in _within(node, state, namespace):
        if link.name == name:
            return function, link
    raise Refused(errno.ENODEV)


def changed(node: NodeFile, state: State, namespace: str | None, step: Step, into: str | None) -> State:
    """Return the state after a step on a link of a namespace. Raises: Refused.

    Shape: ``into`` identifies the namespace of a move, None for the host's.
    """
    function, link = named(node, state, namespace, step.link)
    match step:
        case Move():
            _refuse_name(node, state, into, step.name, function)
            path = None if step.into is None else str(step.into)
            link = replace(link, name=step.name, namespace=into, path=path, up=False, addresses=(), routes=())
        case Rename():
            if link.up:
                raise Refused(errno.EBUSY)
            _refuse_name(node, state, namespace, step.name, function)
            link = replace(link, name=step.name)
        case SetMtu() if not LEAST_MTU <= step.mtu <= MOST_MTU:
            raise Refused(errno.EINVAL)
        case SetMtu():
            link = replace(link, mtu=step.mtu)
        case SetMac():
            link = replace(link, mac=_usable_mac(node, state, function, step.mac))
        case SetUp():
            link = _switched(link, step.up)
        case AddAddress():
            link = _addressed(link, step.address)
        case AddRoute():
            link = _routed(link, step.route)
    return with_function(state, function, replace(function.of(state), link=link))


def given_back(node: NodeFile, state: State, ended: frozenset[str]) -> State:
    """Return the state after namespaces have ended: their links are on the host, under the names they had.

    A link whose name is taken there is called ``dev<index>``.
    """
    for namespace in sorted(ended):
        for function, link in list(_within(node, state, namespace)):
            taken = {other.name for _, other in _within(node, state, None)}
            name = link.name if link.name not in taken else f"dev{function.link_index}"
            back = LinkState(name, link.mac, link.mtu, up=False)
            state = with_function(state, function, replace(function.of(state), link=back))
    return state


def _refuse_name(node: NodeFile, state: State, namespace: str | None, name: str, own: Function) -> None:
    if not 0 < len(name) <= _LONGEST_NAME or "/" in name:
        raise Refused(errno.EINVAL)
    if any(link.name == name and other != own for other, link in _within(node, state, namespace)):
        raise Refused(errno.EEXIST)


def _usable_mac(node: NodeFile, state: State, function: Function, mac: str) -> str:
    if function.nic.form.link != "ethernet":
        raise Refused(errno.EOPNOTSUPP)
    if int(mac[:2], 16) & 1:
        raise Refused(errno.EADDRNOTAVAIL)
    everywhere = ((other, other.link(state)) for other in functions(node, state) if other != function)
    if any(link is not None and link.mac == mac and other.nic == function.nic for other, link in everywhere):
        raise Refused(errno.EADDRINUSE)
    return mac


def _switched(link: LinkState, up: bool) -> LinkState:
    """Switch a link; one that goes down loses its routes and its IPv6 addresses."""
    if up or not link.up:
        return replace(link, up=up)
    kept = tuple(address for address in link.addresses if ":" not in address)
    return replace(link, up=False, addresses=kept, routes=())


def _addressed(link: LinkState, address: str) -> LinkState:
    if address in link.addresses:
        raise Refused(errno.EEXIST)
    return replace(link, addresses=(*link.addresses, address))


def _routed(link: LinkState, route: Route) -> LinkState:
    if not link.up:
        raise Refused(errno.ENETDOWN)
    wanted = RouteState(route.to, route.via)
    if wanted in link.routes:
        raise Refused(errno.EEXIST)
    networks = [ipaddress.ip_interface(address).network for address in link.addresses]
    if route.via is not None and not any(ipaddress.ip_address(route.via) in network for network in networks):
        raise Refused(errno.ENETUNREACH)
    return replace(link, routes=(*link.routes, wanted))
