"""ResourceClasses in a real API server: what it stores and refuses, and the status that is written."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from cluster_support import Document
from crd_support import CLASSES, ROOT, installed_definition

from controller.classes.statuses import ClassStatuses
from controller.classes.turns import StatusTurns
from kube_api import Invalid, KubeApi, NotFound
from scheduler_core.frontends.classes.decode import decode_resource_class
from scheduler_core.frontends.classes.errors import InvalidResourceClass
from scheduler_core.model.nodes import Node
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.testing import NODE, device, held, pool

pytestmark = pytest.mark.layout

EXAMPLES = list(
    yaml.safe_load_all((ROOT / "deploy/examples/resource-classes/classes.yaml").read_text()),
)
IMMUTABLE = "the spec of a resource class cannot be changed; delete the class and create another"
NOW = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module", autouse=True)
def installed(api: KubeApi) -> Iterator[None]:
    with installed_definition(api, CLASSES):
        yield


@pytest.fixture
def store(api: KubeApi) -> Iterator[Callable[[Document], Document]]:
    """Create a class; it is deleted after the test."""
    made: list[str] = []

    def create(document: Document) -> Document:
        stored = api.create(CLASSES, document)
        made.append(stored.metadata.name)
        return dict(stored.document)

    yield create
    for name in made:
        try:
            api.delete(CLASSES, name)
        except NotFound:
            continue


def named(*requirements: Document) -> Document:
    return {
        "apiVersion": "tangram.dev/v1alpha1",
        "kind": "ResourceClass",
        "metadata": {"name": f"class-{uuid.uuid4().hex[:8]}"},
        "spec": {"resourceSelector": [{"matchExpressions": list(requirements)}]},
    }


def row(key: str, operator: str, *values: str, **others: Any) -> Document:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {}), **others}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda one: one["metadata"]["name"])
def test_the_examples_are_stored_as_they_are(
    example: Document, store: Callable[[Document], Document]
) -> None:
    document = {**copy.deepcopy(example), "metadata": {"name": f"test-{uuid.uuid4().hex[:8]}"}}

    stored = store(document)

    assert stored["spec"] == document["spec"]
    assert decode_resource_class(stored).selectors == decode_resource_class(document).selectors


@pytest.mark.parametrize(
    "value",
    [
        *("30G", "1Gi", "1536Mi", "5e9", "-1", ".5", "40GBPS", "1.5kibps"),
        *("535", "12.4", "v12.4", "560.35.3", "560.35.03", "1.2.3-rc.1+b"),
    ],
)
def test_every_amount_and_version_that_can_be_read_is_taken(
    value: str, store: Callable[[Document], Document]
) -> None:
    document = named(row("size", "GtEq", value))

    assert decode_resource_class(store(document)).selectors


WRONG: dict[str, Document] = {
    "an operator that is none": row("Kind", "Like", "gpu"),
    "no operator": {"key": "Kind"},
    "no key": {"operator": "Exists"},
    "a key of spaces": row("  ", "Exists"),
    "In without values": row("Kind", "In"),
    "In with an empty list": row("Kind", "In", values=[]),
    "Eq with two values": row("Kind", "Eq", "a", "b"),
    "Exists with a value": row("Kind", "Exists", "a"),
    "an empty value": row("Kind", "In", ""),
    "a value that is no text": row("Kind", "In", values=[5]),
    "a text that has no order": row("Kind", "Gt", "large"),
    "a version with a letter for a number": row("driver", "Lt", "1.2.x"),
    "a pre-release of two numbers": row("driver", "Lt", "1.2-rc.1"),
    "a unit word that begins with a prefix": row("size", "Gt", "5TPU"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_the_controller_could_not_read_is_refused(what: str, api: KubeApi) -> None:
    document = named(WRONG[what])
    with pytest.raises(InvalidResourceClass):
        decode_resource_class(document)

    with pytest.raises(Invalid):
        api.create(CLASSES, document)


@pytest.mark.parametrize(
    "change",
    [
        lambda one: one["spec"]["resourceSelector"].append({"matchExpressions": [row("a", "Exists")]}),
        lambda one: one["spec"]["resourceSelector"][0]["matchExpressions"][0].update(values=["other"]),
        lambda one: one["spec"].clear(),
        lambda one: one.pop("spec"),
    ],
    ids=["another selector", "another value", "nothing in it", "no spec"],
)
def test_the_spec_of_a_class_never_changes(
    change: Callable[[Document], object], api: KubeApi, store: Callable[[Document], Document]
) -> None:
    stored = store(named(row("Kind", "In", "nvidia-gpu")))
    change(stored)

    with pytest.raises(Invalid, match=IMMUTABLE):
        api.replace(CLASSES, stored)


def test_a_class_without_spec_never_gets_one(api: KubeApi, store: Callable[[Document], Document]) -> None:
    document = named()
    spec = document.pop("spec")
    stored = store(document)

    with pytest.raises(Invalid, match=IMMUTABLE):
        api.replace(CLASSES, {**stored, "spec": spec})


def test_labels_of_a_class_may_change(api: KubeApi, store: Callable[[Document], Document]) -> None:
    stored = store(named(row("Kind", "In", "nvidia-gpu")))
    stored["metadata"]["labels"] = {"team": "a"}

    assert api.replace(CLASSES, stored).document["metadata"]["labels"] == {"team": "a"}


def test_the_status_is_written_apart_and_shown_in_columns(
    api: KubeApi, store: Callable[[Document], Document], kubectl: Callable[..., str]
) -> None:
    stored = store(named(row("type", "In", "gpu")))
    name = stored["metadata"]["name"]
    state = ClusterState()
    statuses = ClassStatuses(state)
    turns = StatusTurns(statuses, lambda: 0.0, lambda: NOW)
    state.set_node(Node(NODE.name))
    state.set_pool(pool(*(device(f"gpu-{number}", attributes={"type": "gpu"}) for number in range(8))))
    state.hold(held("gpu-0", "gpu-5"))
    statuses.set_class(stored)

    (write,) = turns.due()
    after = dict(api.patch(CLASSES, write.name, write.document, subresource="status").document)
    statuses.set_class(after)
    turns.ended(name, is_written=True)

    head, line = (one.split() for one in kubectl("get", "rclass", name).splitlines())
    assert head == ["NAME", "ALLOCATABLE", "REQUESTED", "AGE"]
    assert line[:3] == [name, "8", "2"]
    assert list(statuses.changed()) == []
    assert after["metadata"]["generation"] == stored["metadata"]["generation"]


def test_whoever_writes_a_class_cannot_write_its_status(
    api: KubeApi, store: Callable[[Document], Document]
) -> None:
    document = named(row("type", "In", "gpu"))

    stored = store({**document, "status": {"allocatable": 5, "requested": 0}})

    assert "status" not in stored
