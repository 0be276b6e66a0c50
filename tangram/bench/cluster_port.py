"""What a run of the cluster benchmark needs: the cluster, a clock, and how much to measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from tangram.live_cluster import Document, LiveCluster

__all__ = ["DRIVER", "NAMESPACE", "Bench", "Document"]

NAMESPACE: Final = "tangram-system"
DRIVER: Final = "tangram.dev"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The surroundings of a run.

    Shape: ``beside`` another driver to measure along, None without; ``count`` pods of each kind; ``loaded``
           pods for the scheduler; ``kubectl`` returns what the program printed; ``say`` is called with
           what is being measured.
    Units: ``clock`` counts seconds, ``rest_s`` seconds.
    """

    cluster: LiveCluster
    kubectl: Callable[..., str]
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    say: Callable[[str], None]
    namespace: str
    beside: str | None = None
    count: int = 50
    starts: int = 5
    loaded: int = 300
    rest_s: float = 60.0
