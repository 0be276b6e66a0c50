"""A cluster that is looked at, and mended with the rights of the user."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from tangram.doctor.cluster.collect import collect_cluster
from tangram.doctor.cluster.findings import cluster_findings
from tangram.doctor.finding import Delete, Finding, Release, RemoveFinalizer
from tangram.doctor.ports import MendableCluster


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPatient:
    """A cluster. Units: ``clock`` seconds since 1970; ``older_than_s`` how old a taint must be."""

    cluster: MendableCluster
    driver: str
    older_than_s: float
    clock: Callable[[], float]
    left_out: Callable[[str], None]

    @property
    def name(self) -> str:
        """Return how a person calls it."""
        return f"driver {self.driver} in the cluster"

    @property
    def scope(self) -> Mapping[str, Any]:
        """Return what was looked at, for scripts."""
        return {"scope": "cluster", "driver": self.driver}

    def look(self) -> tuple[Finding, ...]:
        """Look once. Raises: BadInput."""
        facts = collect_cluster(self.cluster, self.driver, self.clock(), self.older_than_s, self.left_out)
        return cluster_findings(facts)

    def mend(self, finding: Finding) -> str:
        """Do the fix; the server refuses it where an object has changed since the look. Raises: BadInput."""
        match finding.fix:
            case Delete(objects):
                for one in objects:
                    self.cluster.delete_unchanged(one)
            case RemoveFinalizer(of, _, rest):
                self.cluster.set_finalizers(of, rest)
            case Release() | None:
                raise AssertionError("no finding in a cluster has such a fix")
        return str(finding.fix)
