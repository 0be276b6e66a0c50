"""Changes how many VFs a PF has, and which driver a function has.

Takes addresses; returns what is true afterwards. Every call first reads what is, so it may be repeated. A
write to sysfs returns when the driver has finished, which may take seconds.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from agent.hardware.errors import (
    DriverMissing,
    HardwareFault,
    InsufficientResources,
    InUse,
    InvalidArgument,
    NotFound,
    NotSupported,
)
from agent.hardware.nics.kernel import AttributeFiles
from agent.hardware.nics.refusals import Meaning, translated
from agent.hardware.nics.types import DriverBinding, VfCount
from agent.hardware.types import Bdf


class StateReader(Protocol):
    """Reads what this module changes."""

    def vf_count(self, pf: Bdf) -> VfCount:
        """Return the number of VFs that a PF has, and the most that it can have."""
        ...

    def binding(self, bdf: Bdf) -> DriverBinding:
        """Return the driver of a function."""
        ...

    def has_driver(self, driver: str) -> bool:
        """Whether the kernel has a PCI driver of this name."""
        ...


_CLEAR: Final = "\n"

# Source: Linux, drivers/pci/iov.c, sriov_numvfs_store and the PF drivers' sriov_configure.
_VF_COUNT: Final[Mapping[int, Meaning]] = {
    errno.EBUSY: Meaning(
        InUse,
        "the PF has VFs, and their number changes only by way of 0",
        "remove its VFs first, when none is in use",
    ),
    errno.ERANGE: Meaning(
        InvalidArgument,
        "the PF cannot have so many VFs",
        "the operator asks for fewer, or raises the number in the NIC's firmware",
    ),
    errno.ENOSPC: Meaning(
        InsufficientResources,
        "the NIC has no interrupt vectors or bus numbers left",
        "the operator asks for fewer VFs, or changes the firmware's settings",
    ),
    errno.ENOMEM: Meaning(
        InsufficientResources, "the NIC has no memory left for VFs", "the operator asks for fewer VFs"
    ),
    errno.ENOENT: Meaning(
        NotSupported, "the PF has no driver, or one without SR-IOV", "the operator must load the NIC's driver"
    ),
}
_NO_VFS: Final[Mapping[int, Meaning]] = {
    errno.EBUSY: Meaning(InUse, "a program still uses one of its VFs"),
    errno.ENOENT: _VF_COUNT[errno.ENOENT],
}
_UNBIND: Final[Mapping[int, Meaning]] = {
    errno.EBUSY: Meaning(InUse, "a program still uses the function"),
    errno.ENODEV: Meaning(NotFound, "the function does not have this driver (any more)"),
}
_PROBE: Final[Mapping[int, Meaning]] = {
    errno.ENODEV: Meaning(NotFound, "there is no such function (any more), or no driver takes it"),
    errno.EBUSY: Meaning(InUse, "another driver has the function already"),
}


@dataclass(frozen=True, slots=True)
class SysfsFunctions:
    """The ``FunctionWriter`` over files of sysfs."""

    reader: StateReader
    files: AttributeFiles

    def set_vf_count(self, pf: Bdf, count: int) -> int:
        """Set the number of VFs, from 0 to ``count`` or to 0, and return how many there are then.

        The driver may make fewer than asked without an error. Setting 0 removes all VFs, also those in use.
        """
        # Some drivers answer EBUSY to the number that they have already.
        if self.reader.vf_count(pf).present != count:
            with translated(f"set the number of VFs to {count}", f"PF {pf}", _VF_COUNT if count else _NO_VFS):
                self.files.write(f"{_folder(pf)}/sriov_numvfs", str(count))
        return self.reader.vf_count(pf).present

    def set_autoprobe(self, pf: Bdf, enabled: bool) -> None:
        """Say whether VFs that are made later get their driver by themselves."""
        with translated(f"turn autoprobe {'on' if enabled else 'off'}", f"PF {pf}"):
            self.files.write(f"{_folder(pf)}/sriov_drivers_autoprobe", str(int(enabled)))

    def give_to(self, bdf: Bdf, driver: str) -> DriverBinding:
        """Give a function to a driver, whatever it has now, and return what it had before."""
        before = self.reader.binding(bdf)
        attempted = f"give to driver {driver}"
        if not self.reader.has_driver(driver):
            remedy = f"the operator must load the kernel module of {driver}"
            raise DriverMissing(attempted, _subject(bdf), "the kernel has no such PCI driver", remedy)
        if before != DriverBinding(driver, driver):
            self._override(bdf, driver)
            self._leave(bdf, before, driver)
            self._probe(bdf, driver)
        return before

    def restore(self, bdf: Bdf, original: DriverBinding) -> None:
        """Restore a function's driver, or its lack of one, and its driver override."""
        present = self.reader.binding(bdf)
        if present == original:
            return
        self._override(bdf, original.driver)
        self._leave(bdf, present, original.driver)
        if original.driver is not None:
            self._probe(bdf, original.driver)
        self._override(bdf, original.override)

    def restart(self, bdf: Bdf, original: DriverBinding) -> None:
        """Let a function's driver start again, and restore its driver override."""
        self._leave(bdf, self.reader.binding(bdf), None)
        self.restore(bdf, original)

    def _override(self, bdf: Bdf, driver: str | None) -> None:
        if self.reader.binding(bdf).override != driver:
            with translated(f"set driver_override to {driver}", _subject(bdf)):
                self.files.write(f"{_folder(bdf)}/driver_override", driver or _CLEAR)

    def _leave(self, bdf: Bdf, present: DriverBinding, wanted: str | None) -> None:
        if present.driver not in (None, wanted):
            with translated(f"take from driver {present.driver}", _subject(bdf), _UNBIND):
                self.files.write(f"sys/bus/pci/drivers/{present.driver}/unbind", bdf)

    def _probe(self, bdf: Bdf, driver: str) -> None:
        attempted = f"give to driver {driver}"
        if self.reader.binding(bdf).driver != driver:
            with translated(attempted, _subject(bdf), _PROBE):
                self.files.write("sys/bus/pci/drivers_probe", bdf)
        found = self.reader.binding(bdf).driver
        if found != driver:
            # A driver's probe may fail without an error of the write; the kernel's log has the reason.
            reason = f"it has {f'driver {found}' if found else 'no driver'} after the kernel's probe"
            raise HardwareFault(attempted, _subject(bdf), reason, "it is retried; see the kernel's log")


def _folder(bdf: Bdf) -> str:
    return f"sys/bus/pci/devices/{bdf}"


def _subject(bdf: Bdf) -> str:
    return f"PCI function {bdf}"
