"""The agent as a program: whoever starts it wrongly is told in one line."""

from __future__ import annotations

import pytest

from agent.__main__ import main
from tangram.__main__ import main as tangram


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No way to an API server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


def test_a_wrong_option_is_one_message_and_status_2(capsys):
    assert main(["--node-name", "node-1", "--resync", "0"]) == 2

    assert (
        capsys.readouterr().err
        == "tangram agent: cannot use --resync '0.0': must be at least 1 second; see --help\n"
    )


def test_without_a_way_to_an_api_server_it_says_what_it_looked_for_with_status_1(capsys, nowhere):
    assert main(["--node-name", "node-1"]) == 1

    told = capsys.readouterr().err
    assert told.startswith("tangram agent: ")
    assert told.count("\n") == 1
    assert "KUBECONFIG" in told


def test_an_unknown_machine_is_named_with_status_2(capsys, tmp_path):
    status = main(["--node-name", "node-1", "--simulated", "nosuch", "--machine", str(tmp_path / "m")])

    assert status == 2
    assert "nosuch" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()


def test_the_face_passes_everything_on(capsys):
    assert tangram(["agent", "--help"]) == 0

    assert "usage: tangram agent" in capsys.readouterr().out
