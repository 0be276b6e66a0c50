"""The documents of pods and claims that come and go: what those of all kinds have in common. Pure.

Every container runs ``holder.py``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.model.ownership import GATE

Document = dict[str, Any]

FOLDER: Final = "/run/chaos"
"""On the node, and in every container."""
MACHINE: Final = "/var/lib/tangram/machine"
_IMAGE: Final = "localhost/tangram:test"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What differs between two arrivals of one kind.

    Shape: ``name`` is that of its objects; ``is_gated`` where the kind leaves it open; ``has_controller``
           whether Tangram's controller allocates, else no pod has its gate; ``pick`` decides what else the
           kind leaves open.
    Units: seconds; after ``lasts_s`` its containers end by themselves. With a ``grace_s`` of 0 a deleted pod
           is gone at the API server while its container still runs.
    """

    name: str
    is_gated: bool
    lasts_s: float
    grace_s: int
    has_controller: bool = True
    pick: int = 0


@dataclass(frozen=True, slots=True)
class Objects:
    """What one arrival is. Shape: ``claims`` are created before ``pods``."""

    claims: tuple[Document, ...]
    pods: tuple[Document, ...]


def request(name: str, device_class: str, expression: str = "", **more: Any) -> Document:
    """Return a request for one device. Shape: ``own`` in the expression are the driver's attributes."""
    wanted = {"deviceClassName": device_class, **more}
    if expression:
        text = expression.replace("own", 'device.attributes["tangram.dev"]')
        wanted["selectors"] = [{"cel": {"expression": text}}]
    return {"name": name, "exactly": wanted}


def partitions(*profiles: str) -> Document:
    """Return the spec of a claim for MIG partitions."""
    requests = [
        request(f"part-{number}", "mig.tangram.dev", f'own.profile == "{profile}"')
        for number, profile in enumerate(profiles)
    ]
    return {"devices": {"requests": requests}}


def with_claim(drawn: Drawn, spec: Document, *, is_gated: bool) -> Objects:
    """Return a claim and a pod with it."""
    claims = [{"name": "c", "resourceClaimName": drawn.name}]
    claim = {"metadata": {"name": drawn.name}, "spec": spec}
    return Objects((claim,), (pod(drawn, claims=claims, is_gated=is_gated),))


def pod(
    drawn: Drawn,
    limits: Mapping[str, int] | None = None,
    annotations: Mapping[str, str] | None = None,
    *,
    claims: Sequence[Document] = (),
    is_gated: bool = False,
    name: str = "",
    owner: str = "",
) -> Document:
    """Return a pod. Shape: pods of one ``owner`` may have the same hardware."""
    name = name or drawn.name
    program = ("python3", "-I", "-S", f"{FOLDER}/holder.py")
    container = {
        "name": "main",
        "image": _IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "command": [*program, FOLDER, MACHINE, name, owner or name, str(drawn.lasts_s)],
        "securityContext": {"runAsUser": 0},
        "resources": {"limits": dict(limits or {}), "claims": [{"name": one["name"]} for one in claims]},
        "volumeMounts": [
            {"name": "chaos", "mountPath": FOLDER},
            {"name": "machine", "mountPath": MACHINE, "readOnly": True},
        ],
    }
    return {
        "metadata": {"name": name, "annotations": dict(annotations or {})},
        "spec": {
            "restartPolicy": "Never",
            "hostNetwork": True,
            "automountServiceAccountToken": False,
            "terminationGracePeriodSeconds": drawn.grace_s,
            "schedulingGates": [{"name": GATE}] if is_gated and drawn.has_controller else [],
            "resourceClaims": list(claims),
            "containers": [container],
            "volumes": [
                {"name": "chaos", "hostPath": {"path": FOLDER}},
                {"name": "machine", "hostPath": {"path": MACHINE}},
            ],
        },
    }
