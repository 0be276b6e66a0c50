"""What may be asked and changed on a program's own socket: its status and the level of its log.

Nothing of it is served on an address.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Final

from daemon.logs import LEVELS, level, set_level
from daemon.status.asking import LOG_LEVEL, STATUS, STATUS_JSON
from daemon.status.page import Status
from daemon.status_server import Answer, Answers, Changes


def control_of(status: Callable[[], Status]) -> Answers:
    """Return what is answered on the socket, beside the probes."""
    return {
        STATUS: lambda: (200, status().text()),
        STATUS_JSON: lambda: (200, json.dumps(status().json(), indent=2) + "\n"),
        LOG_LEVEL: lambda: (200, f"{level()}\n"),
    }


def _changed(wanted: str) -> Answer:
    if wanted not in LEVELS:
        return 400, f"the level must be one of {', '.join(LEVELS)}\n"
    set_level(wanted)
    return 200, f"{wanted}\n"


CHANGES: Final[Changes] = {LOG_LEVEL: _changed}
"""What can be changed, by path."""
