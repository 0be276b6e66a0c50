"""A served socket: taken where nobody serves, left alone where somebody does."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from plugin.base.errors import SocketTaken, StorageFailed
from plugin.kubelet.endpoint import refuse_taken, serve


def new_server() -> grpc.Server:
    return grpc.server(ThreadPoolExecutor(1))


def test_a_served_socket_answers_and_is_gone_once_it_is_closed(folder: Path) -> None:
    path = folder / "dra.sock"

    endpoint = serve(new_server(), path)

    with pytest.raises(SocketTaken, match="another process serves it; stop that plugin first"):
        refuse_taken(path)
    endpoint.close()
    assert list(folder.iterdir()) == []


def test_closing_leaves_the_socket_of_a_successor(folder: Path) -> None:
    path = folder / "dra.sock"
    first = serve(new_server(), path)
    second = serve(new_server(), path)

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


def test_what_is_no_socket_is_left_to_the_operator(folder: Path) -> None:
    path = folder / "dra.sock"
    path.write_text("notes")

    with pytest.raises(SocketTaken, match=r"no socket; the operator removes it"):
        refuse_taken(path)

    assert path.read_text() == "notes"


def test_a_socket_that_cannot_be_put_in_its_place_is_not_served(folder: Path) -> None:
    path = folder / "dra.sock"
    (path / "full").mkdir(parents=True)

    with pytest.raises(StorageFailed, match=r"cannot remove folder .*is not empty"):
        serve(new_server(), path)
