"""The campaign's objects at the API server: created and deleted until the server has taken it.

In go arrivals and departures; out come what is there and what the server refused. While the server or the
webhook is away nothing is lost: every call is made again in the next round.
"""

from __future__ import annotations

import contextlib
import random
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chaos import pods, random_claims
from chaos.stream import Arrival, Go
from controller.api import RESOURCE_CLASSES
from controller.lease_api import LEASES
from kube_api import (
    DEVICE_CLASSES,
    NAMESPACES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    AlreadyExists,
    ApiError,
    KubeApi,
    Limits,
    NotFound,
    Resource,
)

DEPLOYMENTS = Resource.of("apps/v1", "Deployment", "deployments", namespaced=True)
SYSTEM, NAME = "tangram-system", "tangram-controller"
_GAUGES = ("waiting_pods", "pods_in_flight", "doubly_held_devices", "held_back_nodes")
_WRONG = (400, 403, 404, 422)
_METRICS_S = 5.0
Deed = tuple[Resource, str, dict[str, Any] | None]
"""An object to create, or to delete where there is no document."""


def connect(kubeconfig: Path) -> KubeApi:
    """Return the API server, asked once for each call: calls that fail are made again in the next round."""
    limits = Limits(calls_per_s=200, burst=400, attempts=1, connect_timeout_s=2, read_timeout_s=10)
    return KubeApi.connect(
        kubeconfig,
        user_agent="tangram-chaos",
        clock=time.monotonic,
        sleep=time.sleep,
        random=random.random,
        limits=limits,
    )


class ApiSide:
    """One namespace.

    Shape: ``has_controller`` whether Tangram's controller runs; ``failed`` counts calls that failed and were
           made again, by status; ``refused`` are objects that the server will never take.
    """

    def __init__(self, api: KubeApi, namespace: str, *, has_controller: bool) -> None:
        self.api, self.namespace, self.has_controller = api, namespace, has_controller
        self.failed: Counter[str] = Counter()
        self.refused: list[str] = []
        self._todo: list[Deed] = []
        self._leader = ""

    def begin(self) -> None:
        """Create what all pods share. Raises: ApiError."""
        self.api.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        for template in pods.templates():
            self.api.create(RESOURCE_CLAIM_TEMPLATES, template, self.namespace)
        for resource, one in self._shared():
            self.api.create(resource, one)

    def end(self) -> None:
        """Delete what all pods shared. Raises: ApiError."""
        for resource, one in self._shared():
            self.api.delete(resource, one["metadata"]["name"])
        self.api.delete(NAMESPACES, self.namespace)

    def _shared(self) -> Iterator[tuple[Resource, dict[str, Any]]]:
        """Yield what pods share and lies in no namespace."""
        if self.has_controller:
            yield from ((RESOURCE_CLASSES, one) for one in pods.resource_classes())
        else:
            yield from ((DEVICE_CLASSES, one) for one in random_claims.device_classes())

    def come(self, arrival: Arrival) -> None:
        """Create an arrival, claims first."""
        self._todo += [(RESOURCE_CLAIMS, one["metadata"]["name"], one) for one in arrival.objects.claims]
        self._todo += [(PODS, one["metadata"]["name"], one) for one in arrival.objects.pods]
        self.work()

    def go(self, go: Go) -> None:
        """Delete an arrival, claims first: they stay until their pods are gone."""
        gone = go.arrival.pods[:1] if go.is_half else go.arrival.pods
        claims = () if go.is_half else go.arrival.claims
        deeds: list[Deed] = [(RESOURCE_CLAIMS, name, None) for name in claims]
        deeds += [(PODS, name, None) for name in gone]
        names = {name for _, name, _ in deeds}
        self._todo = [one for one in self._todo if one[1] not in names] + deeds
        self.work()

    def work(self) -> bool:
        """Try what is to be done; return whether all of it is done."""
        self._todo = [deed for deed in self._todo if not self._done(deed)]
        return not self._todo

    def _done(self, deed: Deed) -> bool:
        resource, name, document = deed
        try:
            if document is None:
                self.api.delete(resource, name, self.namespace)
            else:
                self.api.create(resource, document, self.namespace)
        except (AlreadyExists, NotFound):
            return True
        except ApiError as error:
            if error.status in _WRONG:
                self.refused.append(str(error))
                return True
            self.failed[str(error.status or "no answer")] += 1
            return False
        return True

    def programs(self) -> dict[str, int]:
        """Return how many processes of each program the cluster is to have on its node. Raises: ApiError."""
        on_node = {"agent": 1, "plugin": 1}
        if not self.has_controller:
            return on_node
        wanted = self.api.get(DEPLOYMENTS, NAME, SYSTEM).document["spec"]
        return {**on_node, "controller": int(wanted["replicas"])}

    def leader(self) -> str:
        """Return the controller's pod that leads, or that led when the server last answered."""
        with contextlib.suppress(ApiError):
            spec = self.api.get(LEASES, NAME, SYSTEM).document["spec"]
            self._leader = str(spec.get("holderIdentity") or "").partition("_")[0]
        return self._leader

    def documents(self, resource: Resource) -> list[dict[str, Any]]:
        """Return all objects of a kind: of this namespace, or of the cluster. Raises: ApiError."""
        namespace = self.namespace if resource.namespaced else None
        return [dict(one.document) for one in self.api.list(resource, namespace).items]

    def slices(self) -> list[dict[str, Any]]:
        """Return the slices of the cluster. Raises: ApiError."""
        return self.documents(RESOURCE_SLICES)

    def claims(self) -> list[dict[str, Any]]:
        """Return the claims. Raises: ApiError."""
        return self.documents(RESOURCE_CLAIMS)

    def left(self) -> Iterator[str]:
        """Yield what is left when everything was deleted, as sentences. Raises: ApiError; OSError."""
        for resource in (PODS, RESOURCE_CLAIMS):
            for one in self.documents(resource):
                metadata = one["metadata"]
                kept = f", kept by {metadata['finalizers']}" if metadata.get("finalizers") else ""
                yield f"there is the {resource.kind} {metadata['name']}{kept}"
        if not self.has_controller:
            return
        for one in self.documents(RESOURCE_CLASSES):
            if (requested := one.get("status", {}).get("requested")) != 0:
                yield f"ResourceClass {one['metadata']['name']} says that {requested} are requested"
        yield from self._metrics()

    def _metrics(self) -> Iterator[str]:
        leaders = 0
        for pod in self.api.list(PODS, SYSTEM, f"app.kubernetes.io/name={NAME}").items:
            name, address = pod.metadata.name, pod.document.get("status", {}).get("podIP")
            with urllib.request.urlopen(f"http://{address}:9464/metrics", timeout=_METRICS_S) as answer:
                values = _values(answer.read().decode())
            leaders += values["leader"] == 1
            wanted = _GAUGES if values["leader"] == 1 else ()
            for key in (*wanted, "unforeseen_failures_total"):
                if values[key]:
                    yield f"controller {name} says {key} {values[key]:.0f}"
        if leaders != 1:
            yield f"{leaders} controllers lead"


def _values(text: str) -> Counter[str]:
    """Return the sum of each metric's series, by its name without our prefix."""
    found: Counter[str] = Counter()
    for line in text.splitlines():
        if not line.startswith("#"):
            series, _, value = line.rpartition(" ")
            found[series.partition("{")[0].removeprefix("tangram_controller_")] += float(value)  # type: ignore[assignment]
    return found
