"""Parses the text form of troubles and events (``faults.py`` in this folder)."""

from __future__ import annotations

import re
from typing import Final

from agent.hardware.health.types import GpuEventKind
from agent.hardware.simulated.errors import InvalidFault
from agent.hardware.simulated.gpu_troubles.faults import (
    NUMBERED,
    PLAIN_EVENTS,
    WORDS,
    GpuTrouble,
    GpuTroubleKind,
    Raised,
)

FORMS: Final = "gpu-<minor>:xid=<number>, gpu-<minor>:<trouble>"
_WORDS: Final = frozenset({*GpuTroubleKind, *PLAIN_EVENTS, GpuEventKind.XID})
_TEXT: Final = re.compile(r"(?P<target>machine|gpu-(?P<gpu>\d{1,3})):(?P<word>[a-z-]+)(?P<rest>(?:=|:|$).*)")
_XID: Final = re.compile(
    r"=(?P<xid>\d{1,10})(?::gi=(?P<gi>\d{1,3})(?::ci=(?P<ci>\d{1,3}))?)?(?::(?P<times>[1-9]\d{0,5}))?"
)
_XID_FORM: Final = "xid takes a number, then the MIG instance and how often, if need be: xid=94:gi=7:ci=0:3"
_COUNT: Final = re.compile(r"=(\d{1,6})")


def parse_health(text: str) -> GpuTrouble | Raised | None:
    """Parse a trouble or an event, None if the text is about something else. Raises: InvalidFault."""
    match = _TEXT.fullmatch(text)
    if match is None or match["word"] not in _WORDS:
        return None
    word, rest = match["word"], match["rest"]
    gpu = None if match["gpu"] is None else int(match["gpu"])
    if word == GpuEventKind.XID:
        return _xid(text, gpu, rest)
    if gpu is None:
        raise InvalidFault(text, f"{word} is about one GPU, such as gpu-0")
    if word in PLAIN_EVENTS:
        if rest:
            raise InvalidFault(text, f"{word} takes nothing")
        return Raised(gpu, GpuEventKind(word))
    return GpuTrouble(gpu, GpuTroubleKind(word), _value(text, GpuTroubleKind(word), rest))


def _xid(text: str, gpu: int | None, rest: str) -> Raised:
    match = _XID.fullmatch(rest)
    if match is None:
        raise InvalidFault(text, _XID_FORM)
    gi_id, ci_id = (None if match[name] is None else int(match[name]) for name in ("gi", "ci"))
    return Raised(gpu, GpuEventKind.XID, int(match["xid"]), gi_id, ci_id, int(match["times"] or 1))


def _value(text: str, kind: GpuTroubleKind, rest: str) -> int | str | None:
    if kind in NUMBERED:
        count = _COUNT.fullmatch(rest)
        if count is None:
            raise InvalidFault(text, f"{kind} takes a number: {kind}=2")
        return int(count[1])
    if kind in WORDS:
        if rest.removeprefix("=") not in WORDS[kind]:
            raise InvalidFault(text, f"{kind} must be one of {', '.join(WORDS[kind])}")
        return rest.removeprefix("=")
    if rest:
        raise InvalidFault(text, f"{kind} takes nothing")
    return None
