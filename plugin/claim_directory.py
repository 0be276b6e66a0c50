"""Where claims come from: the port, and the adapter that reads a folder of YAML files.

A namespace and a name enter, the object as the API has it leaves. The folder is read anew at each call,
since people edit files; a broken file does not hide the claims of the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import yaml

from plugin.errors import ClaimUnreadable, ClaimUnusable
from scheduler_core.model.claim import ClaimRef

_SUFFIXES: Final = (".yaml", ".yml", ".json")


class ClaimReader(Protocol):
    """Reads ResourceClaims."""

    def read(self, ref: ClaimRef) -> Mapping[str, Any]:
        """Return a claim as it is now.

        Raises: ClaimUnusable where there is none; ClaimUnreadable where nobody can tell.
        """
        ...


@dataclass(frozen=True, slots=True)
class ClaimDirectory:
    """The claims in the YAML and JSON files of one folder; each file may hold several documents."""

    folder: Path

    def read(self, ref: ClaimRef) -> Mapping[str, Any]:
        """Return the claim. Raises: ClaimUnusable where it is not there, or there twice; ClaimUnreadable."""
        found: list[tuple[Path, Mapping[str, Any]]] = []
        broken: list[str] = []
        for path in self._files():
            try:
                found += [(path, claim) for claim in _claims(path) if _ref(claim) == ref]
            except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
                broken.append(f"{path} ({' '.join(str(error).split())})")
        if len(found) > 1:
            places = " and ".join(str(path) for path, _ in found)
            raise ClaimUnusable("read", f"claim {ref}", f"it is there more than once: {places}")
        if not found and broken:
            reason = f"it is in no readable file; not readable: {'; '.join(broken)}"
            raise ClaimUnreadable("read", f"claim {ref}", reason, "whoever wrote the file mends it")
        if not found:
            raise ClaimUnusable("read", f"claim {ref}", f"no file in {self.folder} has it")
        return found[0][1]

    def _files(self) -> Iterator[Path]:
        try:
            yield from (path for path in sorted(self.folder.iterdir()) if path.suffix in _SUFFIXES)
        except OSError as error:
            raise ClaimUnreadable("read claims of", str(self.folder), error.strerror or str(error)) from error


def _claims(path: Path) -> Iterator[Mapping[str, Any]]:
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if isinstance(document, Mapping) and document.get("kind") == "ResourceClaim":
            yield document


def _ref(claim: Mapping[str, Any]) -> ClaimRef | None:
    metadata = claim.get("metadata")
    if not isinstance(metadata, Mapping):
        return None
    return ClaimRef(str(metadata.get("namespace") or "default"), str(metadata.get("name")))
