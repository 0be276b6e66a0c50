"""How the daemon's program is run: on the host itself, or from a container in which the host is mounted.

A process that a container starts ends with the container. So where the host has systemd, which it says as
sd_booted(3) describes, the daemon becomes a service of the host and outlives this process and its pod.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_ROOT: Final = Path("/")
_BOOTED: Final = "run/systemd/system"
# Binds the common memory over /dev/shm for the daemon alone, then becomes the program.
_WITH_MEMORY: Final = 'mount --bind "$0" /dev/shm && exec "$@"'


@dataclass(frozen=True, slots=True)
class Launching:
    """Makes command lines. Shape: ``host_root`` where the host's files are mounted here."""

    host_root: Path = _ROOT

    @property
    def has_services(self) -> bool:
        """Whether daemons become services of the host."""
        return (self.host_root / _BOOTED).is_dir()

    @property
    def proc(self) -> Path:
        """Return the procfs in which the daemons' process numbers count."""
        return self.host_root / "proc" if self.has_services else Path("/proc")

    def asking(self, program: Sequence[str]) -> list[str]:
        """Return the command line that runs a program to its end."""
        return [*self._inside, *program]

    def starting(
        self, name: str, program: Sequence[str], environment: Mapping[str, str], memory: Path | None
    ) -> list[str]:
        """Return the command line that starts a daemon and returns.

        Shape: ``environment`` is passed on to a service, which does not inherit ours; ``memory`` is bound
               over ``/dev/shm``, None leaves that as it is.
        """
        apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _WITH_MEMORY]
        command = [*apart, str(memory), *program] if memory is not None else list(program)
        if not self.has_services:
            return [*self._inside, *command]
        unit = ["--quiet", "--collect", f"--unit={unit_name(name)}", "--property=Type=forking"]
        given = [f"--setenv={key}={value}" for key, value in environment.items()]
        return [*self._inside, "systemd-run", *unit, *given, "--", *command]

    def killing(self, name: str) -> list[str]:
        """Return the command line that ends a service of the host by force."""
        return [*self._inside, "systemctl", "kill", "--signal=SIGKILL", unit_name(name)]

    @property
    def _inside(self) -> list[str]:
        return [] if self.host_root == _ROOT else ["chroot", str(self.host_root)]


def unit_name(name: str) -> str:
    """Return the name of the host's service of a daemon."""
    return f"tangram-mps-{name}.service"
