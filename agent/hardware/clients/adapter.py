"""Implements ``GpuClients``: what NVML lists as running on a GPU, and who has its device node open.

NVML lists programs that compute or draw. Monitors, daemons and NVML processes have only opened the device, so
procfs is read, too.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agent.hardware.clients.open_files import processes_with
from agent.hardware.clients.ports import Client, SeenClients
from agent.hardware.clients.processes import OWN_PROC, is_nvml_process, program_of, read_process
from agent.hardware.errors import HardwareError, NotSupported
from agent.hardware.nvml_program import STEP_ASIDE
from agent.hardware.types import DeviceNode, GpuUuid


class RunningProcesses(Protocol):
    """What is asked of the driver. Every method may raise a ``HardwareError``."""

    def minor(self, gpu: GpuUuid) -> int:
        """Return the present number of a GPU's device node."""
        ...

    def processes(self, gpu: GpuUuid) -> tuple[int, ...]:
        """Return the numbers of the processes that compute or draw on a GPU."""
        ...


class GpuNodes(Protocol):
    """Where the device nodes of GPUs are."""

    def gpu_nodes(self, minor: int) -> tuple[DeviceNode, ...]:
        """Return the device nodes of a whole GPU. Raises: NotFound."""
        ...


@dataclass(frozen=True, slots=True)
class ProcClients:
    """Finds the processes that hold GPUs. Shape: ``proc`` where the procfs of the host is mounted."""

    gpus: RunningProcesses
    files: GpuNodes
    proc: Path = OWN_PROC

    def of(self, gpu: GpuUuid) -> SeenClients:
        """Return the processes that hold a GPU now."""
        running, is_listed, no_list = self._running(gpu)
        opened, is_seen = self._opened(gpu)
        found = [self._client(pid, is_running=pid in running) for pid in sorted(running | opened)]
        return SeenClients(tuple(one for one in found if one is not None), is_listed and is_seen, no_list)

    def running_on(self, gpu: GpuUuid) -> SeenClients:
        """Return the processes that compute or draw on a GPU now, as the driver lists them.

        Without a list each process that has the GPU open counts. If none has, nothing runs there.
        """
        running, is_listed, no_list = self._running(gpu)
        if no_list:
            running, is_listed = self._opened(gpu)
        found = (self._client(pid, is_running=not no_list) for pid in sorted(running))
        return SeenClients(tuple(one for one in found if one is not None), is_listed, no_list)

    def ask_to_step_aside(self, client: Client) -> None:
        """Ask an NVML process of this driver to let go of the driver for a moment; do not wait for it."""
        with suppress(OSError):  # it has ended
            process = os.pidfd_open(client.pid)
            try:
                # The descriptor is of one process for good; its number could be another one's by now.
                if self._as_numbered_here(client):
                    signal.pidfd_send_signal(process, STEP_ASIDE)
            finally:
                os.close(process)

    def is_there(self, client: Client) -> bool:
        """Whether a process still runs."""
        found = read_process(self.proc, client.pid)
        return found is not None and found.started == client.started

    def _running(self, gpu: GpuUuid) -> tuple[frozenset[int], bool, str]:
        """Return what the driver lists, whether that is all, and why it has no list."""
        try:
            return frozenset(self.gpus.processes(gpu)), True, ""
        except NotSupported as error:
            return frozenset(), False, error.reason
        except HardwareError:
            return frozenset(), False, ""

    def _opened(self, gpu: GpuUuid) -> tuple[frozenset[int], bool]:
        try:
            nodes = self.files.gpu_nodes(self.gpus.minor(gpu))
        except HardwareError:
            return frozenset(), False
        opened = [processes_with(self.proc, node.host_path) for node in nodes if node.host_path is not None]
        return frozenset().union(*(pids for pids, _ in opened)), all(is_seen for _, is_seen in opened)

    def _client(self, pid: int, *, is_running: bool) -> Client | None:
        """Return a process as a client, None for this program and its NVML process, and one that ended."""
        found = read_process(self.proc, pid)
        if found is None:
            return Client(pid) if is_running else None
        is_nvml = is_nvml_process(self.proc, found)
        if pid == os.getpid() or (is_nvml and found.parent == os.getpid()):
            return None
        program = program_of(self.proc, found) if is_nvml else ""
        return Client(pid, found.name, found.started, is_nvml, program, found.parent)

    def _as_numbered_here(self, client: Client) -> bool:
        """Whether the process is an NVML process of this driver where signals are sent, too."""
        found = read_process(OWN_PROC, client.pid)
        return found is not None and found.started == client.started and is_nvml_process(OWN_PROC, found)
