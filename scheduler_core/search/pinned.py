"""Limits requests of a problem to devices that were chosen beforehand."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from scheduler_core.model.device import DeviceId
from scheduler_core.model.pool import Pool
from scheduler_core.search.depth_first import Problem, SearchRequest

Pins = Mapping[int, Collection[DeviceId]]
"""The devices that some requests must get, by the number of the request among those of all claims."""


def pinned(problem: Problem, pins: Pins, pools: Sequence[Pool]) -> Problem:
    """Return the problem with some requests limited to the chosen devices; each gets all of its own.

    Shape: only requests with one alternative are pinned.
    """
    requests = []
    for number, request in enumerate(problem.requests):
        mine = pins.get(number)
        if mine is None:
            requests.append(request)
            continue
        (alternative,) = request.alternatives
        chosen = tuple(
            one for one in alternative.candidates if pools[one.offer.pool].id_of(one.offer.device) in mine
        )
        limited = replace(alternative, count=len(mine), candidates=chosen, kind=("pinned", number))
        requests.append(SearchRequest(request.claim, (limited,)))
    return replace(problem, requests=tuple(requests))
