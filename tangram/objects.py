"""Reads what a user's documents describe: slices, classes, claims, pods."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler_core.codec.documents import Document, InvalidDocument
from scheduler_core.frontends.objects import Objects, decode_objects
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.pool import Pool
from tangram.errors import BadInput
from tangram.program.streams import complain


def read_objects(
    documents: Iterable[Document], driver: str = DEFAULT_DRIVER, *, shows_mistakes: bool = False
) -> Objects:
    """Return what documents describe, and report what MultiNodePools leave out or wait for.

    Shape: ``driver`` is our own; with ``shows_mistakes`` the caller shows pools that cannot be used.
    Raises: BadInput naming file, object, field, value and rule.
    """
    try:
        objects = decode_objects(documents, driver)
    except InvalidDocument as error:
        raise BadInput(str(error)) from error
    for one in objects.multi_node:
        if one.is_mistaken and not shows_mistakes:
            raise BadInput(f"{one.sentences[0]}; nothing of it is published")
        if one.unpublished is None:
            for sentence in one.sentences:
                complain(sentence)
    return objects


def report_left_out(objects: Objects, pools: Iterable[Pool], *, are_devices_shown: bool = False) -> None:
    """Report each device and mixin of slices that is left out, and why.

    Shape: with ``are_devices_shown`` the answer itself has the devices and what makes a pool unusable.
    """
    known: set[str | None] = set()
    for pool in pools:
        known.add(pool.problem)
        for name, rejected in pool.rejected.items():
            known.add(rejected.reason)
            if not are_devices_shown:
                complain(f"pool {pool.id}: {name} is left out: {rejected.reason}")
    for problem in objects.problems():
        if problem not in known:  # a mixin that no device includes, or a pool of another dialect is used
            complain(f"left out: {problem}")
