"""All claims are read before the first write of a leader, while the watch goes on."""

from __future__ import annotations

from types import SimpleNamespace

from controller.api import Cluster
from kube_api import RESOURCE_CLAIMS, Object, Synced, Upserted
from kube_api.decoding import to_object


def claim(name: str, version: int) -> Object:
    metadata = {"name": name, "namespace": "n", "uid": f"uid-{name}", "resourceVersion": str(version)}
    return to_object({"metadata": metadata, "spec": {"devices": {}}}, RESOURCE_CLAIMS)


def test_a_claim_that_appears_while_all_are_read_is_not_forgotten() -> None:
    listed = SimpleNamespace(items=[claim("old", 2)], resource_version="2", unreadable=())

    def read(_: object) -> object:
        store.take(Upserted(store.entry(claim("new", 3))))  # the watch is faster than the answer
        return listed

    cluster = Cluster(SimpleNamespace(list=read), "tangram.dev")  # type: ignore[arg-type] - it only lists
    store = cluster.claims.store
    store.take(Synced((), "1"))

    cluster.refresh()

    assert store.get("new", "n") is not None


def test_a_claim_that_the_watch_has_not_told_yet_is_known_after_all_are_read() -> None:
    listed = SimpleNamespace(items=[claim("old", 2)], resource_version="2", unreadable=())
    cluster = Cluster(SimpleNamespace(list=lambda _: listed), "tangram.dev")  # type: ignore[arg-type]
    cluster.claims.store.take(Synced((), "1"))

    cluster.refresh()

    assert cluster.claims.store.get("old", "n") is not None
