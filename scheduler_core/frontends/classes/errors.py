"""What can be wrong with resource classes and lists of devices: the administrator mends the object."""

from __future__ import annotations

from scheduler_core.base.errors import CoreError, InvalidInput


class InvalidResourceClass(InvalidInput):
    """A ResourceClass that the administrator must mend."""


class InvalidNodeDevices(InvalidInput):
    """A list of a node's devices that whoever writes it must mend."""


class CannotCompile(CoreError):
    """A class that a DeviceClass cannot express. ``reason`` says which limit is in the way."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"ResourceClass {name} cannot be written as a DeviceClass: {reason}")
