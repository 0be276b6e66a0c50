"""Slices as documents, and a server that does nothing but keep them: for laws of pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scheduler_core.publishing.plan import Create, Delete, Update, Write

Document = Mapping[str, Any]


def slice_of(index: int, count: int, content: str, generation: int = 1, pool: str = "node-1") -> Document:
    """Return one slice of a pool whose content is a word."""
    return {
        "metadata": {"name": f"{pool}-d.example-{index:02d}"},
        "spec": {
            "driver": "d.example",
            "nodeName": pool,
            "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
            "devices": [{"name": content}],
        },
    }


def pool_of(contents: Sequence[str], generation: int = 1) -> tuple[Document, ...]:
    """Return the slices of a pool, one for each word."""
    return tuple(slice_of(index, len(contents), word, generation) for index, word in enumerate(contents))


class Keeper:
    """Keeps objects as a server does: versions, UIDs, preconditions. Knows no validation."""

    def __init__(self, objects: Sequence[Document] = ()) -> None:
        self.objects: dict[str, Document] = {}
        self._versions = 0
        for one in objects:
            self.create(one)

    def create(self, document: Document) -> None:
        assert document["metadata"]["name"] not in self.objects
        self._keep(document, f"uid-{self._versions}")

    def apply(self, write: Write) -> None:
        match write:
            case Create(document=document):
                self.create(document)
            case Update(document=document):
                known = self.objects[document["metadata"]["name"]]["metadata"]
                assert known["resourceVersion"] == document["metadata"]["resourceVersion"]
                self._keep(document, known["uid"])
            case Delete(name=name, uid=uid, resource_version=version):
                known = self.objects.pop(name)["metadata"]
                assert (known["uid"], known["resourceVersion"]) == (uid, version)

    def _keep(self, document: Document, uid: str) -> None:
        self._versions += 1
        metadata = {**document["metadata"], "uid": uid, "resourceVersion": str(self._versions)}
        self.objects[metadata["name"]] = {**document, "metadata": metadata}

    def all(self) -> tuple[Document, ...]:
        return tuple(self.objects.values())

    def pool(self, name: str = "node-1") -> tuple[Document, ...] | None:
        """Return the slices that a scheduler would use, None while the pool is incomplete."""
        ours = [one for one in self.objects.values() if one["spec"]["pool"]["name"] == name]
        newest = max((one["spec"]["pool"]["generation"] for one in ours), default=0)
        current = [one for one in ours if one["spec"]["pool"]["generation"] == newest]
        if not current or current[0]["spec"]["pool"]["resourceSliceCount"] != len(current):
            return None
        return tuple(sorted(current, key=lambda one: one["metadata"]["name"]))


class Copied:
    """The part of a store that knows what is stored: here it always knows exactly what ``keeper`` keeps."""

    keeper: Keeper
    is_listed = True

    def documents(self) -> tuple[Document, ...]:
        return tuple(sorted(self.keeper.all(), key=lambda one: str(one["metadata"]["name"])))


def contents(slices: Sequence[Document]) -> list[str]:
    return [one["spec"]["devices"][0]["name"] for one in slices]


class Undoubted:
    """A source of slices without its wishes: nothing is taken over, lost or remembered."""

    is_full = True

    def adopt(self, stored: Sequence[Document]) -> None:
        """Hear what is stored."""

    def lost(self, fields: Sequence[str]) -> bool:
        return False

    def doubt(self) -> None:
        """Hear that the server may have changed."""
