"""The library as it is in an NVML process: over a simulated machine, with the troubles that files name.

    hang-FUNCTION, hang-FUNCTION-INDEX      the function never returns (for the GPU of that index)
    crash-FUNCTION, crash-FUNCTION-INDEX    the process dies in it
    odd-FUNCTION, odd-FUNCTION-INDEX        it answers with text that is no UTF-8
    pause-FUNCTION, pause-FUNCTION-INDEX    it waits until the test lets it go on
    holds                                   the process is a client of every GPU that it has a handle of
    library, module                         which versions are on disk and loaded; a process keeps the library
                                            that was there when it started

A function that hangs says so with a byte in the FIFO ``hung``, one that waits in ``paused``, so that no test
waits for time to pass; ``resume`` lets that one go on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from ctypes import c_uint, string_at
from pathlib import Path
from threading import Event
from time import sleep
from typing import Any

import pynvml

from agent.hardware.ports import Gpus
from agent.hardware.types import GpuUuid
from fake_nvml.c import Refused
from fake_nvml.mig import FakeLibrary

LOOK_S = 0.01
Client = Callable[[GpuUuid], AbstractContextManager[None]]


class TroubledLibrary(FakeLibrary):
    """The whole library, whose functions first look for a trouble of theirs."""

    def __init__(self, gpus: Gpus, troubles: Path, client: Client) -> None:
        super().__init__(gpus)
        self._troubles = troubles
        self._client = client
        self._held = ExitStack()
        self._holds: set[GpuUuid] = set()
        self._loaded = self._version("library")

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        return self._troubled(name, found) if name.startswith("nvml") else found

    def _troubled(self, name: str, function: Callable[..., int]) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            for named in (name, f"{name}-{self._index(arguments)}"):
                if (self._troubles / f"hang-{named}").exists():
                    self._hang()
                if (self._troubles / f"pause-{named}").exists():
                    self._pause()
                if (self._troubles / f"crash-{named}").exists():
                    string_at(0)  # as C crashes: in the middle of the call
                if (self._troubles / f"odd-{named}").exists():
                    arguments[1].value = b"\xff\xfe"
                    return int(pynvml.NVML_SUCCESS)
            if name == "nvmlInitWithFlags" and self._loaded != self._version("module"):
                return int(pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH)
            if name.startswith("nvmlDeviceGetHandleBy") and (self._troubles / "holds").exists():
                self._hold(arguments[0].value)
            return function(*arguments)

        return called

    def wait_a_moment(self, longest_s: float) -> float:
        """Wait as a driver does: this process has nothing else to do."""
        sleep(min(LOOK_S, longest_s))
        return longest_s - LOOK_S

    def _hang(self) -> None:
        fifo = os.open(self._troubles / "hung", os.O_WRONLY)
        os.write(fifo, b".")
        Event().wait()

    def _pause(self) -> None:
        fifo = os.open(self._troubles / "paused", os.O_WRONLY)
        os.write(fifo, b".")
        os.close(os.open(self._troubles / "resume", os.O_RDONLY))

    def _hold(self, key: int | bytes) -> None:
        """Become a client of the GPU of an index or a UUID, until the process ends."""
        gpu = (
            GpuUuid(key.decode()) if isinstance(key, bytes) else getattr(self.gpus.gpus()[key], "uuid", None)
        )
        if gpu is not None and gpu not in self._holds:
            self._holds.add(gpu)
            self._held.enter_context(self._client(gpu))

    def _index(self, arguments: tuple[Any, ...]) -> int | None:
        """Return the index of the GPU that a call is about."""
        if arguments and isinstance(arguments[0], c_uint):
            return int(arguments[0].value)
        uuids = [gpu.uuid for gpu in self.gpus.gpus() if hasattr(gpu, "uuid")]
        try:
            return uuids.index(self._thing(arguments[0])[1])
        except (IndexError, TypeError, ValueError, Refused):
            return None

    def _version(self, what: str) -> str:
        file = self._troubles / what
        return file.read_text() if file.exists() else ""
