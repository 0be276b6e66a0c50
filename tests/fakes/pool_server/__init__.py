"""A server that keeps slices of pools that no node owns, and statuses. It refuses and drops as it is told."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.pools.own_gpus import OwnGpus
from controller.pools.ports import PoolWriteFailed, PoolWriteRefused
from controller.pools.publisher import PoolPublisher
from controller.pools.writing import PoolWriting
from scheduler_core.model.claim import AllocatedClaim

Document = Mapping[str, Any]


@dataclass
class InUse:
    """What nodes publish and claims hold. Shape: ``nodes`` are slices by node."""

    nodes: dict[str, tuple[Document, ...]] = field(default_factory=dict)
    allocated: dict[str, AllocatedClaim] = field(default_factory=dict)
    unseen: dict[str, AllocatedClaim] = field(default_factory=dict)
    """Claims that no watch has reported yet."""

    def slices_of(self, node: str) -> tuple[Document, ...]:
        return self.nodes.get(node, ())

    def claims(self) -> tuple[AllocatedClaim, ...]:
        return tuple(self.allocated.values())

    def refresh(self) -> None:
        self.allocated |= self.unseen
        self.unseen.clear()


def publisher_of(
    server: PoolServer, driver: str, in_use: InUse | None = None, clock: Callable[[], float] = lambda: 0.0
) -> PoolPublisher:
    """Return a publisher that writes to a server."""
    writing = PoolWriting(server)
    own = OwnGpus(
        writing,
        in_use=in_use or InUse(),
        write_finalizers=server.write_finalizers,
        driver=driver,
        clock=clock,
    )
    return PoolPublisher(writing, server.write_status, own, driver)


class PoolServer:
    """Shape: ``drops`` fields of a device or slice; ``dry_drops`` those of dry runs.

    ``refuses`` returns why it refuses a slice, or True; False for one that it takes.
    ``left`` is how many more writes succeed, None for all of them.
    """

    def __init__(self) -> None:
        self.stored: dict[str, dict[str, Any]] = {}
        self.statuses: dict[str, Document] = {}
        self.finalizers: dict[str, tuple[str, ...]] = {}
        self.writes: list[str] = []
        self.dry_runs = 0
        self.drops: set[str] = set()
        self.dry_drops: set[str] = set()
        self.refuses: Any = lambda document: False
        self.left: int | None = None
        self._versions = 0

    def documents(self) -> tuple[Document, ...]:
        return tuple(self.stored.values())

    def create(self, document: Document, *, dry_run: bool = False) -> Document:
        if dry_run:
            self.dry_runs += 1
            self._check(document)
            return self._kept(document, self.dry_drops)
        self._write(f"create {document['metadata']['name']}")
        self._check(document)
        assert document["metadata"]["name"] not in self.stored
        return self._store(document, f"uid-{self._versions}")

    def replace(self, document: Document) -> Document:
        name = document["metadata"]["name"]
        self._write(f"replace {name}")
        known = self.stored[name]["metadata"]
        assert known["resourceVersion"] == document["metadata"]["resourceVersion"]
        return self._store(document, known["uid"])

    def delete(self, name: str, uid: str, resource_version: str) -> None:
        self._write(f"delete {name}")
        known = self.stored.pop(name)["metadata"]
        assert (known["uid"], known["resourceVersion"]) == (uid, resource_version)

    def write_status(self, name: str, document: Document) -> None:
        self._write(f"status {name}")
        self.statuses[name] = document["status"]

    def write_finalizers(self, name: str, finalizers: tuple[str, ...], version: str) -> None:
        self._write(f"finalizers {name}: {', '.join(finalizers)}")
        self.finalizers[name] = finalizers

    def _write(self, what: str) -> None:
        if self.left is not None:
            if not self.left:
                raise PoolWriteFailed("the server does not answer")
            self.left -= 1
        self.writes.append(what)

    def _check(self, document: Document) -> None:
        if reason := self.refuses(document):
            told = reason if isinstance(reason, str) else "is not allowed"
            raise PoolWriteRefused(f"{document['metadata']['name']}: {told}")

    def _store(self, document: Document, uid: str) -> Document:
        self._versions += 1
        kept = self._kept(document, self.drops)
        kept["metadata"] |= {"uid": uid, "resourceVersion": str(self._versions)}
        self.stored[kept["metadata"]["name"]] = kept
        return kept

    @staticmethod
    def _kept(document: Document, drops: set[str]) -> dict[str, Any]:
        kept = copy.deepcopy(dict(document))
        for part in (kept["spec"], *kept["spec"].get("devices", ())):
            for name in drops:
                part.pop(name, None)
        return kept
