"""Publishes pools that no node owns: plans, asks, writes, and compares what was stored. It has no thread.

A server may drop fields whose feature gate is off. Devices that overlap would then all seem free, so such a
pool is not published, and is withdrawn if the server did so only as it stored it. A spec with a mistake
changes nothing: what was published before stays, because claims may hold it. Pools of our own GPUs are in
``own_gpus``.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.pools.own_gpus import OwnGpus, Standing
from controller.pools.ports import PoolWriteFailed, PoolWriteRefused, WritePoolStatus
from controller.pools.status import PoolStatus, status_patch
from controller.pools.writing import FieldsDropped, PoolWriting, published_names
from scheduler_core.base.errors import CoreError
from scheduler_core.frontends.multi_node.pool_object import PoolObject, layouts, read_pool
from scheduler_core.model.pool import Pool
from scheduler_core.publishing.documents import Document
from scheduler_core.publishing.plan import plan
from scheduler_core.publishing.sameness import dropped

_log = logging.getLogger("controller.pools")


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn did.

    Shape: ``failures`` are sentences; without any, nothing is left to do until an object or a slice changes,
           or ``again_s`` have passed, None for no time.
    """

    writes: int
    failures: tuple[str, ...] = ()
    again_s: float | None = None


class PoolPublisher:
    """Publishes what objects say. Used by one thread."""

    def __init__(
        self,
        writing: PoolWriting,
        write_status: WritePoolStatus,
        own_gpus: OwnGpus,
        own_driver: str,
    ) -> None:
        self._writing = writing
        self._write_status = write_status
        self._own_gpus = own_gpus
        self._own_driver = own_driver

    def turn(self, objects: Sequence[Mapping[str, Any]], now: str) -> Turn:
        """Write what is missing and delete what no object says any more.

        Shape: ``objects`` are all MultiNodePools as the server has them, listed once at least; ``now`` is a
               time stamp of the API. One pool's failure keeps no other from being published.
        """
        self._writing.count = 0
        failures: list[str] = []
        waits: list[float] = []
        found = {one["metadata"]["name"]: read_pool(one, self._own_driver) for one in objects}
        for name in sorted(published_names(self._writing.all_stored()) - found.keys()):
            try:
                self._writing.reach(name, ())
            except PoolWriteFailed as error:
                failures.append(str(error))
        for name in sorted(found):
            try:
                standing = self._settled(found[name])
                self._tell(found[name], standing, now)
            except PoolWriteFailed as error:
                failures.append(str(error))
                continue
            failures += [standing.failure] if standing.failure else []
            waits += [] if standing.again_s is None else [standing.again_s]
        return Turn(self._writing.count, tuple(failures), min(waits, default=None))

    def _settled(self, found: PoolObject) -> Standing:
        """Do for one object what can be done now. Raises: PoolWriteFailed."""
        if found.is_own:
            try:
                return self._own_gpus.settle(found)
            except FieldsDropped as error:
                return Standing(str(error), failure=str(error))
            except CoreError as error:
                return Standing(str(error))
        if isinstance(found.content, str):
            return Standing(found.content)
        problem = self._publish(found, found.content)
        # What the server does not take, its administrator may change at any time, unseen.
        return Standing(problem, failure=problem or "")

    def _tell(self, found: PoolObject, standing: Standing, now: str) -> None:
        """Say in an object's status how its pool is. Raises: PoolWriteFailed."""
        if standing.is_gone:
            return
        stored = self._writing.stored(found.name)
        devices = sum(len(one["spec"].get("devices") or ()) for one in stored)
        patch = status_patch(PoolStatus(devices, len(stored), standing.problem), found, now)
        if patch is not None:
            self._writing.count += 1
            self._write_status(found.name, patch)

    def _publish(self, found: PoolObject, pool: Pool) -> str | None:
        """Write the slices of a pool; return why it cannot be published, None where it is."""
        stored = self._writing.stored(found.name)
        choices = list(layouts(found, pool))
        if any(not plan(wanted, stored) for wanted in choices):
            return None
        reasons: list[str] = []
        for wanted in choices:
            try:
                self._writing.ask(wanted)
                self._writing.reach(found.name, wanted)
            except FieldsDropped as error:
                self._withdraw_spoilt(found, wanted)
                return str(error)
            except PoolWriteRefused as error:
                reasons.append(str(error))
                continue
            _log.info("published pool %s: %d devices", found.pool_name, len(pool.devices))
            return None
        return "; ".join(reasons)

    def _withdraw_spoilt(self, found: PoolObject, wanted: Sequence[Document]) -> None:
        """Delete the pool if a slice of it was stored without fields that it was sent with."""
        by_name = {one["metadata"]["name"]: one for one in self._writing.stored(found.name)}
        pairs = ((one, by_name.get(one["metadata"]["name"])) for one in wanted)
        if any(kept is not None and dropped(one, kept) for one, kept in pairs):
            _log.warning("withdraws pool %s: the server dropped fields of its slices", found.pool_name)
            self._writing.reach(found.name, ())
