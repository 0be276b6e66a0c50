"""Pools of our own GPUs: the order in which GPUs leave the pool of their node for one of several nodes.

Takes objects; makes the writes that are safe now, and returns what a pool waits for. At no moment may a
scheduler allocate a GPU in both pools (docs/decisions/0065-gpus-of-many-nodes.md). It has no thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from controller.pools.ports import InUse, PoolWriteRefused, WriteFinalizers
from controller.pools.writing import FieldsDropped, PoolWriting
from scheduler_core.frontends.multi_node.closing import CHANGED, closed, is_begun, opened
from scheduler_core.frontends.multi_node.in_use import minors_by_node, why_held, why_not_withheld, why_taken
from scheduler_core.frontends.multi_node.pool_object import FINALIZER, PoolObject, layouts
from scheduler_core.model.pool import Pool
from scheduler_core.publishing.plan import plan

_log = logging.getLogger("controller.pools")
AGAIN_S: Final = 5.0
"""How soon a pool that waits for others is looked at again."""
SETTLE_S: Final = 3.0
"""How long GPUs must be free before they change pools: kube-scheduler may write what it decided before."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a pool is.

    Shape: ``problem`` why not all of it is published and can be allocated, None where it is; ``again_s`` when
           to look again, None for when something changes; ``is_gone`` once nothing is left of it;
           ``failure`` what the server did not take, which is tried again, empty where it took all.
    """

    problem: str | None = None
    again_s: float | None = None
    is_gone: bool = False
    failure: str = ""


class OwnGpus:
    """Used by one thread. Units: ``clock`` counts seconds."""

    def __init__(
        self,
        writing: PoolWriting,
        *,
        in_use: InUse,
        write_finalizers: WriteFinalizers,
        driver: str,
        clock: Callable[[], float],
    ) -> None:
        self._writing = writing
        self._in_use = in_use
        self._write_finalizers = write_finalizers
        self._driver = driver
        self._clock = clock
        self._free_since: dict[str, float] = {}

    def settle(self, found: PoolObject) -> Standing:
        """Do for one object what is safe now. Raises: FieldsDropped, PoolWriteFailed."""
        if found.is_leaving:
            return self._withdraw(found)
        if isinstance(found.content, str):
            return Standing(found.content)
        if (standing := self._reserve(found, found.content)) is not None:
            return standing
        wanted = opened(self._writing.stored(found.name))
        if not plan(wanted, self._writing.stored(found.name)):
            return Standing()
        waits = self._waits(found.name, lambda: self._why_not_free(found))
        if waits is not None:
            return waits
        self._writing.reach(found.name, wanted)
        _log.info("published pool %s: its devices can be allocated", found.pool_name)
        return Standing()

    def _reserve(self, found: PoolObject, pool: Pool) -> Standing | None:
        """Store the pool's slices with the taint, from which agents read what to withhold.

        Returns why they are not stored, None where they are.
        """
        stored = self._writing.stored(found.name)
        choices = [closed(one) for one in layouts(found, pool)]
        if stored:
            begun = next((one for one in choices if is_begun(one, stored)), None)
            if begun is None:
                return Standing(CHANGED)
            if plan(opened(begun), stored) and plan(begun, stored):
                self._writing.reach(found.name, begun)  # a write failed half-way
            return None
        if (taken := why_taken(found, self._writing.all_stored(), self._driver)) is not None:
            return Standing(taken)
        if FINALIZER not in found.finalizers:
            self._writing.count += 1
            self._write_finalizers(found.name, (*found.finalizers, FINALIZER), found.version)
        reasons: list[str] = []
        for wanted in choices:
            try:
                self._writing.ask(wanted)
                self._writing.reach(found.name, wanted)
            except FieldsDropped:
                self._writing.reach(found.name, ())  # without taint or counters anybody could allocate them
                raise
            except PoolWriteRefused as error:
                reasons.append(str(error))
                continue
            return None
        problem = "; ".join(reasons)
        return Standing(problem, failure=problem)

    def _withdraw(self, found: PoolObject) -> Standing:
        """Close the pool; once no claim has a device of it, delete its slices and let the object go."""
        stored = self._writing.stored(found.name)
        if stored:
            self._writing.reach(found.name, closed(stored))
        if FINALIZER not in found.finalizers:
            return Standing("it is deleted: others keep the object", is_gone=not stored)
        waits = self._waits(found.name, lambda: self._why_held(found))
        if waits is not None:
            return waits
        self._writing.reach(found.name, ())
        self._writing.count += 1
        rest = tuple(one for one in found.finalizers if one != FINALIZER)
        self._write_finalizers(found.name, rest, found.version)
        self._free_since.pop(found.name, None)
        _log.info("withdrew pool %s", found.pool_name)
        return Standing(is_gone=True)

    def _waits(self, name: str, why_not: Callable[[], str | None]) -> Standing | None:
        """Return what a pool waits for; None once nothing was in the way for some time, and is not now."""
        problem = why_not()
        if problem is not None:
            self._free_since.pop(name, None)
            return Standing(problem, AGAIN_S)
        left_s = self._free_since.setdefault(name, self._clock()) + SETTLE_S - self._clock()
        if left_s > 0:
            return Standing("its GPUs are free; allocations that were decided before are waited for", left_s)
        self._in_use.refresh()
        problem = why_not()
        self._free_since.pop(name, None)
        return None if problem is None else Standing(problem, AGAIN_S)

    def _why_not_free(self, found: PoolObject) -> str | None:
        for node, minors in minors_by_node(found.members).items():
            slices, claims = self._in_use.slices_of(node), self._in_use.claims()
            problem = why_not_withheld(node, minors, slices, claims, self._driver)
            if problem is not None:
                return problem
        return None

    def _why_held(self, found: PoolObject) -> str | None:
        problem = why_held(found.pool_name, self._in_use.claims(), self._driver)
        return None if problem is None else f"it is deleted, and {problem}"
