"""Other names for slices whose usual name somebody else has. Pure.

Whoever may create objects of a kind may take any name, so the slices of a node are found by their fields and
never by their names. The other name is the usual one with an ending that nobody can guess, so the slice keeps
its place in the order of names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from scheduler_core.publishing.documents import Document, name_of

_ENDING: Final = re.compile(r"-[0-9a-f]{8}")
_INDEX: Final = re.compile(rf"-(\d{{2,}})(?:{_ENDING.pattern})?$")


def renamed(document: Document, ending: str) -> Document:
    """Return a slice under another name. Shape: ``ending`` is eight hexadecimal digits."""
    return _called(document, f"{name_of(document)}-{ending}")


def as_stored(desired: Sequence[Document], actual: Sequence[Document]) -> tuple[Document, ...]:
    """Return the wanted slices under the names that they are stored under.

    Shape: ``actual`` are the stored slices of the same node and driver. The usual name comes first, then the
           first of the others; a slice that is not stored has its usual name.
    """
    names = sorted(map(name_of, actual))
    return tuple(_as_stored(one, names) for one in desired)


def order_of(name: str) -> tuple[int, str]:
    """Return the key that sorts names of one node's slices as the slices were packed.

    Names alone do so for 100 slices at most: ``-100`` comes before ``-11``.
    """
    index = _INDEX.search(name)
    return (int(index[1]) if index else -1, name)


def _as_stored(document: Document, names: Sequence[str]) -> Document:
    usual = name_of(document)
    if usual in names:
        return document
    others = (one for one in names if one.startswith(usual) and _ENDING.fullmatch(one, len(usual)))
    found = next(others, usual)
    return document if found == usual else _called(document, found)


def _called(document: Document, name: str) -> Document:
    return {**document, "metadata": {**document["metadata"], "name": name}}
