"""Work that is repeated on a thread of its own while the plugin serves."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_GOODBYE_S: Final = 5.0
_log = logging.getLogger(__name__)


@contextmanager
def repeated(name: str, every_s: float, deed: Callable[[], object]) -> Iterator[None]:
    """Do a deed again and again while the block runs. One that hangs does not keep the block from ending.

    Units: ``every_s`` seconds between two of them.
    """
    over = threading.Event()

    def run() -> None:
        while not over.wait(every_s):
            try:
                deed()
            except Exception:  # noqa: BLE001 - the outermost loop: it must go on
                _log.exception("%s failed and is tried again", name)

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(_GOODBYE_S)
