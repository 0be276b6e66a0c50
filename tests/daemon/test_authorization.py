"""Who may read the metrics: asked of the API server, remembered for a while, refused in one sentence."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from daemon.authorization import Access, Authorization, Unreviewed


@dataclass
class Server:
    """An API server that knows some tokens."""

    answers: dict[str, Access] = field(
        default_factory=lambda: {"good": Access.ALLOWED, "poor": Access.FORBIDDEN}
    )
    asked: list[tuple[str, str]] = field(default_factory=list)
    is_down: bool = False
    now: float = 0.0
    told: list[str] = field(default_factory=list)

    def review(self, token: str, path: str) -> Access:
        self.asked.append((token, path))
        if self.is_down:
            raise Unreviewed("connection refused")
        return self.answers.get(token, Access.UNKNOWN)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def authorization(server: Server) -> Authorization:
    return Authorization(server.review, lambda: server.now, server.told.append)


@pytest.mark.parametrize("header", [None, "", "Basic eA==", "Bearer", "Bearer ", "good"])
def test_who_sends_no_token_is_unknown_and_nobody_is_asked(
    authorization: Authorization, server: Server, header: str | None
) -> None:
    assert authorization.of(header, "/metrics") is Access.UNKNOWN
    assert server.asked == []


@pytest.mark.parametrize(
    ("token", "access"), [("good", Access.ALLOWED), ("poor", Access.FORBIDDEN), ("none", Access.UNKNOWN)]
)
def test_the_api_server_says_who_may(authorization: Authorization, token: str, access: Access) -> None:
    assert authorization.of(f"Bearer {token}", "/metrics") is access


def test_an_allowed_caller_is_asked_for_once_a_minute(authorization: Authorization, server: Server) -> None:
    for server.now in (0.0, 30.0, 59.0, 60.0):
        assert authorization.of("Bearer good", "/metrics") is Access.ALLOWED

    assert len(server.asked) == 2


def test_a_caller_who_was_refused_is_asked_for_again_soon(
    authorization: Authorization, server: Server
) -> None:
    assert authorization.of("Bearer late", "/metrics") is Access.UNKNOWN
    server.answers["late"] = Access.ALLOWED
    server.now = 10.0

    assert authorization.of("Bearer late", "/metrics") is Access.ALLOWED


def test_a_right_that_was_taken_away_ends_within_a_minute(
    authorization: Authorization, server: Server
) -> None:
    authorization.of("Bearer good", "/metrics")
    server.answers["good"] = Access.FORBIDDEN
    server.now = 60.0

    assert authorization.of("Bearer good", "/metrics") is Access.FORBIDDEN


def test_nobody_reads_while_the_api_server_does_not_answer_and_that_is_not_remembered(
    authorization: Authorization, server: Server
) -> None:
    server.is_down = True
    assert authorization.of("Bearer good", "/metrics") is Access.UNDECIDED
    assert server.told == ["connection refused"]

    server.is_down = False
    assert authorization.of("Bearer good", "/metrics") is Access.ALLOWED


def test_whoever_guesses_tokens_takes_a_bounded_number_of_answers(
    authorization: Authorization, server: Server
) -> None:
    for number in range(2000):
        authorization.of(f"Bearer guess-{number}", "/metrics")

    assert len(authorization._known) <= 256
