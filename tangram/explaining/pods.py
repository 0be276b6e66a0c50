"""``tangram explain --pod FILE``: what pods that ask by amounts get on what files describe, and why."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from scheduler_core.frontends.pod_reasons.refused import PodFits, RefusedPod, refused_pod, short_reasons
from scheduler_core.frontends.pods.many_nodes import PodAnswer, place_pods
from scheduler_core.frontends.pods.placer import PodPlacer
from tangram.allocation_input import AllocationInput
from tangram.explaining.asked import asked_in
from tangram.explaining.pod_refusal import refused_pictures, refused_value
from tangram.explaining.pod_why_not import why_not_of_pods
from tangram.face import Face
from tangram.marked import tables_of
from tangram.pictures.advice.pod_funnel import pods_nodes_picture
from tangram.pictures.pods import offered_picture
from tangram.pods import offers_value, pod_pictures, pod_value, read_asked, read_pods, status_of


def explain_pods(options: Namespace, face: Face) -> int:
    """Explain the pods of a file one after another; each holds its devices before the next one is asked."""
    asked = read_asked(options)
    pods = read_pods(options.pods)
    placer, tables = PodPlacer(asked.state), tables_of(asked)
    fits = PodFits(placer=placer, tables=tables)
    if options.why_not is not None:
        return why_not_of_pods(options.why_not, pods, asked, fits).show(face, as_json=options.json)
    answers: list[PodAnswer] = []
    values: list[dict[str, Any]] = []
    pictures: list[RenderableType | str] = []
    for one in place_pods(pods, placer, asked.nodes, tables):  # it holds nothing yet
        refused = _refused(one, asked, fits)
        answers.append(one)
        values.append({**pod_value(one), "offers": offers_value(one), **refused_value(refused)})
        pictures += _pictures(one, refused)
    if options.json:
        face.out.json({"pods": values})
    else:
        face.out.show(*pictures)
    return status_of(answers)


def _refused(one: PodAnswer, asked: AllocationInput, fits: PodFits) -> RefusedPod | None:
    if one.placed is not None or not one.refused:
        return None
    reasons = short_reasons(one.refused)
    return refused_pod(one.ask, fits, asked.nodes, reasons, asked_in(asked).elsewhere)


def _pictures(one: PodAnswer, refused: RefusedPod | None) -> Iterator[RenderableType | str]:
    if refused is None:
        yield from pod_pictures(one)
    else:
        yield Text(f"{one.ask.subject} does not fit", style="bold red")
        yield pods_nodes_picture(refused.groups)
        yield ""
        yield from refused_pictures(refused)
    yield ""
    yield offered_picture(one.ask, one.offers, one.placed)
