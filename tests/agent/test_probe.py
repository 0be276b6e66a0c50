"""A probe asks one agent, and says by its exit status how that one is."""

from __future__ import annotations

import pytest

from agent.probe import main
from agent.publishing.metrics import Metrics
from daemon.status_server import answers_of, serving_probes


@pytest.fixture
def agent(tmp_path):
    """The socket of an agent that has published nothing yet."""
    path = tmp_path / "agent.sock"
    with serving_probes(path, answers_of(Metrics(), lambda: 1.0, lambda: False, "nothing is published yet")):
        yield str(path)


def test_an_agent_that_is_well_is_status_0(agent, capsys):
    assert main([agent, "/healthz"]) == 0

    assert capsys.readouterr().out == "ok\n"


def test_an_agent_that_is_not_ready_is_status_1_and_says_why(agent, capsys):
    assert main([agent, "/readyz"]) == 1

    assert capsys.readouterr().out == "nothing is published yet\n"


def test_an_agent_that_is_not_there_is_status_1_and_the_socket_is_named(tmp_path, capsys):
    path = str(tmp_path / "nobody.sock")

    assert main([path, "/healthz"]) == 1

    assert f"ask the agent on {path} for /healthz: " in capsys.readouterr().err


@pytest.mark.parametrize("argv", [[], ["/run/agent.sock"]])
def test_whoever_calls_it_wrongly_is_told_how(argv, capsys):
    assert main(argv) == 1

    assert capsys.readouterr().err.startswith("usage: python3 -m agent.probe SOCKET PATH")
