"""The values of a question about a group: its members, the room beside devices, and the answers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.model.claim import Claim
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation

Counts = tuple[int, ...]
"""How many units of each shape."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupMember:
    """A pod of a group.

    Shape: ``claims`` are those without an allocation, none for a pod that needs only room; a claim that
           several members use is in each of them, under one reference; ``needs`` is equal for members
           that ``Room`` treats alike on every node.
    """

    id: str
    claims: tuple[Claim, ...] = ()
    needs: Hashable = None


class Room(Protocol):
    """What a node must have beside devices, such as CPU, memory and a number of pods.

    What it says about a node depends only on the members that were taken there, and never on other nodes.
    More members on a node never make it admit more.
    """

    def admits(self, member: GroupMember, node: Node) -> bool:
        """Whether the node has room for one more member, beside those that were taken."""
        ...

    def take(self, member: GroupMember, node: Node) -> None:
        """Count a member that is admitted."""
        ...

    def give(self, member: GroupMember, node: Node) -> None:
        """Give back what ``take`` counted."""
        ...


@dataclass(frozen=True, slots=True)
class Placed:
    """A member and its devices.

    Shape: ``allocation`` has the node and all claims of the member, none for a member without claims; a claim
           that several members use has the same entry in each of them.
    """

    member: GroupMember
    allocation: Allocation


@dataclass(frozen=True, slots=True)
class Unfit:
    """The group does not fit.

    Shape: ``nowhere`` are the members that fit on no node even alone, in the order given; where it is empty
           the members do not fit together; ``members`` in the group, ``minimum`` of which were needed.
    """

    members: int
    minimum: int
    nowhere: tuple[GroupMember, ...] = ()

    def __str__(self) -> str:
        """Return one sentence."""
        if self.nowhere:
            names = ", ".join(member.id for member in self.nowhere)
            return f"of {self.members} members {self.minimum} are needed, and no node fits {names}"
        return f"of {self.members} members {self.minimum} are needed, and so many do not fit at once"
