"""PURE: which of several values that a policy gives for a setting counts, by how specific the entries are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.policy.model import InvalidPolicy, Policy, Rule

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Said(Generic[_Value]):
    """One value that a policy gives for a setting. Shape: ``rank`` how specific its entry is, 0 to 2."""

    rank: int
    path: str
    value: _Value | None


def counted(policy: Policy, device: str, said: Sequence[Said[_Value]]) -> _Value | None:
    """Return the value that counts, None where nothing is said. Raises: InvalidPolicy."""
    given = [one for one in said if one.value is not None]
    if not given:
        return None
    top = max(one.rank for one in given)
    first, *others = [one for one in given if one.rank == top]
    for other in others:
        if other.value != first.value or type(other.value) is not type(first.value):
            rule = (
                f"disagrees with {first.path} about {device}; correct one of them, or have one select nodes "
                "or devices more closely"
            )
            raise InvalidPolicy(policy.subject, other.path, None, rule)
    return first.value


def rank_of(rule: Rule, *, is_selected: bool) -> int:
    """Return how specific an entry is: whether it selects nodes, and whether it selects devices."""
    return int(bool(rule.nodes)) + int(is_selected)
