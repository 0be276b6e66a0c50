"""Inputs of ``tangram bench --input`` from a file or standard input, each as soon as it is complete.

JSON objects on one line are read line by line, so that a program can ask, wait for the answer and ask again.
An object that spans lines is read when its rest has arrived. Each input has the limits of every other file of
a user; how many there are has none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from daemon import documents
from daemon.document import MAX_BYTES, Document, NotReadable
from tangram.errors import BadInput
from tangram.program.text_files import name_of, opened_text

_SPACE: Final = re.compile(r"\s*")


class _TooLong(Exception):
    """An input that does not end within the limit."""


def read_inputs(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each object of a file, ``-`` for standard input, after its place for messages.

    Raises: BadInput naming the file and the number of the input for what is no JSON object, or too large.
    """
    name = name_of(path)
    number = 0
    try:
        with opened_text(path) as file:
            for number, value in enumerate(_values(file), 1):
                place = f"{name}: input {number}"
                if not isinstance(value, dict):
                    raise BadInput(f"{place}: must be an object, found {type(value).__name__}")
                # JSON unfolds nothing: an input has no more values than characters.
                documents.refuse_unbounded(Document(place, value), MAX_BYTES)
                yield place, value
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: is not UTF-8 text: byte {error.start}") from error
    except NotReadable as error:
        raise BadInput(str(error)) from error
    except (_TooLong, ValueError, RecursionError) as error:
        raise BadInput(f"{name}: input {number + 1}: {_reason(error)}") from error
    if not number:
        raise BadInput(f"{name}: holds no input: give a JSON object, or one per line")


def _reason(error: Exception) -> str:
    match error:
        case _TooLong():
            return f"is larger than {MAX_BYTES // 2**20} MiB"
        case json.JSONDecodeError():
            return f"is not JSON: {error.msg}"
        case RecursionError():
            return "is not JSON: nested too deep"
        case _:
            return f"is not JSON: {error}"


def _values(file: IO[str]) -> Iterator[Any]:
    while line := _bounded(file.readline(MAX_BYTES + 1)):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            yield from _spanning(_bounded(line + file.read(MAX_BYTES + 1 - len(line))))
            return
        yield value


def _bounded(text: str) -> str:
    if len(text) > MAX_BYTES:
        raise _TooLong
    return text


def _spanning(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(), _behind_space(text, 0)
    while position < len(text):
        value, position = decoder.raw_decode(text, position)
        yield value
        position = _behind_space(text, position)


def _behind_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()
