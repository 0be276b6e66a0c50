"""``tangram explain --why-not NODE|DEVICE``: what keeps the claims from one node, or from one device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from scheduler_core.advice.why_not import DeviceVerdict, why_not_device
from scheduler_core.comparison.best_fit_reasons import best_fit_choices
from scheduler_core.comparison.other_nodes import OtherNode, compare_nodes
from scheduler_core.engine.decider import Solver
from scheduler_core.engine.engine import Engine
from scheduler_core.model.device import DeviceId
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation, Unallocatable, Undecided
from tangram.allocation_input import AllocationInput
from tangram.errors import bad_argument
from tangram.explaining.refusal import explain_refusal
from tangram.face import DOES_NOT_FIT, DONE, Face
from tangram.pictures.advice.why_not import device_picture, given_picture
from tangram.pictures.weighing import elsewhere_picture, reason
from tangram.plain import plain
from tangram.policies import BEST_FIT, POLICIES
from tangram.undecided import show_undecided


def why_not(wanted: str, asked: AllocationInput, engine: Engine, face: Face, *, as_json: bool) -> int:
    """Explain one node or one device. Raises: BadInput for one that is not known."""
    nodes = {node.name: node for node in asked.objects.nodes_to_try(asked.cluster.pools, None)}
    if wanted in nodes:
        return _node(nodes[wanted], asked, engine, face, as_json=as_json)
    device, node = _device(wanted, asked, tuple(nodes.values()))
    return _tell_device(device, node, asked, engine, face, as_json=as_json)


def _node(node: Node, asked: AllocationInput, engine: Engine, face: Face, *, as_json: bool) -> int:
    claims = asked.objects.claims
    match engine.allocate(claims, node):
        case Unallocatable() as refusal:
            explain_refusal(refusal, replace(asked, nodes=(node,)), engine, face, as_json=as_json)
            return DOES_NOT_FIT
        case Undecided() as undecided:
            return show_undecided(undecided, face, as_json=as_json)
        case Allocation() as there:
            _tell_node(there, asked, engine, face, as_json=as_json)
            return DONE


def _tell_node(
    there: Allocation, asked: AllocationInput, engine: Engine, face: Face, *, as_json: bool
) -> None:
    """Say why another node was chosen than one on which the claims fit."""
    claims = asked.objects.claims
    chosen = engine.allocate_somewhere(claims, asked.nodes)
    compared = {node.name for node in engine.compared_nodes(claims, asked.nodes)}
    others: tuple[OtherNode, ...] = ()
    if isinstance(chosen, Allocation) and chosen.node != there.node:
        others = compare_nodes(chosen, [there], claims, asked.cluster, compared)
    where = chosen.node if isinstance(chosen, Allocation) else there.node
    if as_json:
        face.out.json({"allocated": True, "node": there.node, "chosen": where, "elsewhere": plain(others)})
    elif others:
        face.out.show(f"the claims fit on {there.node}, and {where} is chosen", elsewhere_picture(others))
    else:
        face.out.show(f"the claims fit on {there.node}, and it is the node that is chosen")


def _tell_device(
    device: DeviceId, node: Node, asked: AllocationInput, engine: Engine, face: Face, *, as_json: bool
) -> int:
    claims = asked.objects.claims
    verdicts = why_not_device(claims, engine.state.seen_from(node), node, device)
    answer = engine.allocate(claims, node)
    given = tuple(_given(answer, device)) if isinstance(answer, Allocation) else ()
    costs = tuple(_costs(answer, device, node, asked, engine)) if isinstance(answer, Allocation) else ()
    if as_json:
        found = {"device": str(device), "node": node.name, "given": list(given)}
        face.out.json({**found, "requests": _value(verdicts), "preferred": list(costs)})
    else:
        face.out.show(given_picture(device, given) if given else device_picture(device, verdicts, costs))
    return DONE if given or any(one.is_possible for one in verdicts) else DOES_NOT_FIT


def _given(answer: Allocation, device: DeviceId) -> Iterator[str]:
    for ref, results in answer.results.items():
        yield from (f"{ref} request {one.request}" for one in results if one.device == device)


def _costs(
    answer: Allocation, device: DeviceId, node: Node, asked: AllocationInput, engine: Engine
) -> Iterator[str]:
    """Yield why each device of an answer was preferred to another one that its request could have had."""
    if engine.policy != POLICIES[BEST_FIT] or engine.answered_by.solver is not Solver.TABLES:
        return
    for choice in best_fit_choices(answer, asked.objects.claims, asked.cluster, node):
        for rival in choice.rivals:
            if rival.device == device and rival.obstacle is None:
                yield f"{choice.device.device} is preferred: {device.device} {reason(rival)}"


def _value(verdicts: Sequence[DeviceVerdict]) -> list[dict[str, Any]]:
    return [{**plain(one), "isPossible": one.is_possible} for one in verdicts]


def _device(wanted: str, asked: AllocationInput, nodes: Sequence[Node]) -> tuple[DeviceId, Node]:
    """Return the device of a name, with or without pool and driver, and a node that sees it."""
    known: dict[str, list[tuple[DeviceId, Node]]] = {}
    for pool in asked.cluster.pools:
        seeing = [node for node in nodes if pool.is_seen_from(node)]
        for device in (*pool.devices, *(one.device for one in pool.rejected.values())):
            found = pool.id_of(device)
            for name in (found.device, f"{found.pool}/{found.device}", str(found)):
                known.setdefault(name, []).extend((found, node) for node in seeing[:1])
    matching = known.get(wanted, [])
    if len(matching) == 1:
        return matching[0]
    if matching:
        named = ", ".join(f"{one.pool}/{one.device}" for one, _ in matching[:3])
        raise bad_argument("--why-not", wanted, f"is a device of several pools: say which, such as {named}")
    close = get_close_matches(wanted, [*known, *(node.name for node in nodes)], 1)
    meant = f"; did you mean {close[0]}?" if close else ""
    raise bad_argument("--why-not", wanted, f"is no node and no device of a node{meant}")
