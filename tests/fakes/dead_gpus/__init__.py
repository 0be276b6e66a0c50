"""A machine whose driver lists some of its GPUs only: the rest is dead since the boot, or others have it.

As real drivers do, it counts minors and indexes over the GPUs that it found. PCI still shows all of them,
unless they are gone from there, too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.hardware.ports import Machine
from agent.hardware.types import Bdf, Gpu, PciFunction, Unreadable


@dataclass(frozen=True)
class DriverWithoutDead:
    """The GPUs of a machine but the dead ones, counted anew. All else is asked of the machine."""

    gpus_of_machine: Any
    dead: Collection[Bdf]

    def gpus(self) -> tuple[Gpu | Unreadable, ...]:
        living = (gpu for gpu in self.gpus_of_machine.gpus() if self._lives(gpu))
        return tuple(
            replace(gpu, index=count, minor=count) if isinstance(gpu, Gpu) else gpu
            for count, gpu in enumerate(living)
        )

    def in_one_look(self) -> DriverWithoutDead:
        return self

    def _lives(self, gpu: Gpu | Unreadable) -> bool:
        return not isinstance(gpu, Gpu) or gpu.bdf not in self.dead

    def __getattr__(self, name: str) -> Any:
        return getattr(self.gpus_of_machine, name)


@dataclass(frozen=True)
class PciWithoutGone:
    """PCI without the GPUs that fell off the bus or were pulled out."""

    pci: Any
    gone: Collection[Bdf]

    def gpus(self, besides: Collection[Bdf] = ()) -> tuple[PciFunction | Unreadable, ...]:
        return tuple(one for one in self.pci.gpus(besides) if getattr(one, "bdf", None) not in self.gone)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.pci, name)


def rebooted(machine: Machine, *, dead: Collection[Bdf] = (), gone: Collection[Bdf] = ()) -> Machine:
    """Return a machine after a boot at which some GPUs did not come up; PCI lacks those that are gone."""
    missing: Any = DriverWithoutDead(machine.gpus, {*dead, *gone})
    pci: Any = PciWithoutGone(machine.pci, gone)
    return replace(machine, gpus=missing, pci=pci)


def bound(root: Path, bdf: Bdf, driver: str | None) -> None:
    """Bind a GPU of a simulated machine to another kernel driver, or to none, as an operator does."""
    link = root / "sys/bus/pci/devices" / bdf / "driver"
    link.unlink(missing_ok=True)
    if driver is not None:
        target = root / "sys/bus/pci/drivers" / driver
        target.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
