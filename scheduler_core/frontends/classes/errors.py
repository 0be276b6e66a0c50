"""Errors in resource classes and lists of devices, which the administrator corrects."""

from __future__ import annotations

from scheduler_core.base.errors import CoreError, InvalidInput


class InvalidResourceClass(InvalidInput):
    """A ResourceClass that the administrator must correct."""


class InvalidNodeDevices(InvalidInput):
    """A list of a node's devices that its author must correct."""


class CannotCompile(CoreError):
    """A class that a DeviceClass cannot express. Shape: ``reason`` names the limit."""

    def __init__(self, name: str, reason: str) -> None:
        self.name = name
        self.reason = reason
        super().__init__(f"ResourceClass {name} cannot be written as a DeviceClass: {reason}")
