"""TAB completes commands, options and their values, in the shells and in kubectl."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import needs
import pytest

Command = Callable[..., Any]
BIN = Path(sys.executable).parent


def completed(*words: str) -> list[str]:
    """Return what kubectl is told can follow; the last line is a directive of cobra."""
    done = subprocess.run(
        [BIN / "kubectl_complete-tangram", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("pend",), ["pending", ":4"]),
        (("node", "re"), ["record", "reset", "reboot", ":4"]),
        (("show", "--node-l"), ["--node-labels", ":4"]),
        (("show", "--node", "a100x2-"), ["a100x2-passthrough", ":4"]),
        (("node", "show", "hgx-h1"), ["hgx-h100", ":4"]),
        (("allocate", "--policy", ""), ["best-fit", "first-fit", ":4"]),
        (("pending", "-o", "w"), ["wide", ":4"]),
        (("completion", "f"), ["fish", ":4"]),
        (("no-such-command", "--o"), [":0"]),
    ],
)
def test_kubectl_is_told_what_can_follow(words: tuple[str, ...], found: list[str]) -> None:
    assert sorted(completed(*words)) == sorted(found)


def test_what_is_a_file_is_completed_as_one(tmp_path: Path) -> None:
    (tmp_path / "claims.yaml").touch()

    assert completed("validate", "-f", f"{tmp_path}/cl")[0] == f"{tmp_path}/claims.yaml"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_gets_code_for_both_names_of_the_command(tangram: Command, shell: str) -> None:
    code = tangram("completion", shell).out

    assert "kubectl-tangram" in code
    assert "_ARGCOMPLETE" in code


@pytest.mark.skipif(shutil.which("bash") is None, reason=f"needs {needs.program('bash')}")
def test_bash_completes_with_that_code() -> None:
    press = """
        source <(tangram completion bash)
        COMP_LINE='tangram node sh' COMP_POINT=15 COMP_TYPE=9 COMP_WORDS=(tangram node sh) COMP_CWORD=2
        _python_argcomplete tangram sh node
        printf '%s\\n' "${COMPREPLY[@]}"
    """

    done = subprocess.run(
        ["bash", "-c", press],
        env={"PATH": f"{BIN}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["show"]
