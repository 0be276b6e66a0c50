"""The mixes of B9: which kinds of claims come, how often, to which machines, and for how long they stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from tangram.bench.placement.kinds import (
    A100,
    H100,
    Kind,
    gpu_or_partition,
    partition,
    same_gpu,
    seed_claim,
    share_of_gpu,
    small_gpu_partition,
    unshared_gpu,
    whole,
    with_nic,
    with_vf,
)

Stay = Callable[[Random], float]
"""How long a claim stays. Units: mean times that a claim stays."""


def exponential(chance: Random) -> float:
    """Return a time without memory."""
    return chance.expovariate(1)


def heavy_tailed(chance: Random) -> float:
    """Return a time of which a few are very long."""
    return chance.lognormvariate(-1.125, 1.5)  # the mean is 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """One mix.

    Shape: ``shares`` has how often each of ``kinds`` comes, ``later`` how often at the end of the trace
           (None: as at its start); ``machine`` a shipped machine; ``batch`` how many equal claims
           come at once in the mean; ``longer`` how many times as long claims of a whole GPU or more
           stay; ``is_shared``: half of a node's GPUs serve many claims.
    """

    kinds: Sequence[Kind]
    shares: Sequence[float]
    later: Sequence[float] | None = None
    machine: str = "dgx-a100"
    batch: float = 1.0
    stay: Stay = exponential
    longer: float = 1.0
    is_shared: bool = False

    def stretch(self, kind: Kind) -> float:
        """Return how many times as long as others a claim stays."""
        return self.longer if kind.weight >= 1 else 1.0


_SINGLE: Final = tuple(map(partition, A100))
_ALSO_WHOLE: Final = (*_SINGLE, whole(1))
_SMALL: Final = tuple(map(partition, ("1g", "2g", "3g")))

B9_MIXES: Final[dict[str, Mix]] = {
    "uniform": Mix(kinds=_SINGLE, shares=(1, 1, 1, 1, 1, 1)),
    "small": Mix(kinds=_SINGLE, shares=(5, 2, 3, 1, 0.5, 0.5)),
    "mid": Mix(kinds=_SINGLE, shares=(1, 1, 2, 3, 2, 0.5)),
    "large": Mix(kinds=_SINGLE, shares=(1, 0.5, 1, 2, 2, 2)),
}
"""Claims for one partition of any profile."""

MIXES: Final[dict[str, Mix]] = {
    **B9_MIXES,
    "GPUs and the smallest": Mix(kinds=(whole(1), partition("1g")), shares=(0.8, 0.2)),
    "halves and wholes": Mix(kinds=tuple(map(partition, ("7g", "4g", "3g"))), shares=(1, 1, 1)),
    "KEP-4815's claim": Mix(kinds=(seed_claim(), *_SMALL), shares=(0.3, 0.3, 0.2, 0.2)),
    "several on one GPU": Mix(
        kinds=(
            same_gpu("3g", 2),
            same_gpu("1g", 3),
            same_gpu("2g", 2),
            partition("1g"),
            partition("4g"),
        ),
        shares=(1, 1, 1, 1, 1),
    ),
    "firstAvailable": Mix(
        kinds=(gpu_or_partition("3g"), *map(partition, ("1g", "2g", "7g"))), shares=(0.3, 0.3, 0.2, 0.2)
    ),
    "with NICs and VFs": Mix(
        kinds=(with_nic(), with_vf("1g"), with_vf("2g"), with_vf("3g"), partition("1g")),
        shares=(0.2, 0.3, 0.2, 0.2, 0.1),
    ),
    "shares": Mix(
        kinds=(share_of_gpu(5), share_of_gpu(10), share_of_gpu(20), *_SMALL, unshared_gpu()),
        shares=(3, 2, 1, 3, 2, 1, 1),
        is_shared=True,
    ),
    "8 GPUs beside small": Mix(kinds=(whole(8), *_SMALL), shares=(0.05, 0.4, 0.3, 0.25)),
    "long 8 GPUs": Mix(kinds=(whole(8), *_SMALL, whole(1)), shares=(0.03, 0.4, 0.3, 0.2, 0.07), longer=4.0),
    "4 GPUs beside small": Mix(
        kinds=(whole(4), whole(1), partition("1g"), partition("3g")), shares=(0.1, 0.2, 0.4, 0.3)
    ),
    "8, 4, 2 and 1 GPUs": Mix(kinds=(whole(8), whole(4), whole(2), whole(1)), shares=(0.1, 0.15, 0.25, 0.5)),
    "heavy-tailed": Mix(kinds=_ALSO_WHOLE, shares=(2, 1, 2, 2, 1, 1, 1), stay=heavy_tailed),
    "batches": Mix(kinds=_ALSO_WHOLE, shares=(2, 1, 2, 2, 1, 1, 1), batch=6.0),
    "drifting": Mix(kinds=_ALSO_WHOLE, shares=(6, 2, 3, 1, 0.3, 0.2, 0.2), later=(0.5, 0.2, 0.5, 2, 2, 2, 2)),
    "H100": Mix(
        kinds=tuple(partition(profile, H100) for profile in H100),
        shares=(1, 1, 2, 3, 2, 0.5),
        machine="hgx-h100",
    ),
    "A30": Mix(
        kinds=(
            small_gpu_partition("1g.6gb", 1),
            small_gpu_partition("2g.12gb", 2),
            small_gpu_partition("4g.24gb", 4),
        ),
        shares=(0.5, 0.3, 0.2),
        machine="a30x4",
    ),
}
