"""An answer that is read line by line, such as a watch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Final

import urllib3
from urllib3.exceptions import HTTPError

from kube_api.answers import not_as_promised
from kube_api.calls import Call
from kube_api.deadline import Deadline
from kube_api.lines import LineSplitter, LineTooLong
from kube_api.lost import lost

_CHUNK_BYTES: Final = 64 * 1024


class Stream:
    """An answer that is read line by line."""

    def __init__(
        self, call: Call, response: urllib3.HTTPResponse, deadline: Deadline, longest_line_bytes: int
    ) -> None:
        self._call = call
        self._response = response
        self._deadline = deadline
        self._lines = LineSplitter(longest_line_bytes)

    def lines(self) -> Iterator[bytes]:
        """Yield complete lines as they come; a last one that is cut is dropped.

        Raises: Unavailable when the connection breaks, stays silent or lasts too long; BadReply for a line
                over the limit.
        """
        try:
            while chunk := self._read():
                yield from self._lines.split(chunk)
        except LineTooLong as problem:
            raise not_as_promised(self._call, str(problem)) from problem

    def _read(self) -> bytes:
        try:
            data: bytes = self._response.read1(_CHUNK_BYTES)
        except HTTPError as problem:
            raise lost(self._call, problem, self._deadline) from problem
        return data

    def interrupt(self) -> None:
        """Wake the thread that reads, from another thread: for the reader the connection breaks."""
        with suppress(OSError, RuntimeError, ValueError):  # it broke or ended by itself in this moment
            self._response.shutdown()

    def close(self) -> None:
        """Close the connection."""
        self._response.close()
