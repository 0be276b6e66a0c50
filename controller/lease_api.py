"""The Lease of the controller at the API server: an adapter from ``kube_api`` to the port of the election.

It has a client of its own, so that no other call of the program delays a renewal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from controller.election.ports import LeaseError, LeaseOutdated
from controller.election.values import Lease
from kube_api import AlreadyExists, Conflict, KubeApi, KubeApiError, Limits, NotFound, Object, Resource

LEASES: Final = Resource.of("coordination.k8s.io/v1", "Lease", "leases", namespaced=True)
_Answer = TypeVar("_Answer")


class ApiLease:
    """One Lease object. For one thread."""

    def __init__(
        self, api: KubeApi, namespace: str, name: str, wall_clock: Callable[[], float] = time.time
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._wall_clock = wall_clock
        self._last: Object | None = None  # what was read or written last: a write keeps its other fields

    @classmethod
    def connect(
        cls, kubeconfig: Path | None, context: str | None, namespace: str, name: str, longest_call_s: float
    ) -> Self:
        """Find the API server; nothing is sent yet. Raises: LeaseError, where it is not configured."""
        limits = Limits(
            connect_timeout_s=longest_call_s / 2,
            read_timeout_s=longest_call_s,
            call_timeout_s=longest_call_s,
            attempts=1,
        )
        api = _asked(
            lambda: KubeApi.connect(kubeconfig, context, user_agent="tangram-controller", limits=limits)
        )
        return cls(api, namespace, name)

    def read(self) -> Lease | None:
        """Return the Lease, None where there is none. Raises: LeaseError."""
        try:
            return self._kept(_asked(lambda: self._api.get(LEASES, self._name, self._namespace)))
        except LeaseOutdated:
            return None

    def create(self, holder: str, lasts_s: float) -> Lease:
        """Create the Lease with its holder. Raises: LeaseOutdated where it exists; LeaseError."""
        metadata = {"name": self._name, "namespace": self._namespace}
        document = {"metadata": metadata, "spec": self._spec({}, holder, lasts_s)}
        return self._kept(_asked(lambda: self._api.create(LEASES, document, self._namespace)))

    def write(self, lease: Lease, holder: str, lasts_s: float) -> Lease:
        """Store a holder if the Lease still has the version of ``lease``.

        Raises: LeaseOutdated; LeaseError.
        """
        last = self._last
        if last is None or last.metadata.resource_version != lease.version:
            raise LeaseOutdated(f"version {lease.version} of the Lease is not the one that was read last")
        spec = self._spec(last.document.get("spec") or {}, holder, lasts_s)
        document = {**last.document, "spec": spec}
        return self._kept(_asked(lambda: self._api.replace(LEASES, document, self._namespace)))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def _spec(self, old: Mapping[str, Any], holder: str, lasts_s: float) -> dict[str, Any]:
        """Return the spec with a holder. The times are for people: no process counts on them."""
        now = datetime.fromtimestamp(self._wall_clock(), UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        spec = {**old, "holderIdentity": holder, "leaseDurationSeconds": round(lasts_s), "renewTime": now}
        if holder and holder != old.get("holderIdentity"):
            spec["acquireTime"] = now
            spec["leaseTransitions"] = int(old.get("leaseTransitions") or 0) + 1
        return spec

    def _kept(self, found: Object) -> Lease:
        self._last = found
        spec = found.document.get("spec") or {}
        holder, lasts_s = spec.get("holderIdentity") or "", spec.get("leaseDurationSeconds") or 0
        return Lease(holder, float(lasts_s), found.metadata.resource_version)


def _asked(call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except (Conflict, AlreadyExists, NotFound) as error:
        raise LeaseOutdated(str(error)) from error
    except KubeApiError as error:
        raise LeaseError(str(error)) from error
