"""PURE: the hook that brings a device into the pod: which program a container runtime calls for it.

The hook and the plugin meet in one folder of the host (``plugin/runtime``). Source: OCI runtime
specification, POSIX-platform hooks, createRuntime.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from scheduler_core.model.claim import ClaimUid

HOOKS: Final = ("createRuntime", "createContainer", "startContainer", "poststart", "poststop")
"""The names that CDI knows."""

PROGRAM: Final = "bring-in.sh"
ANSWER_S: Final = 20
_RUNTIME_S: Final = 30
"""Later than the hook gives up by itself: what a runtime says of a hook that it ended has no reason in it."""


class Hook(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """A program that the runtime calls. Shape: ``args`` begin with its name. Units: ``timeout`` seconds."""

    hook_name: str
    path: str
    args: tuple[str, ...] = ()
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class HookProgram:
    """The program of one plugin. Shape: ``folder`` where it and the plugin meet, as the host names it."""

    folder: Path

    def call(self, uid: ClaimUid, device: str) -> Hook:
        """Return the call that brings a device of a claim into the pod."""
        args = (PROGRAM, str(self.folder), uid, device, str(ANSWER_S))
        path = str(self.folder / PROGRAM)  # some runtimes say nothing else of a hook that failed
        return Hook(hook_name="createRuntime", path=path, args=args, timeout=_RUNTIME_S)
