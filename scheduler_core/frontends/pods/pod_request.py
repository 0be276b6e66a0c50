"""Reads what a pod's manifest asks of devices: amounts, hints and partitions.

Amounts are added up as in Kubernetes: a limit counts where the request is missing, containers and sidecars
are added, and an init container counts where it needs more, together with the sidecars before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from typing import Any

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.container_sums import summed
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.annotations.reading import SCHEDULING
from scheduler_core.frontends.partitions.table import SPEC, PartitionSpec, spec_of
from scheduler_core.frontends.pods.amounts import (
    CARDS,
    NAMES,
    Amounts,
    Ask,
    card_ask,
    checked,
    gpu_ask,
    read_amount,
)
from scheduler_core.frontends.pods.hints import GPU, HINT, JOINT, Hint, Joint, hints_of, joint_of


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAsk:
    """What a pod asks of a node's devices.

    Shape: ``asks`` by type, never empty; ``hints`` by type; ``spec`` is None where the pod has no annotation
           about partitions; ``warnings`` name annotations without effect.
    """

    subject: str
    amounts: Amounts
    asks: Mapping[str, Ask]
    hints: Mapping[str, Hint] = field(default_factory=dict)
    joint: Joint | None = None
    spec: PartitionSpec | None = None
    warnings: tuple[str, ...] = ()

    def hint(self, kind: str) -> Hint:
        """Return the hint for a type, an empty one where there is none."""
        return self.hints.get(kind, Hint())


def decode_pod(obj: object) -> PodAsk:
    """Return what a pod asks for. Raises: InvalidPod for the first mistake, with its path."""
    subject = subject_of(obj, "Pod")
    fields = Fields(obj, subject, "", InvalidPod)
    texts = marks_in(fields.optional("metadata").optional("annotations"))
    return ask_of(subject, pod_amounts(fields.child("spec"), subject), texts)


def marks_in(annotations: Fields) -> Mapping[str, str]:
    """Return the texts of the annotations about devices, by name without the prefix. Raises: InvalidPod."""
    return {
        name: annotations.text(SCHEDULING + name)
        for name in (JOINT, HINT, SPEC)
        if annotations.has(SCHEDULING + name)
    }


def ask_of(subject: str, amounts: Amounts, annotations: Mapping[str, object]) -> PodAsk:
    """Return what amounts and annotations ask for. Shape: annotations by name, without the prefix.

    Raises: InvalidPod.
    """
    hints = hints_of(subject, annotations[HINT]) if HINT in annotations else {}
    amounts = checked(subject, {name: amount for name, amount in amounts.items() if amount}, hints)
    asks = _asks(amounts, hints)
    gpus = asks.get(GPU)
    warnings = list(_without_effect(subject, hints, asks))
    if SPEC in annotations and (gpus is None or gpus.is_shared):
        warnings.append(f"{subject}: {SPEC} has no effect: the pod asks for no whole GPU")
    return PodAsk(
        subject=subject,
        amounts=amounts,
        asks=asks,
        hints=hints,
        joint=joint_of(subject, annotations[JOINT]) if JOINT in annotations else None,
        spec=spec_of(subject, annotations[SPEC]) if SPEC in annotations else None,
        warnings=tuple(warnings),
    )


def changed_ask(ask: PodAsk, amounts: Amounts, hints: Mapping[str, Hint]) -> PodAsk:
    """Return the ask with other amounts and hints. Raises: InvalidPod where they do not go together."""
    amounts = checked(ask.subject, amounts, hints)
    return replace(ask, amounts=amounts, hints=hints, asks=_asks(amounts, hints))


def _asks(amounts: Amounts, hints: Mapping[str, Hint]) -> dict[str, Ask]:
    gpus = gpu_ask(amounts)
    asks = {} if gpus is None else {GPU: gpus}
    for kind, resource in CARDS.items():
        if resource in amounts:
            asks[kind] = card_ask(kind, amounts[resource], hints.get(kind, Hint()))
    return asks


def pod_amounts(spec: Fields, subject: str) -> Amounts:
    """Return the sum over all containers of a pod. Raises: InvalidPod."""
    found = summed(spec, lambda container: _container(container, subject))
    return {name: found[name] for name in NAMES if name in found}


def _container(container: Fields, subject: str) -> dict[str, int]:
    resources = container.optional("resources")
    found: dict[str, int] = {}
    for part in ("limits", "requests"):  # a request overrides a limit
        listed = resources.optional(part)
        for name, value in listed.values.items():
            if str(name).startswith("koordinator.sh/gpu") and name not in NAMES:
                raise listed.refuse(str(name), f"is no known GPU resource; known: {', '.join(NAMES)}")
            if name in NAMES:
                found[str(name)] = read_amount(subject, listed.at(str(name)), str(name), value)
    return found


def _without_effect(subject: str, hints: Mapping[str, Hint], asks: Mapping[str, Ask]) -> Iterator[str]:
    for kind, hint in hints.items():
        if kind not in asks:
            yield f"{subject}: the hint for {kind} has no effect: the pod asks for none"
        elif kind == GPU and hint.strategy is not None:
            yield f"{subject}: allocateStrategy {hint.strategy} has no effect on gpu: its amount is a number"


def amounts_of(subject: str, requests: Mapping[str, Any]) -> Amounts:
    """Return amounts that are already added up. Raises: InvalidPod."""
    return {
        name: read_amount(subject, f"requests {name}", name, value)
        for name, value in requests.items()
        if name in NAMES
    }
