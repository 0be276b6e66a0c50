"""Words that are nearly right are answered by the right one, a server that is away by its own status."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tangram.face import UNREACHABLE, WRONG_INPUT

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:%d"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
users: [{name: u, user: {}}]
"""


@pytest.mark.parametrize(
    ("arguments", "meant", "page"),
    [
        (["shwo"], "show", "tangram --help"),
        (["node", "falut"], "fault", "tangram node --help"),
        (["explain", "--polcy", "first-fit"], "--policy", "tangram explain --help"),
        (["explain", "--namspace=x"], "--namespace", "tangram explain --help"),
        (["allocate", "--policy", "bestfit"], "best-fit", "tangram allocate --help"),
    ],
)
def test_a_word_that_is_nearly_right_is_answered_by_the_right_one(
    tangram: Callable[..., object], arguments: list[str], meant: str, page: str
) -> None:
    answer = tangram(*arguments)

    assert (answer.status, answer.out) == (WRONG_INPUT, "")
    assert answer.err.endswith(f"; did you mean {meant}?; see {page}\n")


def test_a_word_like_no_other_is_answered_without_a_guess(tangram: Callable[..., object]) -> None:
    assert "did you mean" not in tangram("xyzzy").err


def test_a_server_that_cannot_be_reached_is_one_sentence_and_a_status_of_its_own(
    tangram: Callable[..., object], tmp_path: Path
) -> None:
    with socket.socket() as free:  # nobody listens on it
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(KUBECONFIG % port)
        answer = tangram("pending", "--kubeconfig", kubeconfig)

    assert (answer.status, answer.out) == (UNREACHABLE, "")
    assert f"no connection to 127.0.0.1:{port}: Connection refused" in answer.err
    assert len(answer.err.splitlines()) == 1


def test_a_kubeconfig_that_is_not_there_is_wrong_input(
    tangram: Callable[..., object], tmp_path: Path
) -> None:
    assert tangram("pending", "--kubeconfig", tmp_path / "none").status == WRONG_INPUT
