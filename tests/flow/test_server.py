"""The sockets: made in the right order, ours alone, gone at the end."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plugin.base.errors import SocketTaken, StorageFailed
from plugin.claim.claim_directory import ClaimDirectory
from plugin.claim.driver import Driver
from plugin.kubelet.liveness import liveness_of
from plugin.kubelet.server import start


def test_both_sockets_are_there_while_the_plugin_runs_and_gone_afterwards(site: Any) -> None:
    with site.start():
        assert site.options.dra_socket.is_socket()
        assert site.options.registration_socket.is_socket()

    assert not site.options.dra_socket.exists()
    assert not site.options.registration_socket.exists()


def test_a_stale_socket_of_ours_makes_way(site: Any, kubelet_of: Callable[..., Any]) -> None:
    for path in (site.options.dra_socket, site.options.registration_socket):
        path.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))

    with site.start():
        assert kubelet_of(site).info().name == "tangram.dev"


def test_a_socket_that_another_process_serves_is_left_to_it(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    with site.start():
        with pytest.raises(SocketTaken, match="another process serves it; stop that plugin first"):
            site.start()

        assert kubelet_of(site).info().name == "tangram.dev"


def test_what_is_not_a_socket_is_moved_aside(
    site: Any, kubelet_of: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    path = site.options.registration_socket
    path.parent.mkdir(parents=True)
    path.write_text("precious")

    with site.start():
        assert kubelet_of(site).info().name == "tangram.dev"

    (aside,) = path.parent.glob(f".{path.name}.*.aside")
    assert aside.read_text() == "precious"
    assert f"it was moved to {aside}" in caplog.text


@pytest.mark.parametrize("is_folder_gone", [False, True])
def test_a_socket_that_was_removed_is_served_again(
    site: Any, kubelet_of: Callable[..., Any], caplog: pytest.LogCaptureFixture, is_folder_gone: bool
) -> None:
    with site.start() as running:
        for path in (site.options.dra_socket, site.options.registration_socket):
            shutil.rmtree(path.parent) if is_folder_gone else path.unlink()
        running.look_after_sockets()

        assert kubelet_of(site).info().name == "tangram.dev"
        assert liveness_of(site.options.dra_socket)["/healthz"]()[0] == 200
    assert caplog.text.count("it is served again") == 2
    assert not site.options.dra_socket.exists()


def test_sockets_of_other_drivers_are_not_touched(site: Any) -> None:
    other = site.options.registry_dir / "other.example.com-reg.sock"
    other.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(other))
        with site.start():
            pass

        assert other.is_socket()


def test_a_socket_that_a_successor_put_in_our_place_is_left_to_it(site: Any) -> None:
    running = site.start()
    path = site.options.registration_socket
    path.unlink()
    with socket.socket(socket.AF_UNIX) as successor:
        successor.bind(str(path))

        running.stop()

        assert path.is_socket()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(site: Any, kubelet_of: Callable[..., Any], number: int) -> None:
    claim = site.allocate("u1", "gpu-0-mig-3g-20gb-4-7")
    with site.process() as process:
        kubelet = kubelet_of(site)
        assert kubelet.info().name == "tangram.dev"
        kubelet.devices(claim)

        process.send_signal(number)
        status = process.wait()
        said = process.stderr.read()

    assert status == 0
    assert "claim default/claim-u1 (u1): prepared, with gpu-0-mig-3g-20gb-4-7" in said
    assert "Traceback" not in said
    assert not site.options.dra_socket.exists()
    assert not site.options.registration_socket.exists()
    assert (site.options.claims_dir / "u1.json").exists(), "prepared claims outlive the plugin"


def test_a_restarted_plugin_knows_its_claims(site: Any, kubelet_of: Callable[..., Any]) -> None:
    claim = site.allocate("u1", "gpu-0-mig-3g-20gb-4-7")
    with site.start():
        first = kubelet_of(site).devices(claim)

    with site.start():
        kubelet = kubelet_of(site)
        assert kubelet.devices(claim) == first
        kubelet.undone(claim)

    assert site.leftovers() == []


def test_a_second_process_on_the_same_node_says_who_is_there(site: Any) -> None:
    with site.start(), site.process() as second:
        assert second.wait() == 1
        assert isinstance(second, subprocess.Popen)


def test_a_start_that_fails_in_a_new_folder_leaves_none_and_takes_nothing_from_who_waits(
    site: Any, kubelet_of: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    waits, others = threading.Event(), []

    def second() -> None:
        def sleep(seconds: float) -> None:
            waits.set()
            time.sleep(seconds)

        driver = site.driver(sleep=sleep)
        others.append(start(driver, ClaimDirectory(site.claims_dir), site.options))

    def reconcile_fails(driver: Driver) -> None:
        waiting = threading.Thread(target=second)
        waiting.start()
        assert waits.wait(10.0), "the second start waits for the first"
        monkeypatch.undo()
        for module, name in (
            (Path, "rmdir"),
            (shutil, "rmtree"),
        ):  # the first tidies up once the second serves
            monkeypatch.setattr(module, name, after(waiting, getattr(module, name)))
        others.append(waiting)
        raise StorageFailed("write", "the record", "No space left on device")

    def after(thread: threading.Thread, remove: Callable[..., None]) -> Callable[..., None]:
        def remove_then(*arguments: Any, **options: Any) -> None:
            if site.options.data_dir in arguments:
                thread.join(10.0)
            remove(*arguments, **options)

        return remove_then

    monkeypatch.setattr(Driver, "reconcile", reconcile_fails)
    with pytest.raises(StorageFailed):
        site.start()
    others.pop(0).join(10.0)

    (running,) = others
    with running:
        claim = site.allocate("u1", "gpu-1")
        assert kubelet_of(site).devices(claim)
    assert site.options.lock_file.exists()


def test_a_start_that_fails_leaves_no_folder_that_was_missing(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Driver) -> None:
        raise StorageFailed("write", "the record", "No space left on device")

    monkeypatch.setattr(Driver, "reconcile", fails)
    with pytest.raises(StorageFailed):
        site.start()

    assert not site.options.kubelet_dir.exists()
