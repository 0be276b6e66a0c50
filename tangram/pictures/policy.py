"""What a policy means for a node, as a table: GPUs and NICs with the same settings in a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from rich.console import RenderableType
from rich.text import Text

from agent.hardware.types import Bdf
from agent.health.rules import HealthRules
from agent.inventory.model import Inventory
from agent.inventory.names import gpu_name, memory_slice_range, nic_name
from agent.policy.effect_file import Stored
from agent.policy.resolved import GpuSettings, NicSettings, Resolved
from tangram.program.fitting import Column, FittingTable

_NOTHING = "as the options say"


def settings_value(settings: Resolved) -> Mapping[str, Any]:
    """Return settings for machines."""
    found: Mapping[str, Any] = msgspec.to_builtins(settings, str_keys=True)
    return found


def stored_value(stored: Stored) -> Mapping[str, Any]:
    """Return what is in effect for machines."""
    return {
        "settings": settings_value(stored.effect.settings),
        "waiting": msgspec.to_builtins(stored.effect.waiting),
        "problem": stored.problem or None,
    }


def policy_picture(stored: Stored, node: Inventory) -> Iterator[RenderableType]:
    """Yield what is in effect on a node, what waits, and why the policy is refused."""
    yield policy_table(stored.effect.settings, node)
    for one in stored.effect.waiting:
        yield Text(f"waits: {one.device}: {one.why}", style="yellow")
    if stored.problem:
        yield Text(f"refused: {stored.problem}", style="red")


def policy_table(settings: Resolved, node: Inventory) -> FittingTable:
    """Draw the settings of a node's GPUs and NICs, and those of the node."""
    rows: dict[str, list[str]] = {}
    for entry in node.gpus:
        text = _with_place(
            _gpu_text(settings.gpus.get(entry.gpu.uuid, GpuSettings())), settings, entry.gpu.bdf
        )
        rows.setdefault(f"{text}\0gpu", []).append(gpu_name(entry.gpu.number))
    for pf in node.nics:
        bdf = pf.function.bdf
        text = _with_place(_nic_text(settings.nics.get(bdf, NicSettings())), settings, bdf)
        rows.setdefault(f"{text}\0nic", []).append(nic_name(pf.function.bdf))
    cells = [(", ".join(names), text.partition("\0")[0]) for text, names in rows.items()]
    if node_text := "; ".join(_of_node(settings)):
        cells.append(("the node", node_text))
    return FittingTable((Column("devices", is_prose=True), Column("settings", is_prose=True)), cells)


def _with_place(text: str, settings: Resolved, bdf: Bdf) -> str:
    stated = settings.places.get(bdf)
    if stated is None:
        return text
    place = f"at {', '.join(f'{key} {value}' for key, value in stated.words.items())}"
    return place if text == _NOTHING else f"{text}; {place}"


def _gpu_text(one: GpuSettings) -> str:
    parts = []
    if one.modes is not None:
        words = one.modes.words.replace("shared", "fraction").replace("mig:on", "mig (mode kept on)")
        parts.append(f"offered as {words.replace(',', ', ')}" if words else "excluded")
    if one.profiles is not None:
        parts.append(f"MIG profiles {', '.join(one.profiles)}")
    if one.layout is not None:
        places = (f"{part.profile} at {memory_slice_range(part.placement)}" for part in one.layout)
        parts.append(f"MIG layout {', '.join(places)}")
    if one.compute_instances is not None:
        parts.append("with compute instances" if one.compute_instances else "without compute instances")
    return "; ".join([*parts, *_attributes(one.attributes)]) or _NOTHING


def _nic_text(one: NicSettings) -> str:
    parts = []
    if one.excluded is not None:
        parts.append("excluded" if one.excluded else "offered")
    if one.kinds is not None:
        parts.append(f"offered as {', '.join(one.kinds)}")
    if one.modes is not None:
        parts.append(f"in modes {', '.join(one.modes)}")
    if one.keeps_vf_count:
        parts.append("VFs as they are")
    if one.vf_rule is not None:
        when = "on demand" if one.vf_rule.on_demand else "always"
        parts.append(f"{one.vf_rule.count} VFs {when}")
    if one.vf_rate is not None:
        parts.append(f"each VF {one.vf_rate.vf} of {one.vf_rate.nic} Mbit/s")
    parts += _attributes(one.attributes)
    for index, vf in one.vfs.items():
        modes = [f"in modes {', '.join(vf.modes)}"] if vf.modes is not None else []
        said = [*(["excluded"] if vf.excluded else []), *modes, *_attributes(vf.attributes)]
        parts.append(f"VF {index}: {', '.join(said)}")
    return "; ".join(parts) or _NOTHING


def _attributes(attributes: Mapping[str, str | int | bool]) -> list[str]:
    return [f"{key}={value}" for key, value in attributes.items()]


def _of_node(settings: Resolved) -> Iterator[str]:
    if settings.linked is not None:
        yield f"partitions {settings.linked.board or 'of the table in the policy'}"
    if settings.imex_channels is not None:
        yield f"{settings.imex_channels} IMEX channels"
    if settings.multus_resource is not None:
        yield f"Multus resource {settings.multus_resource}"
    if settings.logs is not None:
        said = {"format": settings.logs.form, "level": settings.logs.level}
        yield f"logs {', '.join(f'{key} {value}' for key, value in said.items() if value is not None)}"
    if settings.health is not None:
        yield from _of_health(settings.health)


def _of_health(rules: HealthRules) -> Iterator[str]:
    for cause, severity in rules.severities.items():
        yield f"health: {cause} is {severity}"
    for cause, quiet_s in rules.quiet_s.items():
        yield f"health: {cause} is over after {quiet_s / 60:g} minutes without it"
    for xid, severity in rules.xids.items():
        yield f"health: XID {xid} is {severity}"
