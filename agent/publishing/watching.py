"""The bodies of the threads that listen: to a shelf, and to the machine. They outlive every failure."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from agent.publishing.errors import NotThere, ServerError
from agent.publishing.known import Known
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Change, Hear, Interrupted, News, Shelf

_RETRY_S: Final = 10.0
_UNINSTALLED_S: Final = 60.0
_BEGINNING: Final = "storage is (re)initializing"
"""What a server answers for a moment when a kind is new. Source: its watch cache, apiserver's cacher.go."""
_log = logging.getLogger("agent.publishing")


def follow(
    shelf: Shelf,
    known: Known,
    hear: Callable[[Change, bool], None],
    metrics: Metrics,
    *,
    ended: threading.Event,
    slow_s: float,
) -> None:
    """Keep ``known`` up to date until ``ended``, telling ``hear`` each change and whether it was news.

    Units: ``slow_s`` seconds between attempts at what people must mend.
    """
    told = ""
    while not ended.is_set():
        try:
            is_broken = False
            for change in shelf.changes(ended):
                told = ""
                is_broken = _note(shelf, change, metrics, is_broken)
                hear(change, known.hear(change))
        except NotThere as error:
            told = _tell(shelf, f"{error}; they are published once it is installed", told)
            ended.wait(_UNINSTALLED_S)
            continue
        except ServerError as error:
            told = _tell(shelf, f"{error}; it is retried", told)
            ended.wait(_RETRY_S)
            continue
        except Exception:  # noqa: BLE001 - the outermost loop of a thread: without it nobody watches
            _log.exception("watching %ss failed in a way nobody foresaw", shelf.kind)
        ended.wait(slow_s)


def _note(shelf: Shelf, change: Change, metrics: Metrics, is_broken: bool) -> bool:
    """Say that a watch broke, once until it tells something again; return whether it is broken."""
    if not isinstance(change, Interrupted):
        return False
    metrics.count("watch_interruptions_total", kind=shelf.kind)
    is_usual = is_broken or _BEGINNING in change.reason
    level = logging.DEBUG if is_usual else logging.INFO
    _log.log(level, "the watch of %ss broke: %s", shelf.kind, change.reason)
    return is_broken or not is_usual


def _tell(shelf: Shelf, why: str, told: str) -> str:
    text = f"{shelf.kind}s cannot be watched: {why}"
    if text != told:
        _log.warning(text)
    return text


def listen(news: News, hear: Hear, ended: threading.Event, slow_s: float) -> None:
    """Pass on the machine's news until ``ended``; without them the slow timer remains."""
    while not ended.is_set():
        try:
            news.listen(hear, ended)
        except Exception:  # noqa: BLE001 - the outermost loop of a thread
            _log.exception("listening to the machine failed; it is looked at every %g s", slow_s)
        ended.wait(slow_s)
