"""What devices are called beside others: with their driver where a name alone says too little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from scheduler_core.frontends.occupancy.values import Gpu, Nic, OtherDevices
from scheduler_core.model.nodes import AllNodes, Matching, NodeSelection, OnNode, Operator, Requirement

NAMELESS: Final = "device"
_MOST: Final = 3
_MOST_VALUES: Final = 8
_SIGNS: Final = {Operator.GT: ">", Operator.LT: "<"}


def has_several_drivers(devices: Iterable[Gpu | Nic | OtherDevices]) -> bool:
    """Whether devices in one list are of several drivers, so that each name needs its driver."""
    return len({one.pool.driver for one in devices}) > 1


def with_driver(name: str, one: Gpu | Nic | OtherDevices, *, is_mixed: bool) -> str:
    """Return a name with its driver where drivers are mixed, or where the devices have no kind of a name."""
    return f"{name} of {one.pool.driver}" if is_mixed or name == NAMELESS else name


def nodes_text(selections: Sequence[NodeSelection]) -> str:
    """Return from which nodes devices can be used, in a few words."""
    if any(isinstance(one, AllNodes) for one in selections):
        return "all nodes"
    names = [one.name for one in selections if isinstance(one, OnNode)]
    terms = [_term(one) for one in selections if isinstance(one, Matching)]
    found = ([_listed("nodes" if len(names) > 1 else "node", names)] if names else []) + (
        [_listed("nodes with", terms)] if terms else []
    )
    return ", and ".join(found) or "no node"


def _listed(head: str, words: Sequence[str]) -> str:
    more = f" and {len(words) - _MOST} more" if len(words) > _MOST else ""
    return f"{head} {', '.join(words[:_MOST])}{more}"


def _term(one: Matching) -> str:
    return " and ".join(map(_requirement, one.requirements))


def _requirement(one: Requirement) -> str:
    key = "name" if one.is_field else one.key
    match one.operator:
        case Operator.EXISTS:
            return key
        case Operator.DOES_NOT_EXIST:
            return f"no {key}"
        case Operator.IN if len(one.values) == 1:
            return f"{key}={one.values[0]}"
        case Operator.IN:
            return f"{key} one of {_values(one)}"
        case Operator.NOT_IN:
            return f"{key} none of {_values(one)}"
        case Operator.GT | Operator.LT:
            return f"{key}{_SIGNS[one.operator]}{one.values[0]}"


def _values(one: Requirement) -> str:
    more = f"|… ({len(one.values)})" if len(one.values) > _MOST_VALUES else ""
    return f"{'|'.join(one.values[:_MOST_VALUES])}{more}"
