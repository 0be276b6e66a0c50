"""What the threads do that listen: one to the server's objects of a kind, one to the machine.

No failure ends them before they are told to end.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from agent.publishing.errors import NotThere, ServerError
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Hear, Interrupted, News, Shelf, WatchMessage

_RETRY_S: Final = 10.0
_UNINSTALLED_S: Final = 60.0
_BEGINNING: Final = "storage is (re)initializing"
"""What a server answers for a moment when a kind is new. Source: its watch cache, apiserver's cacher.go."""
_log = logging.getLogger("agent.publishing")


def follow(
    shelf: Shelf,
    hear: Callable[[WatchMessage], None],
    metrics: Metrics,
    *,
    ended: threading.Event,
    slow_s: float,
) -> None:
    """Keep the documents of ``shelf`` up to date until ``ended``, and pass every message on to ``hear``.

    Units: ``slow_s`` seconds between attempts at what people must mend.
    """
    told = ""
    while not ended.is_set():
        try:
            is_broken = False
            for message in shelf.changes(ended):
                told = ""
                is_broken = _note(shelf, message, metrics, is_broken)
                hear(message)
        except NotThere as error:
            told = _tell(shelf, f"{error}; they are published once it is installed", told)
            ended.wait(_UNINSTALLED_S)
            continue
        except ServerError as error:
            told = _tell(shelf, f"{error}; it is retried", told)
            ended.wait(_RETRY_S)
            continue
        except Exception:  # noqa: BLE001 - the outermost loop of a thread: without it nobody watches
            _log.exception(
                "unexpected error while watching %ss; it is retried, please report this", shelf.kind
            )
        ended.wait(slow_s)


def _note(shelf: Shelf, message: WatchMessage, metrics: Metrics, is_broken: bool) -> bool:
    """Log a broken watch once, until it works again; return whether it is broken."""
    if not isinstance(message, Interrupted):
        return False
    metrics.count("watch_interruptions_total", kind=shelf.kind)
    is_usual = is_broken or _BEGINNING in message.reason
    level = logging.DEBUG if is_usual else logging.INFO
    _log.log(level, "the watch of %ss broke: %s", shelf.kind, message.reason)
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
