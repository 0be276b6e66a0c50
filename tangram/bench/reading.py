"""Inputs of ``tangram bench --input`` from a file or standard input, each as soon as it is complete.

JSON objects on one line are read line by line, so that a program can ask, wait for the answer and ask again.
An object that spans lines is read when its rest has arrived.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import IO, Any

from tangram.errors import BadInput


def read_inputs(path: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each object of a file, ``-`` for standard input, after its place for messages.

    Raises: BadInput naming the file and the number of the input for what is no JSON object.
    """
    name = "standard input" if path == "-" else path
    number = 0
    try:
        with nullcontext(sys.stdin) if path == "-" else Path(path).open(encoding="utf-8") as file:
            for number, value in enumerate(_values(file), 1):
                place = f"{name}: input {number}"
                if not isinstance(value, dict):
                    raise BadInput(f"{place}: must be an object, found {type(value).__name__}")
                yield place, value
    except OSError as error:
        raise BadInput(f"{name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: is not UTF-8 text: byte {error.start}") from error
    except (json.JSONDecodeError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deep"
        raise BadInput(f"{name}: input {number + 1}: is not JSON: {reason}") from error
    if not number:
        raise BadInput(f"{name}: holds no input: give a JSON object, or one per line")


def _values(file: IO[str]) -> Iterator[Any]:
    for line in file:
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            yield from _spanning(line + file.read())
            return
        yield value


def _spanning(text: str) -> Iterator[Any]:
    decoder, position = json.JSONDecoder(), 0
    while text[position:].strip():
        position += len(text[position:]) - len(text[position:].lstrip())
        value, position = decoder.raw_decode(text, position)
        yield value
