"""What can be wrong with a simulation itself, as opposed to what its hardware refuses.

The simulated hardware refuses with ``agent.hardware.errors``; these errors are for whoever writes node
files, names directories and injects faults.
"""

from __future__ import annotations

from scheduler_core.base.errors import message, shown


class SimulationError(Exception):
    """The base of what is wrong with a simulation."""


class InvalidNodeFile(SimulationError):
    """A node file that breaks a rule of its form.

    Shape: ``file`` its path or the name of a shipped node; ``field`` a dotted path with indexes, empty
           where the file as a whole is meant; ``value`` what was found, None where nothing was;
           ``rule`` the sentence that it breaks.
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
    """The text of a fault that cannot be understood, or that the machine cannot have."""

    def __init__(self, text: str, rule: str) -> None:
        self.text = text
        self.rule = rule
        super().__init__(f"fault {shown(text)}: {rule}")


class NoMachine(SimulationError):
    """A directory that holds no simulated machine, or not the wanted one."""

    def __init__(self, directory: str, reason: str) -> None:
        self.directory = directory
        self.reason = reason
        super().__init__(f"simulated machine in {directory}: {reason}")
