"""A kind of device that no machine has: VFs that get another driver, on a machine that is a dictionary."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import msgspec

from agent.hardware.errors import InUse
from agent.inventory.published import Hardware, NicVf
from plugin.kinds.claimed import Claimed
from plugin.kinds.kind import CrashPoints, Foreign, PreparableKind, Progress, Wanted
from plugin.machine.context import Context
from plugin.machine.lock_target import LockTarget
from plugin.machine.node import NodeSnapshot
from plugin.machine.parts import Parts
from plugin.machine.seen import SeenHardware

NIC = "0000:3b:00.0"


class ClaimedVf(Claimed, frozen=True, kw_only=True, tag="made-up-vf"):
    """A VF that has another driver while a claim has it. Shape: ``driver`` what it had, once it is noted."""

    function: str
    driver: str | None = None

    @property
    def lock_targets(self) -> tuple[LockTarget, ...]:
        return (LockTarget("NIC", NIC),)

    @property
    def hardware(self) -> Hardware:
        return frozenset()

    @property
    def identity(self) -> str:
        return self.function

    @property
    def status_data(self) -> Mapping[str, Any]:
        return {"pciBusID": self.function}

    def as_planned(self) -> Self:
        return msgspec.structs.replace(self, driver=None)


class VfKind(PreparableKind[NicVf, ClaimedVf]):
    """A made-up kind: binds VFs to vfio-pci on a machine that is a dictionary."""

    text = "a made-up VF"
    published = NicVf
    claimed = ClaimedVf
    crash_points = CrashPoints(setting_up=("bind",), taking_down=("bind",), noted=("the driver",))

    def __init__(self, drivers: dict[str, str], happened: list[str]) -> None:
        self.drivers = drivers
        self.happened = happened

    def takes(self, wanted: Wanted[Any]) -> bool:
        return super().takes(wanted) and wanted.published.vf.index == 1

    def why_ill(self, published: NicVf, seen: SeenHardware) -> str:
        return ""

    def plan(self, wanted: Wanted[NicVf]) -> ClaimedVf:
        return ClaimedVf(**wanted.common, function=wanted.published.vf.function.bdf)

    def refuse_occupied(self, context: Context, devices: Sequence[ClaimedVf]) -> None:
        pass

    def set_up(self, context: Context, devices: Sequence[ClaimedVf], progress: Progress) -> None:
        for device in devices:
            if device.driver is None:
                progress.note(msgspec.structs.replace(device, driver=self.drivers[device.function]))
            self._bind(device.function, "vfio-pci")

    def refuse_dead(self, context: Context, devices: Sequence[ClaimedVf]) -> None:
        assert all(self.drivers[device.function] == "vfio-pci" for device in devices)

    def parts(self, context: Context, device: ClaimedVf) -> Parts:
        return Parts()

    def take_down(self, context: Context, devices: Sequence[ClaimedVf]) -> None:
        for device in reversed(devices):
            if device.driver is not None:
                self._bind(device.function, device.driver)

    def forget(self, context: Context, devices: Sequence[ClaimedVf]) -> None:
        pass

    def foreign(self, node: NodeSnapshot, held: Sequence[ClaimedVf]) -> Iterable[Foreign]:
        ours = {device.function for device in held}
        for function, driver in self.drivers.items():
            if driver == "vfio-pci" and function not in ours:
                yield Foreign(f"NIC {NIC}", function)

    def _bind(self, function: str, driver: str) -> None:
        if driver == "stuck":
            raise InUse("bind", function, "somebody has it")
        self.drivers[function] = driver
        self.happened.append(f"bind {function} {driver}")


def vf(number: int) -> ClaimedVf:
    name = f"vf-{number}"
    return ClaimedVf(requests=("r",), pool="n", device=name, cdi_id=f"x={name}", function=f"f{number}")
