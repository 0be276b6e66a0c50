"""The controller's command line: what is wrong is told in one sentence, with status 2; nothing is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted_api import write_kubeconfig

from controller.__main__ import main
from controller.options import read_options
from daemon.address import Address
from daemon.command_line import InvalidOption

WRONG: list[tuple[list[str], str]] = [
    (["--driver-name", "x-"], "--driver-name 'x-': must be"),
    (["--namespace", "Team_A"], "--namespace 'Team_A': must be"),
    (["--metrics-address", "9464"], "--metrics-address '9464': must be HOST:PORT or :PORT"),
    (["--metrics-address", ":x"], "--metrics-address ':x': must be HOST:PORT"),
    (["--metrics-address", ":65536"], "--metrics-address ':65536': must be HOST:PORT"),
    (["--metrics-address", "host:"], "--metrics-address 'host:': must be HOST:PORT"),
    (["--webhook-address", "8443"], "--webhook-address '8443': must be HOST:PORT or :PORT"),
    (["--certificate-dir", "/tls"], "--certificate-dir '/tls': is for --webhook-address"),
    (["--ungate-after", "0.5"], "--ungate-after '0.5': must be at least 1 second"),
    (["--ungate-after", "-1"], "--ungate-after '-1.0': must be at least 1 second"),
    (["--ungate-after", "nan"], "--ungate-after 'nan': must be at least 1 second"),
]


@pytest.mark.parametrize(("argv", "told"), WRONG)
def test_a_wrong_option_is_refused_with_its_value_and_rule(argv: list[str], told: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        read_options(argv)
    assert told in str(refused.value)


@pytest.mark.parametrize(("argv", "told"), WRONG)
def test_the_program_says_it_in_one_line(
    argv: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(argv) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert said.err.startswith("tangram controller: ")
    assert told in said.err


@pytest.mark.parametrize("argv", [["--driver"], ["--driver-nam", "x"], ["--ungate-after", "soon"], ["extra"]])
def test_unknown_options_are_refused_and_never_guessed(argv: list[str]) -> None:
    assert main(argv) == 2


def test_the_defaults() -> None:
    options = read_options([])
    assert (options.driver_name, options.namespace) == ("tangram.dev", "tangram-system")
    assert (options.metrics, options.probe_socket, options.webhook, options.decisions) == (None,) * 4
    assert options.ungate_after_s is None
    assert options.identity


def test_what_is_given_is_used() -> None:
    argv = ["--metrics-address", "[::1]:9465", "--webhook-address", ":8443", "--certificate-dir", "/tls"]
    options = read_options([*argv, "--ungate-after", "60", "--identity", "me", "--decisions", "/log"])
    assert (options.metrics, options.webhook) == (Address("::1", 9465), Address("", 8443))
    assert (options.certificate_dir, options.decisions) == (Path("/tls"), Path("/log"))
    assert (options.ungate_after_s, options.identity) == (60.0, "me")


def test_help_has_examples_and_the_exit_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(part in said for part in ("examples:", "exit status:", "--decisions FILE"))


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No way to an API server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("nowhere")
def test_no_api_server_is_one_line_and_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tangram controller: ")
    assert said.count("\n") == 1
    assert "KUBECONFIG" in said


@pytest.mark.usefixtures("nowhere")
def test_a_log_that_cannot_be_opened_is_one_line_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:9", {}, {"token": "t"})
    log = tmp_path / "none" / "decisions"
    assert main([f"--kubeconfig={config}", f"--decisions={log}"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("tangram controller: ")
    assert said.count("\n") == 1
    assert str(log) in said
