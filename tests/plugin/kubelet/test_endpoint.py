"""A served socket: taken where nobody serves, left alone where somebody does."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from plugin.base.errors import SocketTaken
from plugin.kubelet.endpoint import Endpoint, refuse_taken


def new_server() -> grpc.Server:
    return grpc.server(ThreadPoolExecutor(1))


def test_a_served_socket_answers_and_is_gone_once_it_is_closed(folder: Path) -> None:
    path = folder / "dra.sock"

    endpoint = Endpoint(new_server, path)

    with pytest.raises(SocketTaken, match="another process serves it; stop that plugin first"):
        refuse_taken(path)
    endpoint.close()
    assert list(folder.iterdir()) == []


def test_closing_leaves_the_socket_of_a_successor(folder: Path) -> None:
    path = folder / "dra.sock"
    first = Endpoint(new_server, path)
    second = Endpoint(new_server, path)

    first.close()

    with pytest.raises(SocketTaken):
        refuse_taken(path)
    second.close()
    assert list(folder.iterdir()) == []


def test_a_socket_that_nobody_serves_is_removed(folder: Path) -> None:
    path = folder / "dra.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))

    refuse_taken(path)
    refuse_taken(path)

    assert not path.exists()


def test_what_is_not_a_socket_is_moved_aside(folder: Path) -> None:
    path = folder / "dra.sock"
    path.write_text("notes")

    refuse_taken(path)

    (aside,) = folder.iterdir()
    assert aside.read_text() == "notes"


def test_a_folder_in_the_place_of_a_socket_is_moved_aside(folder: Path) -> None:
    path = folder / "dra.sock"
    (path / "full").mkdir(parents=True)

    endpoint = Endpoint(new_server, path)
    endpoint.close()

    (aside,) = folder.iterdir()
    assert (aside / "full").exists()


@pytest.mark.parametrize("place", ["nothing", "a file", "a dead socket"])
def test_a_socket_that_is_gone_is_served_again_and_calls_reach_it(
    folder: Path, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "dra.sock"
    endpoint = Endpoint(new_server, path)
    endpoint.look_after()
    path.unlink()
    if place == "a file":
        path.write_text("notes")
    if place == "a dead socket":
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(path))

    endpoint.look_after()

    with pytest.raises(SocketTaken, match="another process serves it"):
        refuse_taken(path)
    assert caplog.text.count("it is served again") == 1
    endpoint.close()
    endpoint.look_after()
    assert not path.exists()


def test_a_socket_that_another_process_serves_is_left_to_it(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "dra.sock"
    former = Endpoint(new_server, path)
    successor = Endpoint(new_server, path)
    identity = path.lstat().st_ino

    former.look_after()
    former.look_after()

    assert path.lstat().st_ino == identity
    assert caplog.text.count("cannot be served again") == 1
    former.close()
    successor.close()
