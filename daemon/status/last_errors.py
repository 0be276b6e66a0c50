"""The last warnings and errors of the log, kept for the status of the program. Bounded; for any thread."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any, Final

from daemon.log_fields import AddFields, fields_of
from daemon.logs import time_text
from daemon.status.page import Row, Table

MOST: Final = 20
_MARK: Final = "is_no_error"
NO_ERROR: Final = {_MARK: True}
"""The ``extra`` of a line that is no error, whatever its level."""
_LONGEST: Final = 2000
"""Characters of one text that are kept."""


class LastErrors(logging.Handler):
    """Keeps the last lines of level WARNING and worse as JSON values, and no tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.addFilter(AddFields())
        self._kept = deque[Mapping[str, Any]](maxlen=MOST)

    @classmethod
    def kept_from_now_on(cls) -> LastErrors:
        """Return one that hears the whole program."""
        made = cls()
        logging.getLogger().addHandler(made)
        return made

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        if getattr(record, _MARK, False):
            return
        try:
            message = record.getMessage()[:_LONGEST]
        except Exception:  # noqa: BLE001 - as all handlers do: a wrong log call must not end its caller
            self.handleError(record)
            return
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            message = f"{message}: {type(error).__name__}: {error}"[:_LONGEST]
        self._kept.append(
            {
                "time": time_text(record.created),
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": message,
                **fields_of(record),
            }
        )

    def table(self) -> Table:
        """Return them, the last one last. Takes no lock: a log that nobody reads may hold one for ever."""
        return Table("last_errors", ("TIME", "LEVEL", "TEXT"), list(self._kept.copy()), _cells)


def _cells(row: Row) -> tuple[str, ...]:
    return row["time"], row["level"], row["message"]
