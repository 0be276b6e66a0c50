"""``tangram plugin clean`` leaves what somebody uses, and what may be of another installation."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from plugin.clean.run import StillUsed, run_clean

Clean = Callable[..., tuple[int, str, str]]
UID = "bd8f4e2a-0000-4000-8000-000000000000"


@pytest.fixture
def shared_folders(bench: Any) -> tuple[Path, ...]:
    """What drivers on one node share: the folder of MPS daemons and the simulated machine."""
    mps = bench.options.kubelet_dir / "run/mps"
    (mps / "0123456789ab/pipe").mkdir(parents=True)
    return mps, bench.simulated.directory


def test_what_drivers_share_stays_while_another_one_serves(
    bench: Any, shared_folders: tuple[Path, ...], clean: Clean
) -> None:
    options = bench.options
    options.data_dir.mkdir(parents=True)
    theirs = options.kubelet_dir / "plugins/b.example.com"
    (theirs / "claims").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(theirs / "dra.sock"))
        server.listen()
        status, out, _ = clean()

    assert status == 0
    assert not options.data_dir.exists()
    assert all(path.is_dir() for path in shared_folders)
    assert [line for line in out.splitlines() if line.startswith("kept")] == [
        f"kept {path}: driver b.example.com is in use on this node"
        for path in (*shared_folders, options.kubelet_dir / "run")
    ]


def test_what_drivers_share_stays_while_a_claim_of_another_one_has_devices(
    bench: Any, shared_folders: tuple[Path, ...], clean: Clean
) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    kubelet_dir = bench.options.kubelet_dir
    (kubelet_dir / "plugins/a.example.com").mkdir()

    status, out, _ = clean("--driver-name=a.example.com", "--json")

    assert status == 0
    assert json.loads(out) == {
        "removed": [str(kubelet_dir / "plugins/a.example.com")],
        "kept": [str(path) for path in (*shared_folders, kubelet_dir / "run")],
    }
    assert all(path.is_dir() for path in shared_folders)


def test_without_the_plugins_folder_everything_may_be_of_an_installation_elsewhere(
    bench: Any, shared_folders: tuple[Path, ...], clean: Clean
) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    elsewhere = bench.options.kubelet_dir.parent / "empty"

    status, _, err = clean(f"--kubelet-dir={elsewhere}")

    assert status == 1
    assert f"the plugin's folder {elsewhere / 'plugins/tangram.dev'} is not; give --kubelet-dir" in err
    assert all(path.is_dir() for path in shared_folders)
    assert bench.document("u1").exists()


def test_an_empty_folder_alone_is_nothing_of_tangram(bench: Any, clean: Clean, folder: Path) -> None:
    empty = folder / "none"
    empty.mkdir()

    assert clean(f"--machine={empty}", f"--run-dir={empty}") == (
        0,
        "nothing of Tangram is on this node\n",
        "",
    )
    assert empty.exists()


def test_while_an_mps_daemon_runs_everything_stays(
    bench: Any, shared_folders: tuple[Path, ...], clean: Clean
) -> None:
    bench.options.data_dir.mkdir(parents=True)
    daemon = shared_folders[0] / "0123456789ab"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(daemon / "pipe/control"))
        server.listen()
        status, _, err = clean()

    assert status == 1
    assert f"an MPS daemon runs in {daemon}" in err
    assert bench.options.data_dir.exists()
    assert all(path.is_dir() for path in shared_folders)


def test_what_is_mounted_below_a_folder_is_not_emptied(
    bench: Any, shared_folders: tuple[Path, ...], folder: Path
) -> None:
    options = bench.options
    options.data_dir.mkdir(parents=True)
    mps = shared_folders[0].resolve()
    (folder / "proc/self").mkdir(parents=True)
    line = f"36 35 0:32 / {mps}/0123456789ab/a\\040b rw - tmpfs tangram-mps rw\n"
    (folder / "proc/self/mountinfo").write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n{line}")

    with pytest.raises(StillUsed, match=f"{mps}/0123456789ab/a b is mounted; unmount it"):
        run_clean(options, mps.parent, print, as_json=False, proc=folder / "proc")

    assert options.data_dir.exists()
    assert all(path.is_dir() for path in shared_folders)


def test_a_plugin_whose_queue_of_callers_is_full_serves(bench: Any, clean: Clean) -> None:
    path = bench.options.data_dir / f"dra-{UID}.sock"
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as server, ExitStack() as callers:
        server.bind(str(path))
        server.listen(0)
        while True:
            caller = callers.enter_context(socket.socket(socket.AF_UNIX))
            caller.setblocking(False)
            try:
                caller.connect(str(path))
            except BlockingIOError:
                break
        status, _, err = clean()

    assert status == 1
    assert f"a plugin serves at {path}" in err
    assert path.exists()


def test_a_claim_in_quarantine_keeps_everything(bench: Any, clean: Clean) -> None:
    bench.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
    record = bench.options.claims_dir / "u1.json"
    record.rename(record.with_name("u1.json.corrupt"))

    status, _, err = clean()

    assert status == 1
    assert "claims have devices: u1;" in err
    assert bench.document("u1").exists()


def test_a_host_whose_name_no_node_may_have_is_cleaned(
    bench: Any, clean: Clean, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.options.data_dir.mkdir(parents=True)
    monkeypatch.setattr(socket, "gethostname", lambda: "gpu_1")

    assert clean()[0] == 0
    assert not bench.options.data_dir.exists()
