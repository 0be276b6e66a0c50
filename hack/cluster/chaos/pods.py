"""The kinds of pods that come and go, as documents: pure.

In go a kind, a name and what was drawn for it; out come the claims and pods to create.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from chaos import random_claims
from chaos.documents import Document, Drawn, Objects, partitions, pod, with_claim

GPU_CLASS, NIC_CLASS = "chaos.gpu", "chaos.nic"
PART, HALF = "part", "half"
"""Names of the templates, which all pods share."""
_KOORDINATOR: Final = "scheduling.koordinator.sh"
_GANG: Final = "gang.scheduling.koordinator.sh"
_TOO_MANY: Final = 9  # GPUs: the machine has eight


def objects(kind: str, drawn: Drawn) -> Objects:
    """Return what an arrival of a kind is. Raises: KeyError for a kind that there is not."""
    return _KINDS[kind](drawn)


def templates() -> tuple[Document, ...]:
    """Return the claim templates that pods name."""
    return tuple(
        {"metadata": {"name": name}, "spec": {"spec": partitions(profile)}}
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
    spec = partitions("1g.5gb", "1g.5gb", "2g.10gb", "3g.20gb")
    spec["devices"]["constraints"] = [{"matchAttribute": "tangram.dev/parentUUID"}]
    return with_claim(drawn, spec, is_gated=True)


def _gpu(drawn: Drawn) -> Objects:
    return with_claim(drawn, _gpus(1), is_gated=drawn.is_gated)


def _too_many(drawn: Drawn) -> Objects:
    return with_claim(drawn, _gpus(_TOO_MANY), is_gated=drawn.is_gated)


def _joint(drawn: Drawn) -> Objects:
    annotation = {f"{_KOORDINATOR}/device-joint-allocate": '{"deviceTypes": ["gpu", "rdma"]}'}
    return Objects((), (pod(drawn, {"nvidia.com/gpu": 1, "koordinator.sh/rdma": 1}, annotation),))


def _amounts(drawn: Drawn) -> Objects:
    hint = '{"rdma": {"vfSelector": {}, "allocateStrategy": "RequestsAsCount"}}'
    annotation = {f"{_KOORDINATOR}/device-allocate-hint": hint}
    return Objects((), (pod(drawn, {"koordinator.sh/rdma": 2}, annotation),))


def _resource_class(drawn: Drawn) -> Objects:
    limits = {f"class.tangram.dev/{GPU_CLASS}": 1, f"class.tangram.dev/{NIC_CLASS}": 1}
    return Objects((), (pod(drawn, limits),))


def _template(drawn: Drawn) -> Objects:
    claims = [{"name": "c", "resourceClaimTemplateName": PART}]
    return Objects((), (pod(drawn, claims=claims, is_gated=drawn.is_gated),))


def _shared(drawn: Drawn) -> Objects:
    """Two pods with one claim."""
    claims = [{"name": "c", "resourceClaimName": drawn.name}]
    pods = tuple(
        pod(drawn, claims=claims, is_gated=drawn.is_gated, name=f"{drawn.name}-{one}", owner=drawn.name)
        for one in "ab"
    )
    return Objects(({"metadata": {"name": drawn.name}, "spec": partitions("3g.20gb")},), pods)


def _gang(drawn: Drawn) -> Objects:
    """Two pods that get devices together or not at all."""
    annotations = {f"{_GANG}/name": drawn.name, f"{_GANG}/min-available": "2"}
    claims = [{"name": "c", "resourceClaimTemplateName": HALF}]
    pods = (
        pod(drawn, annotations=annotations, claims=claims, is_gated=True, name=f"{drawn.name}-{one}")
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
    "mixed": random_claims.mixed,
    "vfio": random_claims.vfio,
    "share": random_claims.share,
    "too-many": _too_many,
}
KINDS: Final = tuple(_KINDS)
NEVER_RUNS: Final = frozenset({"too-many"})
_BY_CONTROLLER: Final = frozenset({"joint", "amounts", "class", "gang"})
_BY_SCHEDULER: Final = frozenset({"mixed", "vfio", "share"})


def kinds_of(*, has_controller: bool) -> tuple[str, ...]:
    """Return the kinds of pods that run with Tangram's controller, or that kube-scheduler serves."""
    others = _BY_SCHEDULER if has_controller else _BY_CONTROLLER
    return tuple(kind for kind in KINDS if kind not in others)


def _gpus(count: int) -> Document:
    wanted = {"deviceClassName": "gpu.tangram.dev", "count": count}
    return {"devices": {"requests": [{"name": "gpus", "exactly": wanted}]}}
