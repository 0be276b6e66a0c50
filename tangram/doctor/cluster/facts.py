"""PURE: what is known of a cluster, and what all its findings read from documents.

Documents come from an API server, so fields that it requires are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from tangram.doctor.finding import ObjectRef

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFacts:
    """A cluster at one moment.

    Shape: ``driver`` whose devices count; ``slices`` its own; the others are all objects of their kinds;
           ``events`` the warnings. None for what the user may not read. ``version`` of the server, major and
           minor; ``gates`` of the server that are on or off, as far as it tells them.
    Units: ``now_s`` seconds since 1970; ``older_than_s`` how old a taint must be.
    """

    driver: str
    now_s: float
    older_than_s: float
    version: tuple[int, int]
    gates: Mapping[str, bool] = field(default_factory=dict)
    nodes: tuple[Document, ...] = ()
    slices: tuple[Document, ...] = ()
    composite_slices: tuple[Document, ...] = ()
    claims: tuple[Document, ...] = ()
    pods: tuple[Document, ...] = ()
    classes: tuple[Document, ...] | None = None
    policies: tuple[Document, ...] | None = None
    bindings: tuple[Document, ...] | None = None
    accounts: tuple[Document, ...] | None = None
    multi_node_pools: tuple[Document, ...] | None = None
    events: tuple[Document, ...] | None = None

    def results(self, claim: Document) -> list[Document]:
        """Return the devices of our driver that are allocated to a claim."""
        found = part(claim, "status", "allocation", "devices").get("results") or []
        return [one for one in found if one.get("driver") == self.driver]

    def age_s(self, time: str) -> float:
        """Return how long a time is ago, 0 where it is none. Units: seconds."""
        try:
            return self.now_s - datetime.fromisoformat(time).timestamp()
        except ValueError:
            return 0.0

    def log_of(self, node: str, container: str) -> str:
        """Return the command that prints the log of the agent or the plugin of a node."""
        for pod in self.driver_pods():
            if pod["spec"].get("nodeName") == node:
                namespace, name = pod["metadata"]["namespace"], name_of(pod)
                return f"kubectl --namespace {namespace} logs {name} --container {container} --tail 50"
        return "kubectl get pods --all-namespaces --selector app.kubernetes.io/name=tangram --output wide"

    def driver_pods(self) -> Iterator[Document]:
        """Yield the pods that run the plugin of this driver, those that ended left out."""
        for pod in self.pods:
            is_over = part(pod, "status").get("phase") in {"Succeeded", "Failed"}
            if not is_over and any(_driver_of(one) == self.driver for one in pod["spec"]["containers"]):
                yield pod


def part(document: Document, *keys: str) -> Mapping[str, Any]:
    """Return a part of a document, empty where it is missing."""
    found: Any = document
    for key in keys:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def name_of(document: Document) -> str:
    """Return an object's name."""
    return str(document["metadata"]["name"])


def full_name(document: Document) -> str:
    """Return an object's name behind its namespace."""
    return f"{document['metadata'].get('namespace', '')}/{name_of(document)}"


def ref_of(document: Document, kind: str) -> ObjectRef:
    """Return an object as it is now."""
    found = document["metadata"]
    return ObjectRef(
        kind, found.get("namespace", ""), found["name"], found.get("uid", ""), found["resourceVersion"]
    )


def _driver_of(container: Document) -> str | None:
    """Return the driver of a container that runs the plugin, None for any other."""
    words = [*container.get("command", ()), *container.get("args", ())]
    if "plugin" not in words:
        return None
    names = [word.partition("=")[2] for word in words if word.startswith("--driver-name=")]
    name = names[-1] if names else "tangram.dev"
    for variable in container.get("env", ()):
        name = name.replace(f"$({variable['name']})", str(variable.get("value", "")))
    return name
