"""What must have happened before the commands of some blocks of a page print what the page says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

from pages.sessions import Shell
from pages.worlds import cluster, node

WORLDS: Final[Mapping[str, Callable[[Shell], AbstractContextManager[Any]]]] = {
    "": nullcontext,
    "busy GPU": node.busy_gpu,
    "damaged record": node.damaged_record,
    "instance left": node.instance_left,
    "lost GPU": node.lost_gpu,
    "node in use": cluster.node_in_use,
    "pods that wait": cluster.pods_that_wait,
    "program left": node.program_left,
    "rebooted": node.rebooted,
}
