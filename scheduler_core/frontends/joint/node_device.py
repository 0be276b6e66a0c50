"""Node devices: the GPUs and cards of a node, from which the front ends choose.

A node device has its place in the topology and the pool devices that it takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.books.usage import Share
from scheduler_core.model.device import DeviceId
from scheduler_core.rules.scopes import Scope
from scheduler_core.state.places import Place


@dataclass(frozen=True, slots=True)
class Take:
    """One pool device that a node device consists of. Shape: ``type`` as it is published."""

    device: DeviceId
    place: Place
    share: Share | None = None
    type: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDevice:
    """A GPU, a NIC or another card.

    Shape: ``number`` is its minor, or its index among devices of its kind; ``pcie`` and ``numa`` are its
           scopes, None where unknown; ``switches`` are those above it, the topmost first; ``is_touched``
           where some part of it is in use; ``is_free`` where it can be chosen, else ``why`` is the reason;
           ``takes`` are its pool devices, empty where it is not free and where its caller counts them;
           ``score`` ranks devices that are equally close, the highest first; ``index`` is the caller's own
           number for it; ``given`` are the amounts that it gives, by resource name; ``order`` is the rank
           among devices that are otherwise equal.
    """

    kind: str
    number: int
    pcie: Scope | None = None
    numa: Scope | None = None
    switches: tuple[str, ...] = ()
    is_touched: bool = False
    is_free: bool = False
    takes: tuple[Take, ...] = ()
    why: str = ""
    score: int = 0
    index: int = 0
    given: Mapping[str, int] = field(default_factory=dict)
    order: tuple[int, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", (-self.score, self.number))
