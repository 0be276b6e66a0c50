"""A share of a GPU under MPS: named and watched, and refused with the reason."""

from __future__ import annotations

from agent.inventory.model import MpsGpu
from plugin.kinds import gpus
from plugin.kinds.kind import Kind
from plugin.machine.seen import SeenHardware
from scheduler_core.frontends.configuration.preparable import NO_MPS_GPU


class MpsGpuKind(Kind[MpsGpu]):
    """A share of a GPU on which programs of several claims run at once."""

    text = "a share of a GPU under MPS"
    why_unprepared = NO_MPS_GPU
    published = MpsGpu

    def why_ill(self, published: MpsGpu, seen: SeenHardware) -> str:
        """Return why the GPU does not answer."""
        return gpus.why_missing([published.gpu], seen)
