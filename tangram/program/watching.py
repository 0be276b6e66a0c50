"""Shows something again each time it has changed, until the user ends it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from tangram.errors import Unreachable
from tangram.program.streams import complain

Seen = TypeVar("Seen")
INTERVAL_S: Final = 2.0


def watch(look: Callable[[], Seen], show: Callable[[Seen], None], sleep: Callable[[float], None]) -> None:
    """Look every two seconds and show what is seen where it differs from the last time.

    A server that cannot be reached for a while is told once; the next look asks it again. Ends by an
    exception only: Ctrl-C, or what ``look`` raises. Raises: Unreachable where the first look finds nobody.
    """
    last = look()
    show(last)
    is_away = False
    while True:
        sleep(INTERVAL_S)
        try:
            seen = look()
        except Unreachable as error:
            if not is_away:
                complain(f"{error}; asking again")
            is_away = True
            continue
        is_away = False
        if seen != last:
            show(seen)
            last = seen
