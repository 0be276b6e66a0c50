"""PURE: a foreign instance of this node, as people are told of it and as the mark on devices names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from agent.inventory.foreign.rule import ForeignInstance
from agent.inventory.foreign.texts import foreign_text, of_no_claim
from agent.inventory.names import gpu_name
from agent.inventory.numbers.numbering import NumberedGpu
from scheduler_core.model.device import DeviceName
from scheduler_core.model.taints import Effect, Taint

FOREIGN: Final = "tangram.dev/foreign-mig-instance"
"""The key of the taint on devices that overlap a foreign instance; its value names the instance."""
OF_UNREADABLE: Final = "tangram.dev/mig-instance-of-unreadable-record"
"""The key where the instance may be that of a claim whose record cannot be read."""
_RELEASE: Final = "tangram plugin release lists them"


@dataclass(frozen=True, slots=True)
class FoundForeign:
    """A foreign instance on a GPU of this node.

    Shape: ``may_be_of`` the UIDs of the claims whose records cannot be read, so that it may be theirs.
    """

    gpu: NumberedGpu
    what: ForeignInstance
    may_be_of: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return its name as the value of a taint: ``gpu-0-gi-7``, ``gpu-0-gi-7-ci-1``."""
        name = f"{gpu_name(self.gpu.number)}-gi-{self.what.instance.gi_id}"
        return name if self.what.compute is None else f"{name}-ci-{self.what.compute.ci_id}"

    @property
    def taint(self) -> Taint:
        """Return the mark of the devices that overlap it."""
        return Taint(OF_UNREADABLE if self.may_be_of else FOREIGN, self.name, Effect.NO_SCHEDULE)

    @property
    def sentence(self) -> str:
        """Return what it is and who acts: what the plugin says to a claim that it is in the way of."""
        what = foreign_text(self.what)
        if self.may_be_of:
            found = f"{what} exists, and no record that can be read names it"
            first, *others = self.may_be_of
            more = f" or of {len(others)} more" if others else ""
            act = f"it may be held by a record that cannot be read, of claim {first}{more} ({_RELEASE})"
        else:
            found, act = of_no_claim(what), f"who made it destroys it ({self.command})"
        return f"{gpu_name(self.gpu.number)}: {found}; {act}"

    @property
    def command(self) -> str:
        """Return what destroys it, for who made it."""
        instance = self.what.instance
        at = f"nvidia-smi mig -i {self.gpu.bdf} -gi {instance.gi_id}"
        if self.what.compute is not None:
            return f"{at} -ci {self.what.compute.ci_id} -dci"
        return f"{at} -dci; {at} -dgi" if instance.compute_instances else f"{at} -dgi"


@dataclass(frozen=True, slots=True)
class InTheWay:
    """The foreign instances of a node.

    Shape: ``devices`` those that overlap one, by their composite names.
    """

    instances: tuple[FoundForeign, ...] = ()
    devices: Mapping[DeviceName, FoundForeign] = field(default_factory=dict)


NOTHING: Final = InTheWay()
"""Nothing is foreign."""
