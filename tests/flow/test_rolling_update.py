"""Two plugins of one driver on a node: both serve, one starts at a time, each ends for itself."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from plugin.base.errors import SocketTaken
from plugin.kubelet import sockets
from plugin.options import Options

HALF = "gpu-0-mig-3g-20gb-4-7"
OLD, NEW = "0b8c7d9e-0000-4000-8000-000000000001", "0b8c7d9e-0000-4000-8000-000000000002"


def of(options: Options, pod_uid: str) -> Options:
    return replace(options, pod_uid=pod_uid)


def all_sockets(options: Options) -> set[str]:
    folders = (options.data_dir, options.registry_dir)
    return {path.name for folder in folders for path in folder.iterdir() if path.is_socket()}


def test_an_instance_has_sockets_named_after_its_pod(site: Any) -> None:
    options = of(site.options, NEW)

    assert options.dra_socket.name == f"dra-{NEW}.sock"
    assert options.registration_socket.name == f"tangram.dev-{NEW}-reg.sock"


@pytest.mark.parametrize(
    ("driver", "length", "name"),
    [
        ("tangram.dev", 49, f"tangram.dev-{NEW}-reg.sock"),
        ("tangram.dev", 50, "tangram.dev-Ee-GJ3mpnLM-reg.sock"),
        ("tangram.dev", 74, "tangram.dev-Ee-GJ3mpnLM-reg.sock"),
        ("gpus-and-nics.partitions.tangram.dev", 65, "dra-IFgTnjfAfpVS6Z7cGP0qag-reg.sock"),
    ],
)
def test_a_registration_socket_has_the_first_of_its_names_that_fits(
    driver: str, length: int, name: str
) -> None:
    folder = Path("/" + "k" * (length - 1))

    found = sockets.registration(folder, driver, NEW)

    assert found.name == name
    assert len(bytes(found)) <= 107


def test_both_serve_and_each_takes_only_its_own_sockets_along(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim = site.allocate("u1", HALF)
    old = site.start(of(site.options, OLD))
    first = kubelet_of(site, of(site.options, OLD)).devices(claim)

    with site.start(of(site.options, NEW)):
        both = all_sockets(site.options)
        old.stop()
        left = all_sockets(site.options)
        kubelet = kubelet_of(site, of(site.options, NEW))
        assert kubelet.devices(claim) == first
        kubelet.undone(claim)

    assert both == left | {f"dra-{OLD}.sock", f"tangram.dev-{OLD}-reg.sock"}
    assert all_sockets(site.options) == set()
    assert site.leftovers() == []


def test_the_sockets_of_an_instance_that_was_killed_go_with_the_next_start(site: Any) -> None:
    dead = of(site.options, OLD)
    for path in (dead.dra_socket, dead.registration_socket):
        path.parent.mkdir(parents=True, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))

    with site.start(of(site.options, NEW)):
        assert all_sockets(site.options) == {f"dra-{NEW}.sock", f"tangram.dev-{NEW}-reg.sock"}


def test_a_dead_socket_of_another_driver_is_left_alone(site: Any) -> None:
    other = site.options.registry_dir / "tangram.dev-other-reg.sock"
    other.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as foreign:
        foreign.bind(str(other))

    with site.start(of(site.options, NEW)):
        assert other.is_socket()


def test_of_two_plugins_that_start_at_one_moment_on_a_new_node_one_serves(site: Any) -> None:
    for _ in range(10):
        ready, served, refused = Barrier(2), [], []

        def begin(ready: Barrier = ready, served: list[Any] = served, refused: list[Any] = refused) -> None:
            ready.wait()
            try:
                served.append(site.start())
            except SocketTaken as error:
                refused.append(error)

        threads = [Thread(target=begin) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert (len(served), len(refused)) == (1, 1)
        assert site.options.dra_socket.is_socket()
        served[0].stop()


def test_two_versions_that_start_at_one_moment_both_serve(site: Any) -> None:
    ready = Barrier(2)
    served: list[Any] = []

    def begin(pod_uid: str) -> None:
        ready.wait()
        served.append(site.start(of(site.options, pod_uid)))

    threads = [Thread(target=begin, args=(uid,)) for uid in (OLD, NEW)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(all_sockets(site.options)) == 4
    for running in served:
        running.stop()
    assert all_sockets(site.options) == set()


def test_a_plugin_that_is_told_to_end_finishes_its_calls(site: Any, kubelet_of: Callable[..., Any]) -> None:
    site.inject("gpu-0:create-compute-instance:slow=1:1")
    claim = site.allocate("u1", HALF)
    answers: list[Any] = []
    with site.process() as process:
        kubelet = kubelet_of(site)
        kubelet.info()
        caller = Thread(target=lambda: answers.append(kubelet.devices(claim)))
        caller.start()
        assert any("MIG mode is on" in line for line in process.stderr)

        process.send_signal(signal.SIGTERM)

        assert process.wait(30) == 0
        caller.join()

    assert isinstance(process, subprocess.Popen)
    assert [device for device, _ in answers[0]] == [HALF]
