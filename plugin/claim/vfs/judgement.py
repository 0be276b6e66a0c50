"""PURE: what is to be done about the number of VFs of one NIC, from its rule and what is known of the NIC."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from agent.inventory.vfs.rules import VfRule
from plugin.machine.made_vfs import MadeVfs


class VfDeed(Enum):
    """What is done about the VFs of a NIC."""

    NOTHING = "nothing"
    MAKE = "make"
    REMOVE = "remove"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class VfState:
    """What is known of the VFs of a NIC.

    Shape: ``made`` what this driver made of them, None where it made none; ``is_held`` whether a claim has
           the NIC or one of them, None where that is not known.
    """

    present: int
    made: MadeVfs | None
    is_held: bool | None


@dataclass(frozen=True, slots=True)
class VfJudgement:
    """What is due. Shape: ``why`` says why the rule is not met and who acts, empty where it is met."""

    deed: VfDeed
    why: str = ""


def judge(rule: VfRule | None, state: VfState) -> VfJudgement:
    """Return what is due for a NIC. VFs in use, and VFs that somebody else made, are never removed."""
    if rule is None:
        return VfJudgement(VfDeed.NOTHING)
    if rule.on_demand:
        is_unused = state.made is not None and state.is_held is False
        return VfJudgement(VfDeed.REMOVE if is_unused else VfDeed.NOTHING)
    return _judge_static(rule.count, state)


def _judge_static(count: int, state: VfState) -> VfJudgement:
    present, made = state.present, state.made
    if present == count:
        return VfJudgement(VfDeed.NOTHING)
    if made is not None and made.asked == count and made.made is not None:
        remedy = "the operator asks for that number, or raises the limit in the NIC's firmware"
        why = f"its driver made {present}; {remedy}"
        return VfJudgement(VfDeed.NOTHING, why)
    if present and made is None:
        why = (
            f"it has {present} that somebody else made; the operator removes them when nobody uses them, "
            "or asks for as many"
        )
        return VfJudgement(VfDeed.NOTHING, why)
    if state.is_held is not False:
        doubt = "claims have functions of it" if state.is_held else "not all records of claims can be read"
        return VfJudgement(VfDeed.NOTHING, f"it has {present}, and {doubt}; it is done when none is in use")
    return VfJudgement(VfDeed.REPLACE if present else VfDeed.MAKE)
