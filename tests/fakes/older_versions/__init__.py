"""Earlier versions of the program, as they were: taken from the history of this repository."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[3]
RECORDS = ROOT / "tests/data/records"
FORMATS: Mapping[str, str] = json.loads((RECORDS / "formats.json").read_text(encoding="utf-8"))
"""The last commit that wrote each format of records, by the format's name."""
PACKAGES = ("agent", "daemon", "kube_api", "plugin", "scheduler_core")


class NotInHistory(Exception):
    """The repository is a copy without its history."""


def source_of(commit: str, folder: Path) -> Path:
    """Write the packages of a commit into a folder, where ``python -m plugin`` runs them; return the folder.

    Raises: NotInHistory.
    """
    found = git("ls-tree", "--name-only", commit).decode().split()
    data = git("archive", commit, *(name for name in PACKAGES if name in found))
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def git(*arguments: str) -> bytes:
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = error.stderr.decode() if isinstance(error, subprocess.CalledProcessError) else str(error)
        raise NotInHistory(f"git {arguments[0]}: {said.strip()}") from error
    return done.stdout
