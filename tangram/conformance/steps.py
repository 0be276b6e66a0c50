"""What can be allocated alone: now, and after each step of a sequence of allocations and releases.

A sequence begins with nothing in use. Its ledgers are kept from step to step, and after each step compared
with new ledgers: both must give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scheduler_core.books.ledger import Ledger
from scheduler_core.books.ledgers import ledgers_of
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.device import DeviceName
from tangram.errors import BadInput

_HOLDER = "a step"


def allocatable(cluster: Cluster) -> list[str]:
    """Return the sorted names of all devices that could be allocated alone."""
    return _admitted(cluster, ledgers_of(cluster.pools, cluster.allocated, cluster.features))


def steps(cluster: Cluster, sequence: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the steps with what is allocatable after each.

    Raises: BadInput for a step that neither allocates nor releases; Overdrawn for a device that cannot
            be taken; KeyError for one that is given back and was not taken.
    """
    ledgers = ledgers_of(cluster.pools, (), cluster.features)
    taken: list[str] = []
    answered = []
    for number, step in enumerate(sequence):
        if not {"allocate", "release"} & step.keys():
            raise BadInput(f"step {number} has neither allocate nor release: {dict(step)}")
        for name in _names(step.get("release", ())):
            _of(name, cluster, ledgers).release(name)
            taken.remove(name)
        for name in _names(step.get("allocate", ())):
            _of(name, cluster, ledgers).take(name, _HOLDER)
            taken.append(name)
        found = _admitted(cluster, ledgers)
        afresh = _afresh(cluster, taken)
        assert found == afresh, f"step {number}: kept books say {found}, fresh ones {afresh}"
        answered.append({**step, "allocatable": found})
    return answered


def _afresh(cluster: Cluster, taken: Iterable[str]) -> list[str]:
    ledgers = ledgers_of(cluster.pools, (), cluster.features)
    for name in taken:
        _of(name, cluster, ledgers).record(DeviceName(name), _HOLDER)
    return _admitted(cluster, ledgers)


def _admitted(cluster: Cluster, ledgers: Sequence[Ledger]) -> list[str]:
    return sorted(
        str(device.name)
        for pool, ledger in zip(cluster.pools, ledgers, strict=True)
        for device in pool.devices
        if ledger.admits(device.name)
    )


def _of(name: str, cluster: Cluster, ledgers: Sequence[Ledger]) -> Ledger:
    """Return the books of the pool that has the device. Raises: BadInput where none has it."""
    for pool, ledger in zip(cluster.pools, ledgers, strict=True):
        if any(device.name == name for device in pool.devices):
            return ledger
    raise BadInput(f"no pool has a device {name!r}, which a step takes or gives back")


def _names(value: Any) -> list[DeviceName]:
    """Return the devices of a step: one or several, by name or as an entry of results."""
    found = value if isinstance(value, list | tuple) else [value]
    return [DeviceName(one["device"] if isinstance(one, Mapping) else one) for one in found]
