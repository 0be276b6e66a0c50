"""``tangram top --watch``: draws a cluster anew after each change, until Ctrl-C."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Event, Thread
from typing import Any, NamedTuple

from scheduler_core.frontends.occupancy.to_json import cluster_json
from scheduler_core.frontends.occupancy.values import ClusterOccupancy
from tangram.errors import BadInput
from tangram.face import DONE, Face
from tangram.live_cluster import ClusterEvent, LiveCluster
from tangram.program.streams import complain
from tangram.top.cluster import READINGS, TopCluster
from tangram.top.shown import narrowed, pictures


class _Heard(NamedTuple):
    """An event of one kind; the failure that ended its watch; or neither, where that is over."""

    kind: str
    event: ClusterEvent[Any] | None = None
    failure: BadInput | None = None


def watch(options: Namespace, face: Face) -> int:
    """Draw the cluster now and after each change. Raises: BadInput where it cannot be watched."""
    cluster = face.live(options.kubeconfig, options.context)
    known, shown, stop = TopCluster(), None, Event()
    try:
        for heard in _batches(cluster, stop):
            for one in heard:
                _take(one, known)
            if known.is_known:
                found = narrowed(known.occupancy(), options, is_first=shown is None)
                if found != shown:
                    _draw(found, options, face)
                    shown = found
    finally:
        stop.set()
    return DONE


def _take(one: _Heard, known: TopCluster) -> None:
    if one.failure is not None:
        raise one.failure
    if one.event is not None:
        for sentence in known.take(one.kind, one.event):
            complain(sentence)


def _batches(cluster: LiveCluster, stop: Event) -> Iterator[list[_Heard]]:
    """Yield what was heard since the last time, until every watch is over."""
    inbox: SimpleQueue[_Heard] = SimpleQueue()
    for kind in READINGS:
        Thread(target=_follow, args=(cluster, kind, stop, inbox), name=f"top-{kind}", daemon=True).start()
    running = len(READINGS)
    while running:
        heard = [inbox.get()]
        try:
            while True:
                heard.append(inbox.get_nowait())
        except Empty:
            running -= sum(one.event is None for one in heard)
            yield heard


def _follow(cluster: LiveCluster, kind: str, stop: Event, inbox: SimpleQueue[_Heard]) -> None:
    try:
        for event in cluster.events(kind, READINGS[kind], stop):
            inbox.put(_Heard(kind, event))
    except BadInput as error:
        inbox.put(_Heard(kind, failure=error))
    else:
        inbox.put(_Heard(kind))


def _draw(found: ClusterOccupancy, options: Namespace, face: Face) -> None:
    if options.json:
        face.out.json_line(cluster_json(found))
    else:
        face.out.again(*pictures(found, options, face))
