"""The answers of http.client, with a deadline, and with stricter rules for status line and headers.

http.client reads a head with the parser for mail, which takes longer than all else of a call and finds no
fault with what breaks off. Here a head is whole or an error, and so is what it says of the body's length.
Bodies are read by http.client. Source: RFC 9112, sections 4 to 6 and 9.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from http import HTTPStatus
from http.client import BadStatusLine, HTTPException, HTTPResponse, LineTooLong, RemoteDisconnected
from typing import Any, Final

from kube_api.deadline import Deadline, TimedReads

_LONGEST_LINE_BYTES: Final = 64 * 1024  # as http.client
_MOST_FIELDS: Final = 100  # as http.client
_status_line: Final = re.compile(rb"HTTP/1\.(\d) ([1-9]\d\d)(?: .*)?").fullmatch
_field: Final = re.compile(rb"([\w!#$%&'*+\-.^`|~]+):(.*)").fullmatch  # no space may be about the name
_SPACE: Final = b" \t"
_length: Final = re.compile(rb"\d{1,18}").fullmatch
_SWITCHING: Final = HTTPStatus.SWITCHING_PROTOCOLS
_NO_BODY: Final = (_SWITCHING, HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)


class TimedResponse(HTTPResponse):
    """An answer of which every read keeps a deadline.

    Shape: ``is_framed`` says that its end can be told from a connection that broke; ``retry_after`` is the
           header of that name.
    """

    def __init__(self, sock: Any, deadline: Deadline, **options: Any) -> None:
        super().__init__(TimedReads(sock, deadline), **options)  # type: ignore[arg-type]  # it asks for a file
        self.is_framed = True
        self.retry_after: str | None = None

    def begin(self) -> None:
        """Read the head; interim answers are passed over. Raises: HTTPException, OSError."""
        while True:
            found = _status_line(line := self._line())
            if found is None:
                raise BadStatusLine(repr(line[:100]))
            self.status = int(found[2])
            fields = self._fields()
            if not 100 <= self.status < 200 or self.status == _SWITCHING:
                break
        self.chunked = _is_chunked(fields)
        self.chunk_left = None
        self.length = None if self.chunked else _body_length(fields)
        is_unclear = self.chunked and self.status in _NO_BODY  # some send a body all the same
        if self.status in _NO_BODY:
            self.chunked, self.length = False, 0
        self.is_framed = self.chunked or self.length is not None
        is_last = found[1] == b"0" or b"close" in fields.get(b"connection", b"").lower()
        self.will_close = is_last or is_unclear or not self.is_framed or self.status == _SWITCHING
        self.retry_after = fields.get(b"retry-after", b"").decode("latin-1") or None

    def _line(self) -> bytes:
        line = self.fp.readline(_LONGEST_LINE_BYTES + 1)
        if len(line) > _LONGEST_LINE_BYTES:
            raise LineTooLong("header line")
        if not line.endswith(b"\n"):
            raise RemoteDisconnected("the server closed the connection before it had answered")
        line = line[: -2 if line.endswith(b"\r\n") else -1]
        if b"\r" in line:  # some take it for the end of a line, some do not
            raise HTTPException(f"the answer has a line end within a line: {line[:100]!r}")
        return line

    def _fields(self) -> Mapping[bytes, bytes]:
        """Return the header fields by name in lower case; equal names are joined, as RFC 9110 says."""
        fields, key, count = dict[bytes, bytes](), b"", 0
        while line := self._line():
            if (count := count + 1) > _MOST_FIELDS:
                raise HTTPException(f"the answer has more than {_MOST_FIELDS} headers")
            if key and line[0] in _SPACE:  # the line before goes on
                fields[key] += b" " + line.strip(_SPACE)
                continue
            found = _field(line)
            if found is None:
                raise HTTPException(f"the answer has a header without a name: {line[:100]!r}")
            key, value = found[1].lower(), found[2].strip(_SPACE)
            fields[key] = b"%b, %b" % (fields[key], value) if key in fields else value
        return fields


def _is_chunked(fields: Mapping[bytes, bytes]) -> bool:
    coding = fields.get(b"transfer-encoding")
    if coding is not None and coding.lower() != b"chunked":
        raise HTTPException(f"the answer has an unknown Transfer-Encoding: {coding[:100]!r}")
    return coding is not None


def _body_length(fields: Mapping[bytes, bytes]) -> int | None:
    said = fields.get(b"content-length")
    if said is None:
        return None
    lengths = {one.strip(_SPACE) for one in said.split(b",")}
    if len(lengths) > 1 or not _length(one := lengths.pop()):
        raise HTTPException(f"the answer has no clear Content-Length: {said[:100]!r}")
    return int(one)
