"""``tangram explain --why-not NODE|DEVICE``: what keeps the claims from one node, or from one device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from rich.console import Group

from scheduler_core.advice.why_not import DeviceVerdict, freeing_device, why_not_device
from scheduler_core.comparison.best_fit_reasons import best_fit_choices
from scheduler_core.comparison.elsewhere import Elsewhere
from scheduler_core.comparison.other_nodes import OtherNode, compare_nodes
from scheduler_core.engine.decider import Solver
from scheduler_core.engine.engine import Engine
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node, NodeSelection, admits
from scheduler_core.model.result import Allocation, Unallocatable, Undecided
from tangram.errors import bad_argument
from tangram.explaining.asked import Asked
from tangram.explaining.refusal import refusal_told
from tangram.explaining.remedies import remedies_value
from tangram.face import DOES_NOT_FIT, DONE
from tangram.pictures.advice.why_not import device_picture, given_picture, to_get_it_picture
from tangram.pictures.weighing import elsewhere_picture, reason
from tangram.plain import plain
from tangram.policies import BEST_FIT, POLICIES
from tangram.told import Told
from tangram.undecided import undecided_told


def why_not(wanted: str, asked: Asked, engine: Engine, width: int) -> Told:
    """Explain one node or one device. Raises: BadInput for one that is not known."""
    nodes = {node.name: node for node in asked.known}
    if wanted in nodes:
        return of_node(nodes[wanted], asked, engine, width)
    device, node = named_device(wanted, asked.cluster, asked.known)
    return of_device(device, node, asked, engine)


def of_node(node: Node, asked: Asked, engine: Engine, width: int) -> Told:
    """Explain one node."""
    match engine.allocate(asked.claims, node):
        case Unallocatable() as refusal:
            return refusal_told(refusal, replace(asked, nodes=(node,)), engine, width)
        case Undecided() as undecided:
            return undecided_told(undecided)
        case Allocation() as there:
            return _fits(there, asked, engine)


def _fits(there: Allocation, asked: Asked, engine: Engine) -> Told:
    """Say why another node was chosen than one on which the claims fit."""
    claims = asked.claims
    chosen = engine.allocate_somewhere(claims, asked.nodes)
    compared = {node.name for node in engine.compared_nodes(claims, asked.nodes)}
    others: tuple[OtherNode, ...] = ()
    if isinstance(chosen, Allocation) and chosen.node != there.node:
        others = compare_nodes(chosen, [there], claims, asked.cluster, compared)
    where = chosen.node if isinstance(chosen, Allocation) else there.node
    value = {"allocated": True, "node": there.node, "chosen": where, "elsewhere": plain(others)}
    if others:
        head = f"the claims fit on {there.node}, and {where} is chosen"
        return Told(DONE, value, (head, elsewhere_picture(Elsewhere(others))))
    return Told(DONE, value, (f"the claims fit on {there.node}, and it is the node that is chosen",))


def of_device(device: DeviceId, node: Node, asked: Asked, engine: Engine) -> Told:
    """Explain one device on a node that sees it."""
    claims = asked.claims
    verdicts = why_not_device(claims, engine.state.seen_from(node), node, device)
    answer = engine.allocate(claims, node)
    given = tuple(_given(answer, device)) if isinstance(answer, Allocation) else ()
    costs = tuple(_costs(answer, device, node, asked, engine)) if isinstance(answer, Allocation) else ()
    is_possible = bool(given) or any(one.is_possible for one in verdicts)
    is_held = not is_possible and any(one.obstacle is not None for one in verdicts)
    ending = freeing_device(claims, engine, node, device) if is_held else None
    remedies = () if ending is None else (ending,)
    instead = _devices(answer) if isinstance(answer, Allocation) and not given else ()
    value = {
        "device": str(device),
        "node": node.name,
        "given": list(given),
        "requests": _value(verdicts),
        "preferred": list(costs),
        "remedies": remedies_value(remedies),
        "instead": list(map(str, instead)),
    }
    picture = given_picture(device, given)
    if not given:
        picture = Group(device_picture(device, verdicts, costs), to_get_it_picture(remedies, instead))
    return Told(DONE if is_possible else DOES_NOT_FIT, value, (picture,))


def _devices(answer: Allocation) -> tuple[DeviceId, ...]:
    return tuple(one.device for results in answer.results.values() for one in results)


def _given(answer: Allocation, device: DeviceId) -> Iterator[str]:
    for ref, results in answer.results.items():
        yield from (f"{ref} request {one.request}" for one in results if one.device == device)


def _costs(answer: Allocation, device: DeviceId, node: Node, asked: Asked, engine: Engine) -> Iterator[str]:
    """Yield why each device of an answer was preferred to another one that its request could have had."""
    if engine.policy != POLICIES[BEST_FIT] or engine.answered_by.solver is not Solver.TABLES:
        return
    for choice in best_fit_choices(answer, asked.claims, asked.cluster, node):
        for rival in choice.rivals:
            if rival.device == device and rival.obstacle is None:
                yield f"{choice.device.device} is preferred: {device.device} {reason(rival)}"


def _value(verdicts: Sequence[DeviceVerdict]) -> list[dict[str, Any]]:
    return [{**plain(one), "isPossible": one.is_possible} for one in verdicts]


def named_device(wanted: str, cluster: Cluster, nodes: Sequence[Node]) -> tuple[DeviceId, Node]:
    """Return the device of a name, with or without pool and driver, and a node that sees it.

    Shape: the node is the first from which the device can be used, else the first that sees its pool.
    Raises: BadInput for a name that nothing or several devices have.
    """
    known: dict[str, list[tuple[DeviceId, NodeSelection, Sequence[Node]]]] = {}
    for pool in cluster.pools:
        seeing = [node for node in nodes if pool.is_seen_from(node)]
        for device in (*pool.devices, *(one.device for one in pool.rejected.values())):
            found = pool.id_of(device)
            for name in (found.device, f"{found.pool}/{found.device}", str(found)):
                if seeing:
                    known.setdefault(name, []).append((found, device.nodes, seeing))
    matching = known.get(wanted, [])
    if len(matching) == 1:
        ((found, selection, candidates),) = matching
        return found, next((node for node in candidates if admits(selection, node)), candidates[0])
    if matching:
        named = ", ".join(f"{one.pool}/{one.device}" for one, _, _ in matching[:3])
        raise bad_argument("--why-not", wanted, f"is a device of several pools: say which, such as {named}")
    close = get_close_matches(wanted, [*known, *(node.name for node in nodes)], 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    raise bad_argument("--why-not", wanted, f"is no node and no device of a node{meant}")
