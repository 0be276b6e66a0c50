"""The log of a program: one line for each record, on standard error, which the kubelet keeps.

A line is text, or a JSON object with the text, the time and what the line is about. The level can be changed
while the program runs.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Self

from daemon.log_fields import AddFields, fields_of

TEXT: Final = "text"
JSON: Final = "json"
FORMS: Final = (TEXT, JSON)
LEVELS: Final = ("debug", "info", "warning", "error")
"""The levels, from the one with the most lines on."""
DEFAULT_LEVEL: Final = "info"
_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class LogOptions:
    """How a program logs. Shape: ``form`` TEXT or JSON, ``level`` one of ``LEVELS``, None where not said."""

    form: str | None = None
    level: str | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Self:
        """Read the arguments."""
        return cls(arguments.log_format, arguments.log_level)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add ``--log-format`` and ``--log-level``."""
    form = f"lines of text, or a JSON object a line; default: {TEXT}"
    parser.add_argument("--log-format", choices=FORMS, help=form)
    level = f"{', '.join(LEVELS)}: log this and what is worse; default: {DEFAULT_LEVEL}"
    parser.add_argument("--log-level", choices=LEVELS, metavar="LEVEL", help=level)


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object.

    Shape: ``time`` RFC 3339 in UTC with milliseconds, ``level`` one of ``LEVELS``, ``logger``, ``message``,
           ``traceback`` where there is one, and the fields of ``daemon.log_fields``; ``node`` in each line.
    """

    def __init__(self, node: str = "") -> None:
        super().__init__()
        self._same = {"node": node} if node else {}

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, without its end."""
        line = {
            "time": time_text(record.created),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **self._same,
            **fields_of(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_standard_error(options: LogOptions | None = None, node: str = "") -> logging.Handler:
    """Set up the log and return its handler. Shape: ``node`` the name of this node, for JSON lines."""
    options = options or LogOptions()
    # The format does not show these, so they are not looked up for every line.
    # Source: the logging HOWTO, "Optimization".
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_formatter(options.form, node))
    handler.addFilter(AddFields())
    logging.basicConfig(level=(options.level or DEFAULT_LEVEL).upper(), handlers=[handler])
    return handler


def _formatter(form: str | None, node: str) -> logging.Formatter:
    return JsonLines(node) if form == JSON else logging.Formatter(_FORMAT)


class FollowedLog:
    """Gives a log the format and level of a policy, where the command line says none."""

    def __init__(self, handler: logging.Handler, options: LogOptions, node: str = "") -> None:
        self._handler = handler
        self._options = options
        self._node = node
        self._said = LogOptions()

    def follow(self, said: LogOptions) -> None:
        """Use these from now on; a level set at run time stays until the policy changes its own."""
        before, self._said = self._said, said
        if said == before:
            return
        if said.form != before.form and not self._is_by_option("--log-format", self._options.form, said.form):
            self._handler.setFormatter(_formatter(said.form, self._node))
        if said.level != before.level and not self._is_by_option(
            "--log-level", self._options.level, said.level
        ):
            set_level(said.level or DEFAULT_LEVEL)

    def _is_by_option(self, option: str, given: str | None, said: str | None) -> bool:
        if given is not None and said is not None and given != said:
            _log.warning("%s %s is used, as the command line says; the policy says %s", option, given, said)
        return given is not None


def level() -> str:
    """Return the level of the log as it is now, one of ``LEVELS``."""
    return logging.getLevelName(logging.getLogger().level).lower()


def set_level(wanted: str) -> None:
    """Log from another level on; both levels are told. Shape: ``wanted`` one of ``LEVELS``."""
    before = level()
    if before == wanted:
        return
    root = logging.getLogger()
    root.setLevel(min(logging.WARNING, root.level))  # the change is logged, whatever the levels are
    _log.warning("the level of the log is %s now, it was %s", wanted, before)
    root.setLevel(wanted.upper())


def time_text(seconds: float) -> str:
    """Return a time as RFC 3339 in UTC with milliseconds. Units: seconds since 1970."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class OneWarning:
    """Logs a failure that is retried: a warning the first time, then for debugging, until it is over."""

    def __init__(self, log: logging.Logger, text: str) -> None:
        """Take the log of the module that fails. Shape: ``text`` has one ``%s`` for the error."""
        self._log = log
        self._text = text
        self._is_told = False

    def failed(self, error: Exception) -> None:
        """Log the failure."""
        self._log.log(logging.DEBUG if self._is_told else logging.WARNING, self._text, error)
        self._is_told = True

    def over(self) -> None:
        """Let the next failure be a warning again."""
        self._is_told = False
