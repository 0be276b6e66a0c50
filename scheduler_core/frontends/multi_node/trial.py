"""MultiNodePools among a user's objects: what the controller would publish of them, were they applied now.

Takes the objects with the slices and claims beside them; returns the slices that there would be. The rules
are those of ``controller.pools``: a pool with a mistake changes nothing, a published pool of our own GPUs
does not change, and GPUs that a node still publishes cannot be allocated in the pool, so no GPU counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler_core.base.errors import CannotProject
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec import v1
from scheduler_core.dialects.layout import Layout
from scheduler_core.dialects.mixins import flatten
from scheduler_core.dialects.project import project
from scheduler_core.frontends.multi_node.closing import CHANGED, closed, is_begun
from scheduler_core.frontends.multi_node.in_use import minors_by_node, why_not_withheld, why_taken
from scheduler_core.frontends.multi_node.pool_object import KIND, PoolObject, layouts, of_pool
from scheduler_core.model.claim import AllocatedClaim
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.publishing.documents import Document, name_of
from scheduler_core.publishing.plan import generation_of


@dataclass(frozen=True, slots=True)
class TriedPool:
    """A MultiNodePool and the slices that the controller would publish for it.

    Shape: ``slices`` are those that its pool would have; ``problem`` says why they are not what the object
           says, or cannot be allocated yet, None if neither; it ``is_waiting`` if only for nodes and claims;
           ``note`` is what was left out or is not known, else empty.
    """

    object: PoolObject
    slices: tuple[Document, ...] = ()
    problem: str | None = None
    note: str = ""
    is_waiting: bool = False

    @property
    def is_mistaken(self) -> bool:
        """Whether the object has a mistake, so that nothing of it is published."""
        return isinstance(self.object.content, str)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the problem and the note, each with the object that it is about."""
        subject = f"{KIND} {self.object.name}"
        said = (one for one in (self.problem, self.note) if one)
        return tuple(f"{subject}: {one.removeprefix(f'{subject}: ')}" for one in said)

    @property
    def unpublished(self) -> Pool | None:
        """Return what is known of the pool of a mistaken object; None if it has slices or cannot be read."""
        if self.slices or not self.is_mistaken or self.object.composite is None:
            return None
        return replace(flatten([self.object.composite]), problem=self.problem)


def tried_pools(
    objects: Sequence[PoolObject],
    stored: Sequence[Document],
    pools: Mapping[PoolId, Pool],
    claims: Sequence[AllocatedClaim],
) -> tuple[TriedPool, ...]:
    """Return what the controller would publish for each object if they were applied in this order.

    Shape: ``stored`` are the v1 slices of pools that no node owns, ``pools`` all others.
    """
    tried: list[TriedPool] = []
    for one in objects:
        mine = of_pool(one.name, stored)
        if isinstance(one.content, str):
            tried.append(TriedPool(one, mine, one.content))
        elif not one.is_own:
            tried.append(_of_another_driver(one, one.content, mine))
        elif mine:
            # As the controller does: what claims may have is not changed under them.
            is_same = any(is_begun(closed(wanted), mine) for wanted in layouts(one, one.content))
            tried.append(TriedPool(one, mine, None if is_same else CHANGED))
        else:
            published = [*stored, *(each for other in tried for each in other.slices)]
            tried.append(_of_own_gpus(one, one.content, published, pools, claims))
    return tuple(tried)


def _of_another_driver(found: PoolObject, pool: Pool, stored: Sequence[Document]) -> TriedPool:
    wanted = next(layouts(found, replace(pool, generation=1 + max(map(generation_of, stored), default=0))))
    if not stored or (len(stored) == len(wanted) and is_begun(wanted, stored)):
        return TriedPool(found, wanted)
    names = ", ".join(map(name_of, stored))
    return TriedPool(found, wanted, note=f"its pool replaces the ResourceSlices of its name: {names}")


def _of_own_gpus(
    found: PoolObject,
    pool: Pool,
    published: Iterable[Document],
    pools: Mapping[PoolId, Pool],
    claims: Sequence[AllocatedClaim],
) -> TriedPool:
    driver = pool.id.driver
    taken = why_taken(found, published, driver)
    if taken is not None:
        return TriedPool(found, problem=taken)
    wanted = next(layouts(found, pool))
    unknown: list[str] = []
    for node, minors in minors_by_node(found.members).items():
        of_node = pools.get(PoolId(driver, node))
        if of_node is None:
            unknown.append(node)
            continue
        problem = why_not_withheld(node, minors, _slices(of_node), claims, driver)
        if problem is not None:
            problem = f"no one can allocate its devices yet: {problem}"
            return TriedPool(found, closed(wanted), problem, is_waiting=True)
    names = ", ".join(unknown)
    note = f"whether the GPUs are free on {names} is not known: no slice of {driver} on these nodes is given"
    return TriedPool(found, wanted, note=note if unknown else "")


def _slices(pool: Pool) -> tuple[Document, ...]:
    """Return the slices of a node's pool; none of an incomplete one, of which nothing is certain."""
    if not pool.is_complete or pool.problem is not None:
        return ()
    try:
        return v1.encode_pool(
            project(pool) if any(one.parents for one in pool.devices) else pool, Layout.SEPARATE
        )
    except CannotProject:
        return ()
