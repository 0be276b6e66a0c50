"""Why pods that ask by amounts get no devices, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.frontends.pod_reasons.refused import RefusedPod
from tangram.explaining.remedies import remedies_value
from tangram.pictures.advice.pod_funnel import pod_funnels_picture
from tangram.pictures.advice.remedies import pod_remedies_picture
from tangram.plain import plain


def refused_value(refused: RefusedPod | None) -> dict[str, Any]:
    """Return why a pod gets nothing, for programs."""
    if refused is None:
        return {}
    groups = [{"count": len(one.nodes), "nodes": list(one.nodes), "why": one.why} for one in refused.groups]
    remedies = remedies_value(refused.remedies)
    return {"nodes": groups, "funnels": plain(refused.funnels), "remedies": remedies}


def refused_pictures(refused: RefusedPod) -> Iterator[RenderableType]:
    """Yield how many devices each thing leaves that a pod asks, and what would help."""
    yield pod_funnels_picture(refused.funnels)
    yield Text("")
    yield pod_remedies_picture(refused.remedies)
