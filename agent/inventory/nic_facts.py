"""What decides how a function of a NIC can be given away, beside its driver and its RDMA device.

Takes the port of NICs; returns values. The agent reads them at every discovery, the plugin again before each
change, because routes, drivers and groups change while nobody tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

from agent.hardware.errors import HardwareError
from agent.hardware.nics.ports import NicReader
from agent.hardware.nics.types import VFIO_PCI, IommuGroup
from agent.hardware.reuse import READ_ANEW, Reuse
from agent.hardware.types import Bdf, PciFunction


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionFacts:
    """The facts of one function.

    Shape: ``way_to_route`` are interfaces from the function's own up to the one with the node's default
           route, empty where the node does not need it; ``group`` None without one; ``claimable`` are the
           other functions of the group that claims may have; ``eswitch_mode`` is ``legacy`` or
           ``switchdev``, None for a VF and where no file tells it; ``data_direct`` is the function through
           which the card reads GPU memory, None for a VF and where it is unknown; ``problem`` says why the
           rest is unknown.
    """

    way_to_route: tuple[str, ...] = ()
    group: IommuGroup | None = None
    claimable: tuple[Bdf, ...] = ()
    has_vfio: bool = False
    eswitch_mode: str | None = None
    data_direct: PciFunction | None = None
    problem: str = ""


NO_FACTS: Final = FunctionFacts()
"""Of a function that nobody looked at."""


def facts_of(reader: NicReader, bdf: Bdf) -> FunctionFacts:
    """Return the facts of one function as they are now. Raises: HardwareError."""
    return FunctionFacts(
        way_to_route=reader.needed_for_default_route(bdf),
        group=reader.iommu_group(bdf),
        has_vfio=reader.has_driver(VFIO_PCI),
    )


def facts_of_all(
    reader: NicReader,
    drivers: Mapping[Bdf, str | None],
    with_eswitch: Collection[Bdf],
    reuse: Reuse = READ_ANEW,
) -> Mapping[Bdf, FunctionFacts]:
    """Return the facts of all functions that claims may have; where they cannot be read, the problem.

    Shape: ``drivers`` are those of the functions; ``with_eswitch`` the functions that can have VFs.
    """
    try:
        ways, groups = reader.default_route_functions(), reader.iommu_groups(drivers)
        has_vfio = reader.has_driver(VFIO_PCI)
    except HardwareError as error:
        return dict.fromkeys(drivers, FunctionFacts(problem=str(error)))
    of = (drivers, ways, groups, has_vfio)
    found = reuse.made("facts of functions", of, lambda: _facts(*of))
    return {**found, **{bdf: _with_eswitch(found[bdf], reader, bdf) for bdf in with_eswitch}}


def _facts(
    drivers: Mapping[Bdf, str | None],
    ways: Mapping[Bdf, tuple[str, ...]],
    groups: Mapping[Bdf, IommuGroup],
    has_vfio: bool,
) -> Mapping[Bdf, FunctionFacts]:
    found = {}
    for bdf in drivers:
        group = groups.get(bdf)
        found[bdf] = FunctionFacts(
            way_to_route=ways.get(bdf, ()),
            group=group,
            claimable=_claimable(bdf, group, drivers),
            has_vfio=has_vfio,
        )
    return found


def _claimable(bdf: Bdf, group: IommuGroup | None, functions: Collection[Bdf]) -> tuple[Bdf, ...]:
    if group is None or len(group.members) == 1:
        return ()
    return tuple(one.bdf for one in group.members if one.bdf != bdf and one.bdf in functions)


def _with_eswitch(facts: FunctionFacts, reader: NicReader, bdf: Bdf) -> FunctionFacts:
    try:
        return replace(facts, eswitch_mode=reader.eswitch_mode_in_files(bdf))
    except HardwareError as error:
        return FunctionFacts(problem=str(error))
