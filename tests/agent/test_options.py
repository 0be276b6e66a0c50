"""The agent's command line: what is wrong is told in one line, and nothing is made."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.options import read_options
from daemon.address import Address
from daemon.command_line import InvalidOption


def test_the_defaults_are_those_of_a_daemonset():
    options = read_options(["--node-name", "node-1"])

    assert (options.driver_name, options.node_name, options.resync_s) == ("tangram.dev", "node-1", 300.0)
    assert options.composite
    assert options.metrics is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", Address("127.0.0.1", 9464)),
        (":9464", Address("", 9464)),
        ("[::1]:9464", Address("::1", 9464)),
    ],
)
def test_an_address_is_read_as_people_write_it(text, address):
    found = read_options(["--metrics-address", text, "--metrics-authorization", "none"])

    assert found.metrics.address == address


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--node-name", "Node_1"], "cannot use --node-name 'Node_1': must be"),
        (["--node-name", "n" * 64], "--node-name"),
        (["--driver-name", "x-"], "--driver-name 'x-'"),
        (["--resync", "0"], "--resync '0.0': must be at least 1 second"),
        (["--simulated", "a100x2"], "each needs the other"),
        (["--machine", "/tmp"], "each needs the other"),
        (["--multus-resource", "vf"], "--multus-resource 'vf': must be DOMAIN/NAME"),
        (["--multus-resource", "a.example/" + "v" * 55], "of at most 64 characters"),
        (["--metrics-address", "9464"], "--metrics-address '9464'"),
        (["--metrics-address", "host:70000"], "--metrics-address"),
    ],
)
def test_a_wrong_option_is_named_with_its_value_and_the_rule(argv, told):
    with pytest.raises(InvalidOption) as refusal:
        read_options([*argv] if "--node-name" in argv else ["--node-name", "node-1", *argv])

    assert told in str(refusal.value)


def test_paths_are_taken_as_they_are():
    options = read_options(
        ["--simulated", "a100x2", "--machine", "m", "--kubeconfig", "k", "--probe-socket", "s"]
    )

    assert (options.machine.folder, options.kubeconfig, options.probe_socket) == (
        Path("m"),
        Path("k"),
        Path("s"),
    )
