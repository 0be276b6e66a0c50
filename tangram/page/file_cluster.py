"""Objects of files as a cluster that is read. Takes documents; gives what an API server would.

What a server adds to an object, and people leave out in files, is made up: its namespace, UID and version.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from scheduler_core.codec.documents import Document
from tangram.errors import BadInput

_NAMESPACED: Final = frozenset(("Pod", "PodGroup", "ResourceClaim", "ResourceClaimTemplate"))
_DRIVER: Final = "spec.driver="


class FileCluster:
    """The objects of files, by kind and in order."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Take the documents. Raises: BadInput for one without kind or name, and for a name given twice."""
        self._objects: dict[str, dict[tuple[str, str], Mapping[str, Any]]] = {}
        for number, document in enumerate(documents):
            kind, made = _as_stored(document, number)
            key = made["metadata"].get("namespace", ""), made["metadata"]["name"]
            if key in self._objects.setdefault(kind, {}):
                raise BadInput(f"{document.place}: {kind} {'/'.join(key).lstrip('/')}: is given twice")
            self._objects[kind][key] = made

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        """Return the objects of a kind. Shape: ``fields`` empty, or ``spec.driver=NAME``."""
        found = tuple(self._objects.get(kind, {}).values())
        if not fields:
            return found
        driver = fields.removeprefix(_DRIVER)
        return tuple(one for one in found if (one.get("spec") or {}).get("driver") == driver)

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        """Return one object. Raises: BadInput where there is none."""
        try:
            return self._objects[kind][namespace, name]
        except KeyError:
            raise BadInput(f"no file has the {kind} {namespace}/{name}") from None


def _as_stored(document: Document, number: int) -> tuple[str, Mapping[str, Any]]:
    content, metadata = document.content, document.content.get("metadata") or {}
    kind = content.get("kind")
    if not isinstance(kind, str) or not isinstance(metadata, Mapping):
        raise BadInput(f"{document.place}: must be an object with kind and metadata")
    name = metadata.get("name") or (f"slice-{number}" if kind == "ResourceSlice" else "")
    if not isinstance(name, str) or not name:
        raise BadInput(f"{document.place}: {kind}: metadata.name must be given")
    added = {"name": name, "uid": f"{kind}-{number}", "resourceVersion": "1"}
    if kind in _NAMESPACED:
        added["namespace"] = "default"
    given = {key: value for key, value in metadata.items() if value not in (None, "")}
    return kind, {**content, "metadata": {**added, **given}}
