"""Annotated claims: what they get, or why nothing and what would help."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.engine.engine import Engine
from scheduler_core.frontends.claims.annotated_advice import advise_marked
from scheduler_core.model.result import Allocation, Unallocatable
from tangram.allocation_input import AllocationInput
from tangram.explaining.asked import asked_in
from tangram.explaining.refusal import refusal_told
from tangram.explaining.remedies import remedies_value
from tangram.face import DOES_NOT_FIT, DONE
from tangram.marked import marked_question
from tangram.pictures.advice.remedies import marked_remedies_picture
from tangram.pictures.allocation import allocation_picture, refusal_picture
from tangram.plain import plain
from tangram.program.fitting import Hanging
from tangram.refusals import refusal_value
from tangram.told import Told

_BY = "annotations: the closest devices, the best partition"
_FIRST_WITHOUT = (
    "The claims have annotations, which nothing above considers: they do not fit even without them. Explain "
    "them again once that is mended."
)


def marked_refusal_told(found: Unallocatable, asked: AllocationInput, engine: Engine, width: int) -> Told:
    """Return why annotated claims fit nowhere. Shape: ``width`` of the terminal in columns.

    Claims that do not fit without their annotations either are explained without them.
    """
    plainly = engine.allocate_somewhere(asked.objects.claims, asked.nodes)
    if isinstance(plainly, Unallocatable):
        told = refusal_told(plainly, asked_in(asked), engine, width)
        value = {**told.value, "withoutAnnotations": None}
        return Told(told.status, value, (*told.pictures, "", Hanging(_FIRST_WITHOUT, 0)))
    remedies = advise_marked(marked_question(asked), engine)
    fits = f"without annotations: fits on {plainly.node}" if isinstance(plainly, Allocation) else ""
    pictures: list[RenderableType] = [refusal_picture(found)]
    if fits:
        pictures.append(Text(f"  {fits}"))
    value = {**refusal_value(found), "withoutAnnotations": plainly.node if fits else None}
    value["remedies"] = remedies_value(remedies)
    return Told(DOES_NOT_FIT, value, (*pictures, "", marked_remedies_picture(remedies)))


def marked_choice_told(
    found: Allocation,
    asked: AllocationInput,
    refused: Sequence[str],
    lines: Sequence[RenderableType],
    width: int,
) -> Told:
    """Return what annotated claims get: no policy was involved.

    Shape: ``refused`` is what the plugin would not prepare, ``lines`` say it.
    """
    value = {
        "allocated": True,
        "node": found.node,
        "chosenBy": _BY,
        "allocation": plain(found.results),
        "refusedAtPrepare": plain(refused),
    }
    cluster = asked.cluster
    picture = allocation_picture(found, cluster.pools, cluster.allocated, width)
    return Told(DONE, value, (picture, "", f"chosen by {_BY}", *lines))
