"""Implements ``MpsControl`` with NVIDIA's program ``nvidia-cuda-mps-control``.

The protocol between the program and a daemon is NVIDIA's own, so every command is a run of the program, with
the command on its standard input. Source: nvidia-cuda-mps-control(1).
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import HardwareError, HardwareFault, InvalidArgument, NotFound, TimedOut
from agent.hardware.mps.launching import Launching
from agent.hardware.mps.ports import MpsFolders, MpsLimits
from agent.hardware.mps.processes import PIPE_VARIABLE, is_daemon, running_process
from agent.hardware.mps.runs import Done, run
from agent.hardware.mps.shared_memory import SharedMemory

PROGRAM: Final = "nvidia-cuda-mps-control"
RUN_FOLDER: Final = Path("/run/tangram/mps")
"""Where the daemons' folders are on a host: reachable by every user, and gone with the boot."""
_LONGEST_SOCKET: Final = "control_privileged"
_PATH_BYTES: Final = 107
_LOOK_AGAIN_S: Final = 0.05
_FOR_ALL: Final = 0o1777  # a server runs as the user of its programs, and makes its files here
_REACHABLE: Final = 0o755
_INSTALL: Final = "the operator must install the driver's MPS programs"
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class MpsProgram:
    """The daemons of one machine.

    Shape: ``driver`` where the program is; ``base`` the folder of the daemons' folders.
    Units: ``wait_s`` seconds of ``clock`` that a daemon may take to answer, or to end.
    """

    driver: DriverRoot
    base: Path
    memory: SharedMemory
    launching: Launching = field(default_factory=Launching)
    wait_s: float = 5.0
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def names(self) -> tuple[str, ...]:
        """Return the names of all daemons that have a folder."""
        try:
            return tuple(sorted(os.listdir(self.base)))
        except FileNotFoundError:
            return ()

    def folders(self, name: str) -> MpsFolders:
        """Return where the folders of a daemon are, or will be."""
        return MpsFolders(self.base / name)

    def is_running(self, name: str) -> bool:
        """Whether the process that the daemon's folder names is alive, and is this daemon."""
        return self.process(name) is not None

    def process(self, name: str) -> int | None:
        """Return the number of that process, None where the daemon does not run."""
        return running_process(self.launching.proc, self.folders(name).pipe)

    def answers(self, name: str) -> bool:
        """Whether the daemon answers a command. Raises: NotFound without the driver's program."""
        if not (self.folders(name).pipe / "control").exists():
            return False
        return self._told(name, "get_default_active_thread_percentage").status == 0

    def start_daemon(self, name: str, device: str) -> None:
        """Start a daemon for a device. Raises: NotFound, InvalidArgument, HardwareFault."""
        folders, subject = self.folders(name), f"device {device}"
        socket = folders.pipe / _LONGEST_SOCKET
        if len(os.fsencode(socket)) > _PATH_BYTES:
            reason = f"the path {socket} is longer than the {_PATH_BYTES} bytes that a socket may have"
            raise InvalidArgument("start an MPS daemon", subject, reason)
        program = self._program()
        self._make(folders)
        environment = {**self._environment(folders), "CUDA_VISIBLE_DEVICES": device}
        bound = self.memory.bound(folders.shared_memory)
        command = self.launching.starting(name, [program, "-d"], environment, bound)
        done = run(command, environment)
        if done.status:
            raise HardwareFault("start an MPS daemon", subject, done.reason)
        if not self._until(lambda: self.answers(name)):
            reason = f"it does not answer after {self.wait_s:g} s; its log is in {folders.log}"
            raise TimedOut("start an MPS daemon", subject, reason)

    def limit_programs(self, name: str, limits: MpsLimits, device: str) -> None:
        """Set the daemon's defaults, which no program can exceed. Raises: HardwareFault."""
        percentage, memory = limits.active_thread_percentage, limits.memory_mib
        if percentage is not None:
            self._do(name, f"set_default_active_thread_percentage {percentage}")
        if memory is not None:
            self._do(name, f"set_default_device_pinned_mem_limit {device} {memory}M")

    def end_daemon(self, name: str) -> None:
        """End a daemon, if it runs: asked first, then by force. Raises: TimedOut where it goes on."""
        pid = self.process(name)
        if pid is None:
            return
        try:
            self._told(name, "quit")
        except HardwareError as error:
            _log.warning("MPS daemon %s cannot be told to quit: %s", name, error)

        def is_over() -> bool:  # its file goes a moment before it does
            return not is_daemon(self.launching.proc, pid, self.folders(name).pipe)

        if self._until(is_over):
            return
        if self.launching.has_services:
            run(self.launching.killing(name), {})
        else:
            try:  # no program: an image without procps has no kill
                os.kill(pid, signal.SIGKILL)
            except OSError as error:
                if not is_over():
                    raise HardwareFault("end", f"MPS daemon {name}, process {pid}", str(error)) from error
        if not self._until(is_over):
            raise TimedOut("end", f"MPS daemon {name}", f"process {pid} still runs after {self.wait_s:g} s")

    def remove_folders(self, name: str) -> None:
        """Remove the folders of a daemon that does not run. Raises: HardwareFault."""
        folders = self.folders(name)
        self.memory.remove(folders.shared_memory)
        try:
            shutil.rmtree(folders.root)
        except FileNotFoundError:
            return
        except OSError as error:
            raise HardwareFault("remove", str(folders.root), str(error)) from error

    def _until(self, is_so: Callable[[], bool]) -> bool:
        """Look again until something is so or the time is up; return whether it is."""
        ends_at = self.clock() + self.wait_s
        while not (found := is_so()) and self.clock() < ends_at:
            self.sleep(_LOOK_AGAIN_S)
        return found

    def _make(self, folders: MpsFolders) -> None:
        """Make the folders anew: what a daemon that died left in its pipes would be in the way."""
        shutil.rmtree(folders.pipe, ignore_errors=True)
        for folder in (self.base, folders.root):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(_REACHABLE)
        for folder in (folders.pipe, folders.log):
            folder.mkdir(exist_ok=True)
            folder.chmod(_FOR_ALL)
        self.memory.make(folders.shared_memory)

    def _do(self, name: str, command: str) -> None:
        done = self._told(name, command)
        if done.status:
            raise HardwareFault(f"tell «{command}»", f"MPS daemon {name}", done.reason)

    def _told(self, name: str, command: str) -> Done:
        environment = self._environment(self.folders(name))
        return run(self.launching.asking([self._program()]), environment, command)

    def _environment(self, folders: MpsFolders) -> dict[str, str]:
        found = {PIPE_VARIABLE: str(folders.pipe), "CUDA_MPS_LOG_DIRECTORY": str(folders.log)}
        libraries = self.driver.library_path
        return {**found, "LD_LIBRARY_PATH": libraries} if libraries else found

    def _program(self) -> str:
        """Return the program as the host names it. Raises: NotFound."""
        found = self.driver.tool(PROGRAM)
        if found is None:
            raise NotFound("find program", PROGRAM, f"it is in no folder of {self.driver.root}", _INSTALL)
        host_root = self.launching.host_root
        return str(found if host_root == Path("/") else Path("/") / found.relative_to(host_root))
