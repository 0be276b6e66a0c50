"""Runs ``tangram plugin clean`` on the folders of a test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tangram.__main__ import main

Clean = Callable[..., tuple[int, str, str]]


@pytest.fixture
def clean(bench: Any, capsys: pytest.CaptureFixture[str]) -> Clean:
    """Run the command on the folders of the bench; return status, output and complaints."""

    def run(*arguments: str) -> tuple[int, str, str]:
        options = bench.options
        status = main(
            [
                *("plugin", "clean", f"--kubelet-dir={options.kubelet_dir}", f"--cdi-dir={options.cdi_dir}"),
                *(
                    f"--machine={bench.simulated.directory}",
                    f"--run-dir={options.kubelet_dir / 'run'}",
                    *arguments,
                ),
            ]
        )
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
