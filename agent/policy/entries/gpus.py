"""PURE: reads what a policy says of GPUs."""

from __future__ import annotations

import re
from typing import Final

from agent.hardware.types import GpuUuid
from agent.inventory.modes import ALL_OF_IT, ModesOfGpu
from agent.policy.entries.common import MOST, addresses, attributes, listed, refuse_silent
from agent.policy.model import GpuRule, GpuSelector, LayoutPart
from scheduler_core.codec.fields import Fields
from scheduler_core.frontends.configuration.fields import optional_flag, optional_integer

_SAYS: Final = (
    "excluded",
    "modes",
    "migMode",
    "parts",
    "migProfiles",
    "migLayout",
    "computeInstances",
    "attributes",
)
_WORDS: Final = ("whole", "mig", "fraction", "mps")
_MIG_MODES: Final = ("dynamic", "kept", "never")
_SHARED: Final = frozenset({"fraction", "mps"})
_LAST_NUMBER: Final = 255
_MOST_PARTITIONS: Final = 64
"""More than any GPU has; what a GPU of the node can have is judged there."""
_UUID: Final = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
_PROFILE_RULE: Final = "must be the name of a MIG profile, such as 1g.5gb"
_PROFILE: Final = re.compile(r"[1-9]g\.[1-9][0-9]{0,3}gb(?:[+-][a-z0-9.]+)*", re.ASCII)


def read_gpu_rule(fields: Fields) -> GpuRule:
    """Return one entry of ``gpus``. Raises: InvalidPolicy."""
    fields.only("select", *_SAYS)
    refuse_silent(fields, _SAYS)
    profiles, layout = _profiles(fields), _layout(fields)
    modes = _modes(fields)
    if modes is not None and not modes.mig:
        for key in ("migProfiles", "migLayout"):
            if fields.has(key):
                raise fields.refuse(key, "has no effect: these GPUs are not cut by MIG")
    return GpuRule(
        path=fields.path,
        select=_selector(fields),
        modes=modes,
        profiles=profiles,
        layout=layout,
        compute_instances=optional_flag(fields, "computeInstances"),
        attributes=attributes(fields),
    )


def _selector(entry: Fields) -> GpuSelector | None:
    if not entry.has("select"):
        return None
    select = entry.child("select")
    select.only("products", "pciAddresses", "uuids", "numbers")
    found = GpuSelector(_products(select), addresses(select), _uuids(select), _numbers(select))
    if found == GpuSelector():
        raise select.refuse("", "selects nothing; leave it out for all GPUs that no other entry names")
    return found


def _products(select: Fields) -> tuple[str, ...] | None:
    return listed(
        select, "products", lambda text: text.strip() == text != "", "must be the name of a product"
    )


def _uuids(select: Fields) -> frozenset[GpuUuid] | None:
    rule = "must be the UUID of a GPU, GPU-…"
    found = listed(select, "uuids", lambda text: _UUID.fullmatch(text) is not None, rule)
    return None if found is None else frozenset(GpuUuid(one) for one in found)


def _numbers(select: Fields) -> frozenset[int] | None:
    if not select.has("numbers"):
        return None
    found = select.items("numbers", MOST)
    for index, one in enumerate(found):
        if not isinstance(one, int) or isinstance(one, bool) or not 0 <= one <= _LAST_NUMBER:
            rule = f"must be the number of a GPU, from 0 to {_LAST_NUMBER}: gpu-3 has 3"
            raise select.refuse(f"numbers[{index}]", rule, one)
    if not found:
        raise select.refuse("numbers", "is empty, so it matches no GPU")
    return frozenset(found)


def _profiles(entry: Fields) -> frozenset[str] | None:
    found = listed(entry, "migProfiles", lambda text: _profile_rule(text) is None, _PROFILE_RULE)
    return None if found is None else frozenset(found)


def _profile_rule(text: str) -> str | None:
    return None if _PROFILE.fullmatch(text) else _PROFILE_RULE


def _layout(entry: Fields) -> tuple[LayoutPart, ...] | None:
    if not entry.has("migLayout"):
        return None
    if entry.has("migProfiles"):
        raise entry.refuse("migProfiles", "does not go with migLayout, which names each partition")
    found = tuple(_layout_part(one) for one in entry.children("migLayout", _MOST_PARTITIONS))
    if not found:
        raise entry.refuse("migLayout", "is empty; for GPUs that are not cut, say modes without mig")
    return found


def _layout_part(part: Fields) -> LayoutPart:
    part.only("profile", "start", "count")
    if part.has("start") and part.has("count"):
        raise part.refuse("count", "does not go with start, which is the place of one partition")
    return LayoutPart(
        part.text("profile", rule=_profile_rule),
        part.integer("count", 1, least=1, most=_MOST_PARTITIONS),
        optional_integer(part, "start", least=0, most=_MOST_PARTITIONS - 1),
    )


def _modes(entry: Fields) -> ModesOfGpu | None:
    """Return the modes of the GPUs, none of all for excluded ones, None where the entry does not say it."""
    if entry.has("excluded"):
        for other in _SAYS[1:-1]:
            if entry.has(other):
                raise entry.refuse(other, "does not go with excluded")
        if not entry.flag("excluded"):
            raise entry.refuse("excluded", "must be true; say with modes how GPUs are offered", value=False)
        return ModesOfGpu(whole=False, mig=False)
    words = listed(entry, "modes", lambda text: text in _WORDS, f"must be one of {', '.join(_WORDS)}")
    mig_mode = entry.text("migMode", "dynamic", rule=_mig_mode_rule)
    if words is None and not entry.has("migMode") and not entry.has("migLayout"):
        if entry.has("parts"):
            raise entry.refuse("parts", "needs modes with fraction and mps")
        return None
    return _offered(entry, words or _usual(entry, mig_mode), mig_mode)


def _mig_mode_rule(text: str) -> str | None:
    return None if text in _MIG_MODES else f"must be one of {', '.join(_MIG_MODES)}"


def _usual(entry: Fields, mig_mode: str) -> tuple[str, ...]:
    """Return the modes of an entry that names none. A GPU with a layout is divided, so it is not whole."""
    dynamic = ("mig",) if entry.has("migLayout") else ("whole", "mig")
    return {"dynamic": dynamic, "kept": ("mig",), "never": ("whole",)}[mig_mode]


def _offered(entry: Fields, words: tuple[str, ...], mig_mode: str) -> ModesOfGpu:
    if mig_mode == "kept" and words != ("mig",):
        raise entry.refuse("migMode", "kept leaves room for mode mig alone", mig_mode)
    if entry.has("migMode") and (mig_mode == "never") == ("mig" in words):
        rule = "contradicts modes, which has mig" if "mig" in words else "contradicts modes, which lacks mig"
        raise entry.refuse("migMode", rule, mig_mode)
    parts = _parts(entry, words)
    return ModesOfGpu(
        whole="whole" in words,
        mig="mig" in words,
        shared=parts.get("fraction"),
        mps=parts.get("mps"),
        keeps_mig=mig_mode == "kept",
    )


def _parts(entry: Fields, words: tuple[str, ...]) -> dict[str, int]:
    """Return the part of each mode in which claims share a GPU. Units: percent."""
    shared = _SHARED & set(words)
    if not entry.has("parts"):
        return dict.fromkeys(shared, ALL_OF_IT)
    parts = entry.child("parts")
    parts.only(*sorted(_SHARED))
    if shared != _SHARED:
        raise parts.refuse("", "needs modes with fraction and mps, which are then in use side by side")
    found = {word: parts.integer(word, least=1, most=ALL_OF_IT - 1) for word in sorted(_SHARED)}
    if sum(found.values()) > ALL_OF_IT:
        raise parts.refuse("", f"is {sum(found.values())} % together; at most {ALL_OF_IT} % are there")
    return found
