"""Where the hook's requests come and records are: what must be known of the options."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class HookPaths(Protocol):
    """One driver's folders, as ``plugin.options.Options`` has them. Every path is absolute."""

    @property
    def hook_dir(self) -> Path:
        """Return the folder where the hook of container runtimes and the plugin meet."""
        ...

    @property
    def claims_dir(self) -> Path:
        """Return the folder of the records."""
        ...

    @property
    def host_root(self) -> Path:
        """Return where the host's files are seen."""
        ...
