"""The loops of the threads that watch the API server's objects of a kind, and listen to the machine.

No failure ends these loops; only ``ended`` does.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from agent.publishing.errors import NotThere, ServerError
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Hear, Interrupted, MachineEvents, Watched, WatchMessage

_RETRY_S: Final = 10.0
_UNINSTALLED_S: Final = 60.0
_BEGINNING: Final = "storage is (re)initializing"
"""The answer of a server shortly after a kind was installed. Source: apiserver's cacher.go (watch cache)."""
_log = logging.getLogger("agent.publishing")


def follow(
    store: Watched,
    hear: Callable[[WatchMessage], None],
    metrics: Metrics,
    *,
    ended: threading.Event,
    slow_s: float,
) -> None:
    """Keep ``store`` up to date until ``ended``, and pass every message on to ``hear``.

    Units: ``slow_s`` seconds between attempts after failures that people must fix.
    """
    logged = ""
    while not ended.is_set():
        try:
            is_broken = False
            for message in store.changes(ended):
                logged = ""
                is_broken = _note(store, message, metrics, is_broken)
                hear(message)
        except NotThere as error:
            logged = _log_once(store, f"{error}; they are published once it is installed", logged)
            ended.wait(_UNINSTALLED_S)
            continue
        except ServerError as error:
            logged = _log_once(store, f"{error}; it is retried", logged)
            ended.wait(_RETRY_S)
            continue
        except Exception:  # noqa: BLE001 - the outermost loop of a thread: watching must go on
            _log.exception(
                "unexpected error while watching %ss; it is retried, please report this", store.kind
            )
        ended.wait(slow_s)


def _note(store: Watched, message: WatchMessage, metrics: Metrics, is_broken: bool) -> bool:
    """Log a broken watch once, until it works again; return whether it is broken."""
    if not isinstance(message, Interrupted):
        return False
    metrics.count("watch_interruptions_total", kind=store.kind)
    is_usual = is_broken or _BEGINNING in message.reason
    level = logging.DEBUG if is_usual else logging.INFO
    _log.log(level, "the watch of %ss broke: %s", store.kind, message.reason)
    return is_broken or not is_usual


def _log_once(store: Watched, why: str, logged: str) -> str:
    text = f"{store.kind}s cannot be watched: {why}"
    if text != logged:
        _log.warning(text)
    return text


def listen(machine_events: MachineEvents, hear: Hear, ended: threading.Event, slow_s: float) -> None:
    """Pass on the machine's events until ``ended``; without events only the timer starts a discovery."""
    while not ended.is_set():
        try:
            machine_events.listen(hear, ended)
        except Exception:  # noqa: BLE001 - the outermost loop of a thread
            _log.exception(
                "unexpected error while listening for device events; discovery still runs every %g s, "
                "please report this",
                slow_s,
            )
        ended.wait(slow_s)
