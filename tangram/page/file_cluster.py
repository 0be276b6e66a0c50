"""Objects of files as a cluster that is read. Takes documents; gives what an API server would.

What a server adds to an object, and people leave out in files, is made up: its namespace, UID and version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from controller.gangs.seen import read_pod_group
from controller.model.checked import WrongType
from controller.model.claims import read_claim
from controller.model.nodes import read_node
from controller.model.pods import read_pod
from controller.model.slices import read_composite_slice, read_slice
from scheduler_core.codec.documents import Document
from tangram.clusters import Reading, V
from tangram.errors import BadInput

_NAMESPACED: Final = frozenset(("Pod", "PodGroup", "ResourceClaim", "ResourceClaimTemplate"))
_DRIVER: Final = "spec.driver="
_TEXTS: Final = ("namespace", "uid", "creationTimestamp")
_MAPS: Final = ("labels", "annotations")
_PARTS: Final = ("spec", "status")
_READERS: Final[Mapping[str, Callable[[Mapping[str, Any]], object]]] = {
    "Node": read_node,
    "Pod": read_pod,
    "PodGroup": read_pod_group,
    "ResourceClaim": read_claim,
    "ResourceSlice": read_slice,
    "CompositeResourceSlice": read_composite_slice,
}


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

    def read(self, kind: str, reading: Reading[V], fields: str = "") -> tuple[V, ...]:
        """Return what is read of each object of a kind, as ``list`` gives them."""
        return tuple(map(reading.document, self.list(kind, fields)))

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
    _check(f"{document.place}: {kind} {name}", content, metadata)
    added = {"name": name, "uid": f"{kind}-{number}", "resourceVersion": "1"}
    if kind in _NAMESPACED:
        added["namespace"] = "default"
    given = {key: value for key, value in metadata.items() if value not in (None, "")}
    made = {**content, "metadata": {**added, **given}}
    _check_readable(f"{document.place}: {kind} {name}", kind, made)
    return kind, made


def _check_readable(subject: str, kind: str, made: Mapping[str, Any]) -> None:
    """Refuse what the controller could not read: it trusts the checks of a server. Raises: BadInput."""
    read = _READERS.get(kind)
    if read is None:
        return
    try:
        read(made)
    except WrongType as error:
        raise BadInput(f"{subject}: {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise BadInput(f"{subject}: is no object that an API server would store: {error!r}") from error


def _check(subject: str, content: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Refuse what a server would not store. Raises: BadInput."""
    for key in _TEXTS:
        if not isinstance(metadata.get(key) or "", str):
            raise BadInput(f"{subject}: metadata.{key}: {metadata[key]!r}: must be a string")
    for parent, given, keys in (("metadata.", metadata, _MAPS), ("", content, _PARTS)):
        for key in keys:
            if not isinstance(given.get(key) or {}, Mapping):
                raise BadInput(f"{subject}: {parent}{key}: {given[key]!r}: must be an object")
