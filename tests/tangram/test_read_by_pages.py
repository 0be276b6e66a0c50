"""What a command reads of a whole cluster comes a page at a time; of a page only what was read stays."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import page_objects
import pytest
from many_objects import Kind, ManyObjects
from scripted_api import write_kubeconfig

from scheduler_core.codec.documents import Document
from tangram import api
from tangram.clusters import Reading, V
from tangram.page.file_cluster import FileCluster

Run = Callable[..., Any]
_SIZE = 2_000
_PODS = 10_000
_MANY = ("Node", "ResourceSlice", "ResourceClaim", "Pod")


@pytest.fixture
def server() -> Iterator[ManyObjects]:
    """A server with twenty pages of pods, each of them with much to let go."""
    pods = Kind("Pod", "v1")
    for number in range(_PODS):
        metadata = {"name": f"p{number}", "namespace": "a", "uid": f"u{number}", "resourceVersion": "1"}
        pods.objects[f"a/p{number}"] = lambda metadata=metadata: json.dumps(
            {"metadata": metadata, "spec": {"much": "x" * _SIZE}}
        ).encode()
    made = ManyObjects({"pods": pods})
    with made.serving():
        yield made


def name_of(document: Mapping[str, Any]) -> str:
    return str(document["metadata"]["name"])


def name_in(text: bytes) -> str:
    return name_of(json.loads(text))


@pytest.mark.parametrize("reading", [Reading(name_of), Reading(name_of, name_in)], ids=["documents", "texts"])
def test_a_page_is_let_go_before_the_next_one_is_asked(
    server: ManyObjects, tmp_path: Path, reading: Reading[str]
):
    address = f"http://127.0.0.1:{server.server_address[1]}"
    cluster = api.connect(write_kubeconfig(tmp_path / "config", address, {}, {}), None)
    tracemalloc.start()
    try:
        found = cluster.read("Pod", reading)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert (len(found), server.pages) == (_PODS, 20)
    # The server runs here too: a page is made, sent and read, each time in copies. All pages would be 20.
    assert peak < 10 * 500 * _SIZE


class ReadOnce(FileCluster):
    """A cluster whose many objects nobody may ask for as a whole."""

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        assert kind not in _MANY, f"all documents of kind {kind} are held at once"
        return super().list(kind, fields)

    def read(self, kind: str, reading: Reading[V], fields: str = "") -> tuple[V, ...]:
        return tuple(map(reading.document, super().list(kind, fields)))


@pytest.mark.parametrize(
    "words",
    [
        ("report", "--cluster", "--json"),
        ("top", "--cluster", "--json"),
        ("plan", "--cluster", "--json"),
        ("explain", "--cluster", "--claim", "vision/infer-9-gpu", "--json"),
        ("explain", "pod/infer-9", "-n", "vision", "--json"),
        ("pending", "--json"),
    ],
    ids=" ".join,
)
def test_no_command_holds_all_documents_to_reduce_them(
    tangram: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
):
    objects = page_objects.small_cluster()
    documents = [Document(f"object {at}", one) for at, one in enumerate(objects)]
    monkeypatch.setattr(api, "connect", lambda *_: ReadOnce(documents))

    answer = tangram(*words)

    assert answer.json
    assert "is held" not in answer.err
