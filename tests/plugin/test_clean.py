"""``tangram plugin clean``: after the uninstallation nothing of Tangram is on the node, and never before."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tangram.__main__ import main

Clean = Callable[..., tuple[int, str, str]]
UID = "bd8f4e2a-0000-4000-8000-000000000000"


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


def content(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


def test_what_a_claim_left_is_removed_and_nothing_of_others(bench: Any, clean: Clean) -> None:
    options = bench.options
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    bench.unprepare("u1")
    theirs = options.cdi_dir / "vendor.json"
    theirs.write_text("{}")
    (options.cdi_dir / "tangram.dev-claim_u2.json").write_text("{}")
    (options.kubelet_dir / "run/mps").mkdir(parents=True)
    (options.data_dir / "gpu-numbers").mkdir(exist_ok=True)

    status, out, err = clean()

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"removed {options.cdi_dir / 'tangram.dev-claim_u2.json'}",
        f"removed {options.kubelet_dir / 'run'}",
        f"removed {options.data_dir}",
        f"removed {bench.simulated.directory}",
    ]
    assert not options.data_dir.exists()
    assert not bench.simulated.directory.exists()
    assert content(options.cdi_dir) == {theirs}


def test_on_a_clean_node_it_says_so(bench: Any, clean: Clean) -> None:
    clean()

    assert clean() == (0, "nothing of Tangram is on this node\n", "")
    assert json.loads(clean("--json")[1]) == {"removed": []}


def test_a_claim_with_devices_keeps_everything(bench: Any, clean: Clean) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    before = content(bench.options.kubelet_dir), content(bench.options.cdi_dir)

    status, out, err = clean()

    assert (status, out) == (1, "")
    assert err == (
        "tangram plugin clean: cannot remove what driver tangram.dev keeps on this node: "
        "claims have devices: "
        "u1; install Tangram again, delete the pods that use these claims, uninstall it, then repeat this\n"
    )
    assert (content(bench.options.kubelet_dir), content(bench.options.cdi_dir)) == before


@pytest.fixture
def served(bench: Any) -> Iterator[Path]:
    """The socket of a plugin that serves."""
    path: Path = bench.options.data_dir / f"dra-{UID}.sock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


def test_while_a_plugin_serves_everything_stays(served: Path, clean: Clean) -> None:
    status, _, err = clean()

    assert status == 1
    assert f"a plugin serves at {served}; uninstall Tangram first, then repeat this" in err
    assert served.exists()


def test_sockets_of_a_killed_plugin_are_removed(bench: Any, clean: Clean) -> None:
    options = bench.options
    options.registry_dir.mkdir(parents=True, exist_ok=True)
    stale = options.data_dir / f"dra-{UID}.sock", options.registry_dir / f"tangram.dev-{UID}-reg.sock"
    options.data_dir.mkdir(parents=True, exist_ok=True)
    for path in stale:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(path))
    theirs = options.registry_dir / "gpu.example.com-reg.sock"
    theirs.touch()

    status, _, _ = clean()

    assert status == 0
    assert content(options.kubelet_dir) == {theirs}


def test_a_wrong_option_changes_nothing(bench: Any, clean: Clean) -> None:
    status, _, err = clean("--driver-name=Tangram")

    assert status == 2
    assert err.startswith("tangram plugin clean: cannot use --driver-name 'Tangram':")


def test_a_folder_that_is_a_mount_is_emptied(
    bench: Any, clean: Clean, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = bench.simulated.directory
    monkeypatch.setattr(Path, "is_mount", lambda path: path == machine)

    status, out, _ = clean()

    assert status == 0
    assert f"removed {machine}\n" in out
    assert list(machine.iterdir()) == []
    assert "nothing of Tangram" in clean()[1]
