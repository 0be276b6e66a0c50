"""PURE: the settings in effect as agent, plugin and commands use them: by the numbers of a node's GPUs."""

from __future__ import annotations

from dataclasses import replace

from agent.hardware.types import Bdf
from agent.inventory.model import Inventory, LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.operator_attributes import OperatorAttributes
from agent.inventory.options.settings import Settings
from agent.inventory.partitions import shipped_table
from agent.inventory.vfs.offer import NOTHING, NicOffer
from agent.inventory.vfs.rules import VfRate, VfRule, VfRules
from agent.policy.model import NicKind
from agent.policy.resolved import GpuSettings, LinkedSettings, NicSettings, Resolved
from daemon.logs import LogOptions
from scheduler_core.frontends.partitions.table import table_of
from scheduler_core.model.device import QualifiedName

_NOTHING = GpuSettings(modes=ModesOfGpu(whole=False, mig=False))


def settings_on(options: Settings, effect: Resolved, node: Inventory) -> Settings:
    """Return the settings of a node: those in effect, and those of the options where nothing is said.

    A GPU or NIC about which nothing was decided yet is not offered.
    """
    nics = {pf.function.bdf: effect.nics.get(pf.function.bdf) for pf in node.nics}
    return Settings(
        linked=options.linked if effect.linked is None else _linked(effect.linked),
        modes=_modes(options.modes, effect, node),
        split=_split(options.split, effect, node),
        imex_channels=options.imex_channels if effect.imex_channels is None else effect.imex_channels,
        vfs=_vf_rules(options.vfs, nics, node),
        multus_resource=effect.multus_resource or options.multus_resource,
        offers={bdf: _offer(one) for bdf, one in nics.items()},
        attributes=_attributes(effect),
        places=effect.places,
    )


def log_of(effect: Resolved | None) -> LogOptions:
    """Return how agent and plugin log by what is in effect."""
    said = None if effect is None else effect.logs
    return LogOptions() if said is None else LogOptions(said.form, said.level)


def _offer(said: NicSettings | None) -> NicOffer:
    """Return what of a NIC is offered, nothing where nothing was decided yet."""
    if said is None or said.excluded:
        return NOTHING
    return NicOffer(
        whole=said.kinds is None or NicKind.NIC in said.kinds,
        vfs=said.kinds is None or NicKind.VF in said.kinds,
        left_out=frozenset(index for index, vf in said.vfs.items() if vf.excluded),
        modes=None if said.modes is None else frozenset(said.modes),
        modes_of_vfs={index: frozenset(vf.modes) for index, vf in said.vfs.items() if vf.modes is not None},
    )


def _linked(said: LinkedSettings) -> LinkedGpus:
    table = shipped_table(said.board) if said.board else table_of("the policy", said.table, any_name=True)
    return LinkedGpus(table, said.is_honored)


def _modes(options: GpuModes, effect: Resolved, node: Inventory) -> GpuModes:
    by_number = {}
    for entry in node.gpus:
        number = entry.gpu.number
        said = effect.gpus.get(entry.gpu.uuid, _NOTHING)
        profiles = None if said.profiles is None else frozenset(said.profiles)
        layout = None if said.layout is None else frozenset(said.layout)
        by_number[number] = replace(said.modes or options.of(number), profiles=profiles, layout=layout)
    return GpuModes(options.others, by_number)


def _split(options: SplitGpus | None, effect: Resolved, node: Inventory) -> SplitGpus | None:
    numbers = set()
    for entry in node.gpus:
        said = effect.gpus.get(entry.gpu.uuid, _NOTHING).compute_instances
        usual = options is not None and options.has(entry.gpu.number)
        if usual if said is None else said:
            numbers.add(entry.gpu.number)
    return SplitGpus(frozenset(numbers)) if numbers else None


def _vf_rules(
    options: VfRules | None, said: dict[Bdf, NicSettings | None], node: Inventory
) -> VfRules | None:
    usual = options or VfRules()
    rules: dict[str, VfRule | None] = {}
    rates: dict[str, VfRate] = {}
    for pf in node.nics:
        bdf = pf.function.bdf
        one = said[bdf] or NicSettings()
        is_said = one.keeps_vf_count or one.vf_rule is not None
        rules[bdf] = one.vf_rule if is_said else usual.rule_of(pf)
        rate = one.vf_rate or usual.rate_of(pf)
        if rate is not None:
            rates[bdf] = rate
    if options is None and not rates and not any(rules.values()):
        return None
    return VfRules(rules, None, rates)


def _attributes(effect: Resolved) -> OperatorAttributes:
    return OperatorAttributes(
        gpus={uuid: _named(one.attributes) for uuid, one in effect.gpus.items() if one.attributes},
        nics={bdf: _named(one.attributes) for bdf, one in effect.nics.items() if one.attributes},
        vfs={
            (bdf, index): _named(vf.attributes)
            for bdf, one in effect.nics.items()
            for index, vf in one.vfs.items()
            if vf.attributes
        },
    )


def _named(attributes: dict[str, str | int | bool]) -> dict[QualifiedName, str | int | bool]:
    return {QualifiedName(key): value for key, value in attributes.items()}
