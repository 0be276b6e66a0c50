"""PURE: the programs that a container runtime calls: ours brings a device into the pod, NVIDIA's tells the
loader's cache of the driver's libraries.

Our hook and the plugin meet in one folder of the host (``plugin/runtime``). Sources: OCI runtime
specification, POSIX-platform hooks, createRuntime and createContainer; nvidia-container-toolkit,
``internal/discover/hooks.go``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from scheduler_core.model.claim import ClaimUid

HOOKS: Final = ("createRuntime", "createContainer", "startContainer", "poststart", "poststop")
"""The names that CDI knows."""

JOINING: Final = "createRuntime"
"""When a device is brought in: the pod's namespaces exist, and the host's files are seen."""

PROGRAM: Final = "bring-in.sh"
ANSWER_S: Final = 20
_RUNTIME_S: Final = 30
"""Later than the hook gives up by itself: what a runtime says of a hook that it ended has no reason in it."""


class Hook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A program that the runtime calls. Shape: ``args`` begin with its name. Units: ``timeout`` seconds."""

    hook_name: str
    path: str
    args: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class HookProgram:
    """The program of one plugin. Shape: ``folder`` where it and the plugin meet, as the host names it."""

    folder: Path

    def call(self, uid: ClaimUid, device: str) -> Hook:
        """Return the call that brings a device of a claim into the pod."""
        args = (PROGRAM, str(self.folder), uid, device, str(ANSWER_S))
        path = str(self.folder / PROGRAM)  # some runtimes say nothing else of a hook that failed
        return Hook(hook_name=JOINING, path=path, args=args, timeout=_RUNTIME_S)


def cache_update(program: Path, folders: Iterable[str]) -> Hook:
    """Return the call of NVIDIA's program that lets a container's loader cache know folders of libraries.

    The image decides what its loader loads, so the program must not find the image's variables: runtimes pass
    those on to a hook that has none.
    """
    args = [program.name, "update-ldcache"]
    for folder in folders:
        args += ["--folder", folder]
    env = ("NVIDIA_CTK_DEBUG=false",)
    return Hook(hook_name="createContainer", path=str(program), args=tuple(args), env=env)
