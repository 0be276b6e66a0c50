"""Reads the facts of a cluster. Nothing is decided here."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from tangram.doctor.cluster.facts import ClusterFacts, Document
from tangram.doctor.cluster.rules import OLDEST
from tangram.doctor.ports import MendableCluster
from tangram.errors import BadInput

_GATE: Final = re.compile(r'^kubernetes_feature_enabled\{name="(\w+)"[^}]*\} ([01])', re.MULTILINE)
_WARNINGS: Final = "type=Warning"


def collect_cluster(
    cluster: MendableCluster, driver: str, now_s: float, older_than_s: float, left_out: Callable[[str], None]
) -> ClusterFacts:
    """Read what the findings need.

    Shape: ``left_out`` is told what the user may not read; nodes, slices, claims and pods are needed.
    Units: ``now_s`` seconds since 1970.
    Raises: BadInput.
    """
    version = _version(cluster.text("/version"))
    if version < OLDEST:
        return ClusterFacts(driver=driver, now_s=now_s, older_than_s=older_than_s, version=version)

    def if_allowed(kind: str, fields: str = "") -> tuple[Document, ...] | None:
        try:
            return cluster.list(kind, fields)
        except BadInput as error:
            left_out(f"not looked at: {error}")
            return None

    return ClusterFacts(
        driver=driver,
        now_s=now_s,
        older_than_s=older_than_s,
        version=version,
        gates=_gates(cluster, left_out),
        nodes=cluster.list("Node"),
        slices=cluster.list("ResourceSlice", f"spec.driver={driver}"),
        composite_slices=if_allowed("CompositeResourceSlice", f"spec.driver={driver}") or (),
        claims=cluster.list("ResourceClaim"),
        pods=cluster.list("Pod"),
        classes=if_allowed("DeviceClass"),
        policies=if_allowed("ValidatingAdmissionPolicy"),
        bindings=if_allowed("ValidatingAdmissionPolicyBinding"),
        accounts=if_allowed("ServiceAccount"),
        multi_node_pools=if_allowed("MultiNodePool"),
        events=if_allowed("Event", _WARNINGS),
    )


def _version(answer: str) -> tuple[int, int]:
    """Return major and minor version. Raises: BadInput."""
    try:
        found = json.loads(answer)
        return int(found["major"]), int(re.sub(r"\D.*", "", found["minor"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"the answer of the API server to /version cannot be read: {answer[:80]!r}") from error


def _gates(cluster: MendableCluster, left_out: Callable[[str], None]) -> Mapping[str, bool]:
    try:
        return {name: value == "1" for name, value in _GATE.findall(cluster.text("/metrics"))}
    except BadInput as error:
        left_out(f"not looked at: feature gates: {error}")
        return {}
