"""Whatever clients do to the metrics, it costs a bounded number of threads and no line in the log."""

from __future__ import annotations

import logging
import socket
import struct
import threading
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from controlled_server import eventually

from agent.publishing.metrics import Metrics
from daemon.serving.bounded_server import OPEN, AddressServer
from daemon.serving.connections import LONGEST_S, MOST, Connection, Connections, in_the_way, overdue
from daemon.status_server import answers_of, served_when_free, serving, serving_probes

REQUEST = b"GET /healthz HTTP/1.0\r\n\r\n"


@pytest.fixture
def answers():
    return answers_of(Metrics(), lambda: 0.0, lambda: True)


@pytest.fixture
def sockets():
    with ExitStack() as stack:

        def connected(port):
            return stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))

        yield connected


def answer(one):
    one.sendall(REQUEST)
    with one.makefile("rb") as file:
        return file.readline()


def test_who_has_asked_for_nothing_makes_room_for_who_comes(answers, sockets):
    with serving(("127.0.0.1", 0), answers) as port:
        silent = [sockets(port) for _ in range(MOST * 3)]
        asking = sockets(port)

        assert answer(asking) == b"HTTP/1.0 200 OK\r\n"
        assert silent[0].recv(1) == b""  # the oldest were closed
        eventually(lambda: threads() <= MOST, f"{MOST} threads at most answer connections")


def test_a_burst_of_connections_waits_for_no_second_try(sockets):
    with AddressServer(("127.0.0.1", 0), BaseHTTPRequestHandler, OPEN, Connections(lambda: 0.0)) as server:
        assert all(sockets(server.server_address[1]) for _ in range(100))  # nobody takes them yet


def threads():
    """How many threads answer connections now."""
    return sum("process_request_thread" in one.name for one in threading.enumerate())


@pytest.mark.parametrize("sent", [b"", b"GET /metr", REQUEST])
def test_a_client_that_resets_its_connection_leaves_no_traceback(answers, sockets, capfd, caplog, sent):
    caplog.set_level(logging.DEBUG)
    others = set(threading.enumerate())
    with serving(("127.0.0.1", 0), answers) as port:
        for _ in range(20):
            with sockets(port) as one:
                one.sendall(sent)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        assert answer(sockets(port)) == b"HTTP/1.0 200 OK\r\n"

    for reader in set(threading.enumerate()) - others:
        reader.join(30)
    assert caplog.messages == []
    assert capfd.readouterr().err == ""


def test_an_answer_that_fails_is_told_in_the_log_and_the_next_one_is_given(sockets, caplog):
    def broken():
        raise RuntimeError("a fault of ours")

    with serving(("127.0.0.1", 0), {"/broken": broken, "/healthz": lambda: (200, "ok\n")}) as port:
        one = sockets(port)
        one.sendall(b"GET /broken HTTP/1.0\r\n\r\n")
        assert one.recv(1) == b""
        assert answer(sockets(port)) == b"HTTP/1.0 200 OK\r\n"

    (record,) = caplog.records
    assert record.exc_info[0] is RuntimeError


def test_a_silent_client_of_the_probe_socket_keeps_no_probe_waiting(answers, tmp_path: Path):
    path = tmp_path / "agent.sock"
    with serving_probes(path, answers), ExitStack() as stack:
        for _ in range(MOST + 1):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(str(path))

        assert answer(one) == b"HTTP/1.0 200 OK\r\n"


def test_who_is_being_answered_makes_room_last():
    asked, silent, newest = (Connection(None, since_s) for since_s in (1.0, 2.0, 3.0))
    asked.is_answered = True

    assert in_the_way([asked, silent, newest]) is silent
    assert in_the_way([asked]) is asked


def test_nobody_keeps_a_connection_for_long():
    old, young = Connection(None, 0.0), Connection(None, 5.0)

    assert overdue([old, young], LONGEST_S, LONGEST_S) == [old]


def test_a_connection_whose_time_is_over_is_broken():
    now = [0.0]
    connections = Connections(lambda: now[0])
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connections.add(ours)
        connections.drop_overdue()
        theirs.send(b".")
        assert ours.recv(1) == b"."
        now[0] = LONGEST_S

        connections.drop_overdue()

        assert theirs.recv(1) == b""
        connections.remove(ours)


class TakenUntil:
    """An address that another program has until somebody waits to try again."""

    def __init__(self):
        self.other = socket.socket()
        self.other.bind(("127.0.0.1", 0))
        self.other.listen()
        self.address = self.other.getsockname()
        self.waits = []

    def pause(self, seconds):
        self.waits.append(seconds)
        if len(self.waits) == 3:
            self.other.close()


@pytest.fixture
def told():
    """Return when the log says something; what it said."""
    lines, came = [], threading.Condition()

    class Handler(logging.Handler):
        def emit(self, record):
            with came:
                lines.append(record.getMessage())
                came.notify_all()

    def until(text):
        with came:
            assert came.wait_for(lambda: any(text in line for line in lines), 60)
        return lines

    log, handler = logging.getLogger("daemon"), Handler()
    level = log.level
    log.setLevel(logging.INFO)
    log.addHandler(handler)
    yield until
    log.removeHandler(handler)
    log.setLevel(level)


def test_an_address_that_is_taken_is_told_once_and_served_as_soon_as_it_is_free(answers, sockets, told):
    taken = TakenUntil()

    with served_when_free(taken.address, answers, taken.pause):
        lines = told("metrics are served on")
        assert answer(sockets(taken.address[1])) == b"HTTP/1.0 200 OK\r\n"

    refused = lines[0]
    assert refused.startswith(f"serve metrics on 127.0.0.1:{taken.address[1]}: ")
    assert "Address already in use" in refused
    assert "everything else goes on" in refused
    assert "--metrics-address" in refused
    assert taken.waits == sorted(taken.waits)


def test_a_program_that_never_gets_its_address_ends_as_others_do(answers):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()

        with served_when_free(other.getsockname(), answers):
            pass

    assert "metrics" not in {thread.name for thread in threading.enumerate()}
