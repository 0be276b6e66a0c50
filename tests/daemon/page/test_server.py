"""The page over HTTP: who may read it, what a browser is told of it, and its events."""

import base64
import http.client
import json
import socket
import threading

import pytest

from daemon.authorization import Access, Authorization
from daemon.page.document import policy_of_page
from daemon.page.hub import Hub
from daemon.page.server import bearer, is_loopback_host, serving_page
from daemon.serving.bounded_server import Protection

VALUE = {"title": "a cluster", "nodes": [], "live": True}


ASKED, ANSWERS = threading.Semaphore(0), threading.Semaphore(0)


def review(token, path):
    assert path == "/tangram/page"
    if token == "slow":
        ASKED.release()
        ANSWERS.acquire()
    return {"reader": Access.ALLOWED, "other": Access.FORBIDDEN}.get(token, Access.UNKNOWN)


class Site:
    def __init__(self, *, is_local=True, protection=None):
        self.hub = Hub(VALUE)
        protection = protection or Protection()
        self.serving = serving_page(("127.0.0.1", 0), self.hub, protection, is_local=is_local)

    def __enter__(self):
        self.port = self.serving.__enter__()
        return self

    def __exit__(self, *error):
        self.serving.__exit__(*error)

    def open(self, path="/", method="GET", **headers):
        asking = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        asking.request(method, path, headers={name.replace("_", "-"): text for name, text in headers.items()})
        return asking.getresponse()

    def get(self, path="/", **headers):
        answer = self.open(path, **headers)
        return answer.status, answer.read().decode()


@pytest.fixture
def site():
    with Site() as made:
        yield made


@pytest.fixture
def guarded():
    judge = Authorization(review, lambda: 0.0)
    with Site(is_local=False, protection=Protection(None, judge)) as made:
        yield made


def test_the_page_and_its_value_are_served(site):
    status, page = site.get("/")
    assert status == 200
    assert page.startswith("<!DOCTYPE html>")
    assert json.loads(site.get("/value.json")[1]) == VALUE
    assert site.get("/other") == (404, "known paths are /, /value.json, /events\n")


def test_a_browser_keeps_nothing_runs_nothing_else_and_shows_it_in_no_frame(site):
    headers = site.open("/").headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == f"{policy_of_page()}; frame-ancestors 'none'"


def test_nothing_can_be_changed(site):
    assert [site.open("/", method).status for method in ("POST", "PUT", "DELETE")] == [501, 501, 501]


def test_events_are_the_value_and_then_what_changed(site):
    answer = site.open("/events")
    assert answer.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert answer.readline() == b"event: all\n"
    assert json.loads(answer.readline().removeprefix(b"data: ")) == VALUE
    site.hub.put(VALUE | {"title": "renamed"})
    assert answer.readline() == b"\n"
    assert answer.readline() == b"event: change\n"
    assert json.loads(answer.readline().removeprefix(b"data: ")) == {"title": "renamed"}


def test_a_name_of_somebody_else_that_points_here_reads_nothing(site):
    assert site.get("/value.json", Host="evil.example") == (
        421,
        "this page is for the machine that it runs on\n",
    )
    assert site.get("/value.json", Host="localhost:1")[0] == 200


@pytest.mark.parametrize(
    ("host", "is_here"),
    [
        ("localhost:80", True),
        ("127.0.0.1", True),
        ("[::1]:8765", True),
        ("evil.example", False),
        ("10.0.0.1", False),
        ("localhost.evil.example", False),
        ("", False),
        (None, False),
        ("[", False),
    ],
)
def test_only_loopback_hosts_count_as_this_machine(host, is_here):
    assert is_loopback_host(host) is is_here


@pytest.mark.parametrize("path", ["/", "/value.json", "/events"])
def test_without_an_allowed_token_nothing_is_read(guarded, path):
    assert guarded.get(path)[0] == 401
    assert guarded.get(path, Authorization="Bearer wrong")[0] == 401
    assert guarded.get(path, Authorization="Bearer other")[0] == 403


def test_a_token_is_sent_as_a_bearer_token_or_as_a_browser_s_password(guarded):
    assert guarded.get("/value.json", Authorization="Bearer reader")[0] == 200
    basic = base64.b64encode(b"anybody:reader").decode()
    assert guarded.get("/value.json", Authorization=f"Basic {basic}")[0] == 200
    asked = guarded.open("/").headers["WWW-Authenticate"]
    assert asked == 'Basic realm="Tangram: the password is a token", charset="UTF-8"'


@pytest.mark.parametrize("header", ["Basic !", "Basic /w==", "Basic "])
def test_a_password_that_cannot_be_read_is_no_token(header):
    assert bearer(header) in (None, "Bearer ")


def test_streams_have_a_bound_and_one_that_ends_makes_room():
    with Site() as site:
        readers = [site.open("/events") for _ in range(32)]
        assert site.get("/events") == (
            503,
            "32 readers follow the changes of this page, which is the most; come back later\n",
        )
        assert site.get("/value.json")[0] == 200
        assert [one.readline() for one in readers] == [b"event: all\n"] * 32
        readers.pop().close()
        for number in range(1000):  # the server sees that a reader is gone when it writes to it
            site.hub.put(VALUE | {"number": number})
            if site.open("/events").status == 200:
                break
        else:
            raise AssertionError("no reader made room")


def test_who_may_not_read_takes_no_connection_from_who_does(guarded):
    reader = guarded.open("/events", Authorization="Bearer reader")
    assert reader.readline() == b"event: all\n"
    strangers = []
    try:
        for _ in range(70):  # more than the server has connections
            strangers.append(socket.create_connection(("127.0.0.1", guarded.port)))
            strangers[-1].sendall(b"GET /events HTTP/1.1\r\nAuthorization: Bearer slow\r\n\r\n")
            ASKED.acquire()
        guarded.hub.put(VALUE | {"title": "renamed"})
        assert [reader.readline()[:6] for _ in range(3)] == [b"data: ", b"\n", b"event:"]
    finally:
        for one in strangers:
            ANSWERS.release()
            one.close()


def test_a_reader_whose_right_is_gone_is_told_nothing_more():
    now, allowed = [0.0], [Access.ALLOWED]
    judge = Authorization(lambda token, path: allowed[0], lambda: now[0])
    with Site(is_local=False, protection=Protection(None, judge)) as site:
        reader = site.open("/events", Authorization="Bearer reader")
        assert reader.readline() == b"event: all\n"
        assert [reader.readline()[:6] for _ in range(2)] == [b"data: ", b"\n"]
        allowed[0] = Access.FORBIDDEN
        site.hub.put(VALUE | {"title": "renamed"})
        assert [reader.readline()[:6] for _ in range(3)] == [b"event:", b"data: ", b"\n"]
        now[0] = 61.0  # what the API server said is asked anew
        site.hub.put(VALUE | {"title": "secret"})
        assert reader.read() == b""
