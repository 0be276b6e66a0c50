"""Reads which group a pod is in and what its author asks of it, from documents of an API server.

Sources: Koordinator's gang annotations (proposal 20220901-gang-scheduling, apis/extension/coscheduling.go);
PodGroup of kubernetes-sigs/scheduler-plugins; ``spec.schedulingGroup`` and PodGroup of scheduling.k8s.io
(KEP-4671, v1alpha2 of 1.36 and v1beta1 of 1.37).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from controller.gangs.duration import seconds
from controller.gangs.values import Gang, GroupKey, InvalidPodGroup, Membership, Source
from scheduler_core.codec.fields import Fields, subject_of
from scheduler_core.frontends.annotations.errors import InvalidPod

LABEL: Final = "scheduling.x-k8s.io/pod-group"
_PREFIX: Final = "gang.scheduling.koordinator.sh/"
_NAME: Final = f"{_PREFIX}name"
_MINIMUM: Final = f"{_PREFIX}min-available"
_TOTAL: Final = f"{_PREFIX}total-number"
_WAITING: Final = f"{_PREFIX}waiting-time"
_MODE: Final = f"{_PREFIX}mode"
_GROUPS: Final = f"{_PREFIX}groups"
_MODES: Final = ("Strict", "NonStrict")
_MOST: Final = 2**31 - 1
"""The largest number of members: the APIs have integers of 32 bits."""


def membership_of(pod: Mapping[str, Any]) -> Membership | None:
    """Return what a pod says about its group, None for a pod without one.

    Raises: InvalidPod for annotations that mean nothing or ask for what is not done, and for a second group.
    """
    fields = Fields(pod, subject_of(pod, "Pod"), "", InvalidPod)
    metadata = fields.child("metadata")
    namespace = metadata.text("namespace", "default")
    found = [
        one
        for one in (
            _koordinator(metadata.optional("annotations"), namespace),
            _named(metadata.optional("labels"), LABEL, Source.SCHEDULER_PLUGINS, namespace),
            _named(
                fields.optional("spec").optional("schedulingGroup"),
                "podGroupName",
                Source.KUBERNETES,
                namespace,
            ),
        )
        if one is not None
    ]
    if len(found) > 1:
        first, second = (f"{one.key.name} ({one.key.source})" for one in found[:2])
        raise InvalidPod(fields.subject, "", None, f"is in one group at most; it names {first} and {second}")
    return found[0] if found else None


def pod_group_of(document: Mapping[str, Any]) -> tuple[GroupKey, Gang | None]:
    """Return the key of a PodGroup and what it asks for, None where its pods are served one by one.

    Raises: InvalidPodGroup for a field that is wrong, or that asks for what is not done.
    """
    fields = Fields(document, subject_of(document, "PodGroup"), "", InvalidPodGroup)
    metadata, spec = fields.child("metadata"), fields.child("spec")
    group = fields.text("apiVersion").partition("/")[0]
    read: Callable[[Fields], Gang | None]
    if group == "scheduling.x-k8s.io":
        source, read = Source.SCHEDULER_PLUGINS, _of_scheduler_plugins
    elif group == "scheduling.k8s.io":
        source, read = Source.KUBERNETES, _of_kubernetes
    else:
        raise fields.refuse("apiVersion", "must be of scheduling.x-k8s.io or scheduling.k8s.io", group)
    return GroupKey(source, metadata.text("namespace"), metadata.text("name")), read(spec)


def agreed(key: GroupKey, members: Sequence[tuple[str, Membership]]) -> Gang | None:
    """Return what the members say about their group, None where none of them says it.

    Shape: ``members`` are the name of a pod and what it says.
    Raises: InvalidPod where two members say different things.
    """
    stated = [(pod, one.gang) for pod, one in members if one.gang is not None]
    for pod, gang in stated[1:]:
        first, known = stated[0]
        if gang != known:
            rule = f"asks for {_text(gang)}; pod {first} of its group {key} asks for {_text(known)}"
            raise InvalidPod(f"Pod {key.namespace}/{pod}", "", None, rule)
    return stated[0][1] if stated else None


def _text(gang: Gang) -> str:
    wait = "" if gang.timeout_s is None else f", waiting at most {gang.timeout_s:g} s"
    return f"at least {gang.minimum} members{wait}"


def _named(fields: Fields, field: str, source: Source, namespace: str) -> Membership | None:
    name = fields.text(field, "")
    return Membership(GroupKey(source, namespace, name)) if name else None


def _koordinator(annotations: Fields, namespace: str) -> Membership | None:
    mine = [key for key in annotations.values if key.startswith(_PREFIX)]
    if not mine:
        return None
    if not annotations.has(_NAME):
        raise annotations.refuse(
            mine[0], f"needs the name of the group in {_NAME}", annotations.text(mine[0])
        )
    name = annotations.text(_NAME, rule=lambda text: None if text else "must not be empty")
    _check_what_is_not_done(annotations, f"{namespace}/{name}")
    key = GroupKey(Source.KOORDINATOR, namespace, name)
    if not annotations.has(_MINIMUM):
        return Membership(key)
    minimum = _count(annotations, _MINIMUM, 1)
    if annotations.has(_TOTAL):
        _count(annotations, _TOTAL, minimum)
    return Membership(key, Gang(minimum, _waiting(annotations)))


def _check_what_is_not_done(annotations: Fields, group: str) -> None:
    mode = annotations.text(_MODE, "Strict")
    if mode not in _MODES:
        raise annotations.refuse(_MODE, f"must be {' or '.join(_MODES)}", mode)
    text = annotations.text(_GROUPS, "")
    if not text:
        return
    try:
        groups = json.loads(text)
    except (RecursionError, ValueError):
        groups = None
    if not isinstance(groups, list) or not all(isinstance(one, str) for one in groups):
        raise annotations.refuse(_GROUPS, "must be a JSON list of NAMESPACE/NAME", text)
    if any(one != group for one in groups):
        raise annotations.refuse(_GROUPS, f"may name {group} alone: groups are not bundled", text)


def _count(annotations: Fields, key: str, least: int) -> int:
    text = annotations.text(key)
    found = int(text) if text.isascii() and text.isdecimal() and len(text) <= 10 else -1
    if not least <= found <= _MOST:
        raise annotations.refuse(key, f"must be a number from {least} to {_MOST}", text)
    return found


def _waiting(annotations: Fields) -> float | None:
    if not annotations.has(_WAITING):
        return None
    text = annotations.text(_WAITING)
    found = seconds(text)
    if found is None:
        raise annotations.refuse(_WAITING, "must be a duration above zero such as 100s or 1h30m", text)
    return found


def _of_scheduler_plugins(spec: Fields) -> Gang:
    timeout_s = None
    if spec.has("scheduleTimeoutSeconds"):
        timeout_s = float(spec.integer("scheduleTimeoutSeconds", least=1, most=_MOST))
    return Gang(spec.integer("minMember", 1, least=1, most=_MOST), timeout_s)


def _of_kubernetes(spec: Fields) -> Gang | None:
    constraints = spec.optional("schedulingConstraints")
    if any(constraints.values.values()):
        raise spec.refuse("schedulingConstraints", "the controller does not know constraints of groups")
    policy = spec.child("schedulingPolicy")
    if policy.has("basic") is policy.has("gang"):
        raise spec.refuse("schedulingPolicy", "must have one of basic and gang")
    if policy.has("basic"):
        return None
    return Gang(policy.child("gang").integer("minCount", least=1, most=_MOST))
