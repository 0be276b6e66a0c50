"""Build pinned sets of programs, once: what is built lies in a folder named by the set's key.

In go tool sets; out come folders with their programs. A build goes to a folder of its own and is renamed
when complete, under a lock, so that two builds at once make one. Nothing outside the tools folder is written,
apart from Go's own module and build caches.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from launcher.errors import LauncherError
from launcher.go import environment, find_go, version_of
from launcher.toolset import ToolSet

CHECKOUT = Path(__file__).resolve().parents[3]
_SECONDS_BETWEEN_LINES = 20.0
_KEPT_ERROR_LINES = 30
# What only debuggers read. The linker would drop it (-s -w): nothing is missing, and the key leaves it out.
_NO_DEBUG_DATA = ("-gcflags=all=-dwarf=false",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Where programs lie and how people are told; ``clock`` gives seconds."""

    folder: Path
    say: Callable[[str], None]
    clock: Callable[[], float]

    def programs(self, toolset: ToolSet) -> Path:
        """Return the folder with the programs of this set, built now if need be.

        Raises: LauncherError where no Go is to be had or it fails; its last lines are in the message.
        """
        target = self.folder / toolset.folder
        if not (_is_complete(target, toolset) and self._is_linked(toolset)):
            with self._lock(toolset):
                if not _is_complete(target, toolset):
                    self._build(toolset, target)
                self._link(toolset)
        return target

    @contextmanager
    def _lock(self, toolset: ToolSet) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f".{toolset.name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _is_linked(self, toolset: ToolSet) -> bool:
        link = self.folder / toolset.name
        return link.is_symlink() and os.readlink(link) == toolset.folder

    def _link(self, toolset: ToolSet) -> None:
        """Let the set's plain name lead to what is pinned now, for people and scripts."""
        fresh = self.folder / f".{toolset.name}.link"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(toolset.folder)
        fresh.replace(self.folder / toolset.name)

    def _build(self, toolset: ToolSet, target: Path) -> None:
        go = find_go(toolset.go, self.folder, self.say)
        start = self.clock()
        self.say(
            f"{toolset.name}: building {toolset.version} ({toolset.spoken_programs}) with Go {version_of(go)}"
        )
        with tempfile.TemporaryDirectory(prefix=f".{toolset.name}.", dir=self.folder) as temporary:
            self._compile(go, toolset, Path(temporary), start)
            if target.exists():
                shutil.rmtree(target)
            Path(temporary).rename(target)
            Path(temporary).mkdir()  # what the context manager removes
        target.chmod(0o755)
        self.say(f"{toolset.name}: built in {self.clock() - start:.0f} s, in {target}")

    def _compile(self, go: Path, toolset: ToolSet, output: Path, start: float) -> None:
        command = [str(go), "build", "-v", *toolset.flags, *_NO_DEBUG_DATA, "-o", f"{output}/", "tool"]
        lines: list[str] = []
        packages, told = 0, start
        with subprocess.Popen(
            command, cwd=toolset.module, env=environment(), stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stderr is not None
            for line in process.stderr:
                lines = [*lines[1 - _KEPT_ERROR_LINES :], line]
                packages += not line.startswith(("go: ", "#", "\t"))
                if self.clock() - told >= _SECONDS_BETWEEN_LINES:
                    told = self.clock()
                    self.say(f"{toolset.name}: {packages} packages compiled after {told - start:.0f} s")
        if process.returncode != 0:
            raise LauncherError(
                f"cannot build {toolset.name} with {go}: exit status {process.returncode}\n{''.join(lines)}"
            )


def tools_folder() -> Path:
    """Return where programs lie: TANGRAM_TOOLS where given, to share one, else inside the checkout."""
    return Path(os.environ.get("TANGRAM_TOOLS") or CHECKOUT / ".tangram" / "tools").absolute()


def _is_complete(folder: Path, toolset: ToolSet) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in toolset.programs)
