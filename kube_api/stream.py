"""An answer that is read line by line, such as a watch."""

from __future__ import annotations

from collections.abc import Iterator

from kube_api.answers import not_as_promised
from kube_api.calls import Call
from kube_api.exchange import Exchange
from kube_api.lines import LineSplitter, LineTooLong


class Stream:
    """An answer that is read line by line."""

    def __init__(self, call: Call, exchange: Exchange, longest_line_bytes: int) -> None:
        self._call = call
        self._exchange = exchange
        self._lines = LineSplitter(longest_line_bytes)

    def lines(self) -> Iterator[bytes]:
        """Yield complete lines as they come; a last one that is cut is dropped.

        Raises: Unavailable when the connection breaks, stays silent or lasts too long; BadReply for a line
                over the limit.
        """
        try:
            while piece := self._exchange.piece():
                yield from self._lines.split(piece)
        except LineTooLong as problem:
            raise not_as_promised(self._call, str(problem)) from problem

    def interrupt(self) -> None:
        """Wake the thread that reads, from another thread: for the reader the connection breaks."""
        self._exchange.interrupt()

    def close(self) -> None:
        """Give the connection back if the answer came to its end, else close it."""
        self._exchange.close()
