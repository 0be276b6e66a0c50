"""The kinds of pods that come and go, as documents: pure.

In go a kind, a name and what was drawn for it; out come the claims and pods to create. Every container runs
``holder.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scheduler_core.model.ownership import GATE

Document = dict[str, Any]

FOLDER: Final = "/run/chaos"
"""On the node, and in every container."""
MACHINE: Final = "/var/lib/tangram/machine"
GPU_CLASS, NIC_CLASS = "chaos.gpu", "chaos.nic"
PART, HALF = "part", "half"
"""Names of the templates, which all pods share."""
_IMAGE: Final = "localhost/tangram:test"
_KOORDINATOR: Final = "scheduling.koordinator.sh"
_GANG: Final = "gang.scheduling.koordinator.sh"
_TOO_MANY: Final = 9  # GPUs: the machine has eight


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """What differs between two arrivals of one kind.

    Shape: ``name`` is that of its objects; ``is_gated`` where the kind leaves it open.
    Units: seconds; after ``lasts_s`` its containers end by themselves. With a ``grace_s`` of 0 a deleted pod
           is gone at the API server while its container still runs.
    """

    name: str
    is_gated: bool
    lasts_s: float
    grace_s: int


@dataclass(frozen=True, slots=True)
class Objects:
    """What one arrival is. Shape: ``claims`` are created before ``pods``."""

    claims: tuple[Document, ...]
    pods: tuple[Document, ...]


def objects(kind: str, drawn: Drawn) -> Objects:
    """Return what an arrival of a kind is. Raises: KeyError for a kind that there is not."""
    return _KINDS[kind](drawn)


def templates() -> tuple[Document, ...]:
    """Return the claim templates that pods name."""
    return tuple(
        {"metadata": {"name": name}, "spec": {"spec": _claim_spec(profile)}}
        for name, profile in ((PART, "2g.10gb"), (HALF, "3g.20gb"))
    )


def resource_classes() -> tuple[Document, ...]:
    """Return the resource classes that pods name."""
    kinds = {GPU_CLASS: "nvidia-gpu", NIC_CLASS: "nic"}
    return tuple(
        {
            "metadata": {"name": name},
            "spec": {
                "resourceSelector": [
                    {"matchExpressions": [{"key": "Kind", "operator": "In", "values": [kind]}]}
                ]
            },
        }
        for name, kind in kinds.items()
    )


def _partitions(drawn: Drawn) -> Objects:
    """KEP-4815's claim: four partitions that fill one GPU."""
    spec = _claim_spec("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")
    spec["devices"]["constraints"] = [{"matchAttribute": "tangram.dev/parentUUID"}]
    return _with_claim(drawn, spec, is_gated=True)


def _gpu(drawn: Drawn) -> Objects:
    return _with_claim(drawn, _gpus(1), is_gated=drawn.is_gated)


def _too_many(drawn: Drawn) -> Objects:
    return _with_claim(drawn, _gpus(_TOO_MANY), is_gated=drawn.is_gated)


def _joint(drawn: Drawn) -> Objects:
    annotation = {f"{_KOORDINATOR}/device-joint-allocate": '{"deviceTypes": ["gpu", "rdma"]}'}
    return Objects((), (_pod(drawn, {"nvidia.com/gpu": 1, "koordinator.sh/rdma": 1}, annotation),))


def _amounts(drawn: Drawn) -> Objects:
    hint = '{"rdma": {"vfSelector": {}, "allocateStrategy": "RequestsAsCount"}}'
    annotation = {f"{_KOORDINATOR}/device-allocate-hint": hint}
    return Objects((), (_pod(drawn, {"koordinator.sh/rdma": 2}, annotation),))


def _resource_class(drawn: Drawn) -> Objects:
    limits = {f"class.tangram.dev/{GPU_CLASS}": 1, f"class.tangram.dev/{NIC_CLASS}": 1}
    return Objects((), (_pod(drawn, limits),))


def _template(drawn: Drawn) -> Objects:
    claims = [{"name": "c", "resourceClaimTemplateName": PART}]
    return Objects((), (_pod(drawn, claims=claims, is_gated=drawn.is_gated),))


def _shared(drawn: Drawn) -> Objects:
    """Two pods with one claim."""
    claims = [{"name": "c", "resourceClaimName": drawn.name}]
    pods = tuple(
        _pod(drawn, claims=claims, is_gated=drawn.is_gated, name=f"{drawn.name}-{one}", owner=drawn.name)
        for one in "ab"
    )
    return Objects(({"metadata": {"name": drawn.name}, "spec": _claim_spec("3g.20gb")},), pods)


def _gang(drawn: Drawn) -> Objects:
    """Two pods that get devices together or not at all."""
    annotations = {f"{_GANG}/name": drawn.name, f"{_GANG}/min-available": "2"}
    claims = [{"name": "c", "resourceClaimTemplateName": HALF}]
    pods = (
        _pod(drawn, annotations=annotations, claims=claims, is_gated=True, name=f"{drawn.name}-{one}")
        for one in "ab"
    )
    return Objects((), tuple(pods))


_KINDS: Final[Mapping[str, Callable[[Drawn], Objects]]] = {
    "partitions": _partitions,
    "gpu": _gpu,
    "joint": _joint,
    "amounts": _amounts,
    "class": _resource_class,
    "template": _template,
    "shared": _shared,
    "gang": _gang,
    "too-many": _too_many,
}
KINDS: Final = tuple(_KINDS)
NEVER_RUNS: Final = frozenset({"too-many"})


def _with_claim(drawn: Drawn, spec: Document, *, is_gated: bool) -> Objects:
    claims = [{"name": "c", "resourceClaimName": drawn.name}]
    claim = {"metadata": {"name": drawn.name}, "spec": spec}
    return Objects((claim,), (_pod(drawn, claims=claims, is_gated=is_gated),))


def _claim_spec(*profiles: str) -> Document:
    requests = [
        {
            "name": f"part-{number}",
            "exactly": {
                "deviceClassName": "mig.tangram.dev",
                "selectors": [
                    {"cel": {"expression": f'device.attributes["tangram.dev"].profile == "{profile}"'}}
                ],
            },
        }
        for number, profile in enumerate(profiles)
    ]
    return {"devices": {"requests": requests}}


def _gpus(count: int) -> Document:
    wanted = {"deviceClassName": "gpu.tangram.dev", "count": count}
    return {"devices": {"requests": [{"name": "gpus", "exactly": wanted}]}}


def _pod(
    drawn: Drawn,
    limits: Mapping[str, int] | None = None,
    annotations: Mapping[str, str] | None = None,
    *,
    claims: Sequence[Document] = (),
    is_gated: bool = False,
    name: str = "",
    owner: str = "",
) -> Document:
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
            "schedulingGates": [{"name": GATE}] if is_gated else [],
            "resourceClaims": list(claims),
            "containers": [container],
            "volumes": [
                {"name": "chaos", "hostPath": {"path": FOLDER}},
                {"name": "machine", "hostPath": {"path": MACHINE}},
            ],
        },
    }
