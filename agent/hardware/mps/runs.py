"""Runs a program to its end. Takes a command line, variables and a text for its standard input."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from agent.hardware.errors import HardwareFault

_MOST_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Done:
    """A run of a program. Shape: ``said`` both of its outputs."""

    status: int
    said: str

    @property
    def reason(self) -> str:
        """Return why it failed, in its own words where it has some."""
        lines = self.said.split("\n")
        return (
            f"its program says: {lines[-1]}" if self.said else f"its program ended with status {self.status}"
        )


def run(command: Sequence[str], environment: Mapping[str, str], text: str = "") -> Done:
    """Run a command to its end. Raises: HardwareFault where it cannot be run, or does not end."""
    known = {"PATH": os.environ.get("PATH", os.defpath), **environment}
    # No pipe: a daemon that keeps it open would keep us waiting for its end. And no file on a disk: a
    # container may have none to write to.
    with open(os.memfd_create("output", os.MFD_CLOEXEC), "w+b") as output:
        try:
            done = subprocess.run(  # noqa: S603 - the driver's program, with our words
                command,
                input=f"{text}\n".encode(),
                stdout=output,
                stderr=subprocess.STDOUT,
                env=known,
                timeout=_MOST_S,
                check=False,
                start_new_session=True,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise HardwareFault("run", command[0], str(error)) from error
        output.seek(0)
        return Done(done.returncode, output.read().decode(errors="replace").strip())
