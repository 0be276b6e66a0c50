"""Programs that have a GPU open and do not run on it, named where something of the GPU cannot be destroyed.

A monitor that leaks a handle of a MIG instance keeps it from being destroyed, and no list of running programs
shows it. Programs that run on the GPU are not named: they may be those of other tenants.
"""

from __future__ import annotations

from typing import NoReturn

from agent.hardware.clients.ports import Client, GpuClients
from agent.hardware.errors import InUse
from agent.hardware.types import GpuUuid
from plugin.machine.texts import clients_text


def raise_naming_who_has_it_open(error: InUse, clients: GpuClients, gpu: GpuUuid) -> NoReturn:
    """Raise a refusal, and name the programs that have the GPU open without running on it. Raises: InUse."""
    found = _only_open(clients, gpu)
    if not found:
        raise error
    verbs = ("has", "runs") if len(found) == 1 else ("have", "run")
    reason = f"{error.reason}; {clients_text(found)} {verbs[0]} the GPU open and {verbs[1]} nothing on it"
    raise InUse(error.attempted, error.subject, reason, error.remedy, error.errno) from error


def _only_open(clients: GpuClients, gpu: GpuUuid) -> list[Client]:
    running = {one.pid for one in clients.running_on(gpu).found}
    return [one for one in clients.of(gpu).found if one.pid not in running and not one.steps_aside]
