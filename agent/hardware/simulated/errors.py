"""Errors in the use of a simulation: node files, directories, faults.

Errors of the simulated hardware itself are those of ``agent.hardware.errors``.
"""

from __future__ import annotations

from scheduler_core.base.errors import message, shown


class SimulationError(Exception):
    """The base of all errors in the use of a simulation."""


class InvalidNodeFile(SimulationError):
    """A node file that breaks a rule of its form.

    Shape: ``file`` its path or the name of a shipped node; ``field`` a dotted path with indexes, empty
           for the file as a whole; ``value`` the value found, None if there is none; ``rule`` the rule that
           it breaks.
    """

    def __init__(self, file: str, field: str, value: object, rule: str) -> None:
        self.file = file
        self.field = field
        self.value = value
        self.rule = rule
        super().__init__(message(f"node file {file}", field, value, rule))


class UnknownNode(SimulationError):
    """A name that is neither a shipped node nor a file."""

    def __init__(self, name: str, shipped: tuple[str, ...]) -> None:
        self.name = name
        self.shipped = shipped
        known = ", ".join(shipped)
        super().__init__(f"node {shown(name)}: neither a file nor one of the shipped nodes ({known})")


class InvalidFault(SimulationError):
    """A fault whose text is invalid, or that is impossible on the machine."""

    def __init__(self, text: str, rule: str) -> None:
        self.text = text
        self.rule = rule
        super().__init__(f"fault {shown(text)}: {rule}")


class NoMachine(SimulationError):
    """A directory without a simulated machine, or with another one than wanted."""

    def __init__(self, directory: str, reason: str) -> None:
        self.directory = directory
        self.reason = reason
        super().__init__(f"simulated machine in {directory}: {reason}")
