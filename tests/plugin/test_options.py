"""Options that can be worked with, and one message for those that cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from daemon.command_line import InvalidOption
from plugin.__main__ import main
from plugin.kubelet.sockets import PATH_BYTES
from plugin.options import Options


def options(**changed: Any) -> Options:
    given = {"driver_name": "tangram.dev", "node_name": "node-1"} | changed
    return Options(**given)


def test_everything_lies_where_the_kubelet_expects_it() -> None:
    found = options()

    assert found.dra_socket == Path("/var/lib/kubelet/plugins/tangram.dev/dra.sock")
    assert found.registration_socket == Path("/var/lib/kubelet/plugins_registry/tangram.dev-reg.sock")
    assert found.claims_dir.parent == found.data_dir


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"driver_name": "Tangram.dev"}, "--driver-name 'Tangram.dev': must be a lower-case DNS subdomain"),
        ({"driver_name": "9.dev"}, "--driver-name '9.dev': must start with a letter"),
        ({"driver_name": "../x"}, "--driver-name"),
        ({"driver_name": ""}, "--driver-name"),
        ({"node_name": "a/b"}, "--node-name 'a/b': must be a lower-case DNS subdomain"),
        ({"node_name": ""}, "--node-name"),
        ({"kubelet_dir": Path("relative")}, "--kubelet-dir 'relative': must be absolute"),
        ({"cdi_dir": Path("relative")}, "--cdi-dir 'relative': must be absolute"),
        ({"host_root": Path("host")}, "--host-root 'host': must be absolute"),
        ({"cdi_hook": Path("hook")}, "--nvidia-cdi-hook 'hook': must be absolute"),
        ({"pod_uid": "../x"}, "--pod-uid '../x': must be 1 to 64 letters, digits and dashes"),
        ({"call_wait_s": 45.0}, "call wait '45.0': must lie between 0 and 45 s"),
        ({"holder_wait_s": -1.0}, "holder wait '-1.0': must be at least 0 s"),
        ({"call_wait_s": 4.0}, "holder wait '5.0': .* at most the 4 s that a call may wait"),
        ({"device_wait_s": 41.0}, "device wait '41.0': .* at most the 40 s that a call may wait"),
        ({"grace_s": 0.0}, "--grace-period '0.0': must lie between 0 and 3600 s"),
        ({"grace_s": float("nan")}, "--grace-period 'nan': must lie between 0 and 3600 s"),
    ],
)
def test_an_option_that_cannot_be_used_is_named_with_its_value_and_rule(
    changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidOption, match=message):
        options(**changed)


def test_a_socket_path_has_107_bytes_at_most() -> None:
    rest = len("/plugins_registry/tangram.dev-reg.sock")
    longest = Path("/" + "k" * (PATH_BYTES - rest - 1))

    assert len(bytes(options(kubelet_dir=longest).registration_socket)) == 107
    with pytest.raises(InvalidOption, match=r"has 108 bytes; the path of a unix socket has at most 107"):
        options(kubelet_dir=Path(f"{longest}k"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--claims", "CLAIMS", "--kubeconfig", "k"], "not allowed with argument"),
        (["--claims", "CLAIMS", "--no-such-option"], "--no-such-option"),
        (["--claims", "/no/such/folder"], "--claims '/no/such/folder': must be an existing folder"),
        (["--claims", "CLAIMS", "--simulated", "a100x2"], "each needs the other"),
        (["--claims", "CLAIMS", "--machine", "MACHINE"], "each needs the other"),
        (["--claims", "CLAIMS", "--simulated", "no-such-node", "--machine", "MACHINE"], "no-such-node"),
        (
            ["--claims", "CLAIMS", "--simulated", "a100x2", "--machine", "MACHINE", "--driver-name", "A B"],
            "--driver-name 'A B'",
        ),
        (
            [
                "--claims",
                "CLAIMS",
                "--simulated",
                "a100x2",
                "--machine",
                "MACHINE",
                "--kubelet-dir",
                "/" + "k" * 99,
            ],
            "at most 107",
        ),
    ],
)
def test_wrong_options_end_with_status_2_one_message_and_nothing_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    claims, machine = tmp_path / "claims", tmp_path / "machine"
    claims.mkdir()
    places = {"CLAIMS": str(claims), "MACHINE": str(machine)}

    status = main([places.get(argument, argument) for argument in arguments])

    said = capsys.readouterr().err
    assert status == 2
    assert message in said
    assert "Traceback" not in said
    assert not machine.exists()


def test_help_shows_examples_and_ends_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    said = capsys.readouterr().out
    assert "--simulated dgx-a100" in said
    assert "--claims" in said
