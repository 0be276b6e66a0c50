"""``tangram plugin clean``: after the uninstallation nothing of Tangram is on the node, and never before."""

from __future__ import annotations

import errno
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Clean = Callable[..., tuple[int, str, str]]
UID = "bd8f4e2a-0000-4000-8000-000000000000"


def content(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


def test_what_a_claim_left_is_removed_and_nothing_of_others(bench: Any, clean: Clean) -> None:
    options = bench.options
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    bench.unprepare("u1")
    theirs = options.cdi_dir / "vendor.json"
    theirs.write_text("{}")
    (options.cdi_dir / "tangram.dev-claim_u2.json").write_text("{}")
    (options.kubelet_dir / "run/mps/0123456789ab/log").mkdir(parents=True)
    (options.data_dir / "gpu-numbers").mkdir(exist_ok=True)

    status, out, err = clean()

    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"removed {options.cdi_dir / 'tangram.dev-claim_u2.json'}",
        f"removed {options.kubelet_dir / 'run/mps'}",
        f"removed {bench.simulated.directory}",
        f"removed {options.kubelet_dir / 'run'}",
        f"removed {options.data_dir}",
    ]
    assert not options.data_dir.exists()
    assert not bench.simulated.directory.exists()
    assert content(options.cdi_dir) == {theirs}


def test_on_a_clean_node_it_says_so(bench: Any, clean: Clean) -> None:
    bench.options.data_dir.mkdir(parents=True)
    clean()

    assert clean() == (0, "nothing of Tangram is on this node\n", "")
    assert json.loads(clean("--json")[1]) == {"removed": [], "kept": []}


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
    bench.options.data_dir.mkdir(parents=True)
    machine, rmdir = bench.simulated.directory, Path.rmdir

    def refuse_mount(path: Path) -> None:
        if path == machine:
            raise OSError(errno.EBUSY, "Device or resource busy")
        rmdir(path)

    monkeypatch.setattr(Path, "rmdir", refuse_mount)

    status, out, _ = clean()

    assert status == 0
    assert f"removed {machine}\n" in out
    assert list(machine.iterdir()) == []
    assert "nothing of Tangram" in clean()[1]


def test_the_machine_of_an_installation_lies_in_the_folder_that_is_named(bench: Any, clean: Clean) -> None:
    bench.options.data_dir.mkdir(parents=True)
    above = bench.simulated.directory.parent / "above"
    above.mkdir()
    bench.simulated.directory.rename(above / "machine")

    status, out, _ = clean(f"--machine={above}")

    assert status == 0
    assert out.splitlines()[:2] == [f"removed {above / 'machine'}", f"removed {above}"]
    assert not above.exists()


def test_what_lies_beside_a_machine_stays(bench: Any, clean: Clean) -> None:
    bench.options.data_dir.mkdir(parents=True)
    above = bench.simulated.directory.parent / "above"
    above.mkdir()
    bench.simulated.directory.rename(above / "machine")
    (above / "notes").write_text("mine")

    assert clean(f"--machine={above}")[0] == 0

    assert content(above) == {above / "notes"}


@pytest.fixture
def home(folder: Path) -> Path:
    """The folder of somebody who has files."""
    home = folder / "home"
    (home / "user").mkdir(parents=True)
    (home / "user/thesis").write_text("years of work")
    return home


@pytest.mark.parametrize("file", [None, "{}", "not JSON"], ids=["none", "another program's", "text"])
def test_a_folder_without_a_simulated_machine_is_refused(
    bench: Any, home: Path, clean: Clean, file: str | None
) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    bench.unprepare("u1")
    if file is not None:
        (home / "machine.json").write_text(file)
    before = content(home), content(bench.options.kubelet_dir)

    status, out, err = clean(f"--machine={home}")

    assert (status, out) == (2, "")
    assert err == (
        f"tangram plugin clean: cannot use --machine '{home}': must hold a simulated machine: "
        "machine.json or machine/machine.json; see --help\n"
    )
    assert (content(home), content(bench.options.kubelet_dir)) == before


def test_a_machine_among_files_of_others_is_refused(bench: Any, home: Path, clean: Clean) -> None:
    bench.options.data_dir.mkdir(parents=True)
    (home / "machine.json").write_bytes((bench.simulated.directory / "machine.json").read_bytes())

    status, _, err = clean(f"--machine={home}")

    assert status == 2
    assert f"{home / 'user'} is not Tangram's" in err
    assert (home / "user/thesis").exists()


def test_a_link_to_a_folder_is_never_followed(bench: Any, home: Path, clean: Clean) -> None:
    bench.options.data_dir.mkdir(parents=True)
    (bench.simulated.directory / "clients").symlink_to(home)
    link = home.parent / "link"
    link.symlink_to(bench.simulated.directory)

    assert clean(f"--machine={link}")[0] == 2
    assert clean()[0] == 0

    assert (home / "user/thesis").exists()
    assert not bench.simulated.directory.exists()


@pytest.mark.parametrize("place", ["mps", "mps/0123456789ab"])
def test_of_the_run_folder_only_what_daemons_made_is_removed(
    bench: Any, home: Path, clean: Clean, place: str
) -> None:
    bench.options.data_dir.mkdir(parents=True)

    assert clean(f"--run-dir={home}")[0] == 0
    bench.options.data_dir.mkdir(parents=True)
    (home / place).mkdir(parents=True)
    (home / place / "song").write_text("la")
    status, _, err = clean(f"--run-dir={home}")

    assert status == 2
    assert "--run-dir" in err
    assert content(home) == {home / "user/thesis", home / place / "song"}


def test_a_plugins_folder_of_another_vendor_is_refused(bench: Any, clean: Clean) -> None:
    theirs = bench.options.kubelet_dir / "plugins/gpu.example.com"
    theirs.mkdir(parents=True)
    (theirs / "checkpoint.json").write_text("{}")

    status, _, err = clean("--driver-name=gpu.example.com")

    assert status == 2
    assert f"{theirs / 'checkpoint.json'} is not Tangram's" in err
    assert (theirs / "checkpoint.json").exists()
