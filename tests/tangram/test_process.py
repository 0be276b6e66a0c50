"""The command as a process of its own: exit status, pipes, terminals, help."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from needs import open_terminal

COMMANDS = [
    [],
    ["demo"],
    ["show"],
    ["allocate"],
    ["node"],
    ["node", "list"],
    ["node", "show"],
    ["node", "fault"],
    ["node", "reboot"],
    ["plugin"],
]


def command(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("tangram")), *arguments]


def test_it_is_the_same_program_by_its_name_and_as_a_module():
    runs = [[*command("--version")], [sys.executable, "-m", "tangram", "--version"]]

    outputs = [subprocess.run(run, capture_output=True, text=True, check=True).stdout for run in runs]

    assert outputs[0] == outputs[1]
    assert outputs[0].startswith("tangram 0.")


def test_kubectl_finds_it_as_a_plugin():
    plugin = Path(sys.executable).with_name("kubectl-tangram")

    done = subprocess.run([plugin, "--version"], capture_output=True, text=True, check=True)

    assert done.stdout.startswith("tangram 0.")


def test_a_failure_is_a_status_and_a_message_without_traceback():
    done = subprocess.run(command("show", "--node", "cray-1"), capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tangram: node 'cray-1'")


def test_a_reader_that_goes_away_ends_it_quietly():
    show = subprocess.Popen(
        command("show", "--node", "dgx-a100", "--as", "v1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert show.stdout is not None

    first = show.stdout.readline()
    show.stdout.close()
    _, errors = show.communicate()

    assert first == b"apiVersion: resource.k8s.io/v1\n"
    assert (show.returncode, errors) == (0, b"")


def test_slices_flow_from_show_to_allocate_through_a_pipe(examples):
    slices = subprocess.run(
        command("show", "--node", "a30x4", "--as", "v1"), stdout=subprocess.PIPE, check=True
    )

    answer = subprocess.run(
        command(
            *("allocate", "-f", "-"),
            *("-f", str(examples / "device-classes.yaml")),
            *("-f", str(examples / "gpu-claim.yaml")),
        ),
        input=slices.stdout,
        capture_output=True,
        check=False,
    )

    assert answer.returncode == 0
    assert b"gpu-0" in answer.stdout


def closed(redirection: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with one of its standard files closed, as a shell does."""
    shell = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command(*arguments)]
    return subprocess.run(shell, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("arguments", [["demo", "--node", "l40s"], ["show", "--node", "l40s"], ["--help"]])
def test_without_standard_output_it_says_so(arguments):
    done = closed(">&-", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tangram: standard output is closed: the answer cannot be written\n"


def test_without_standard_input_a_file_named_dash_is_refused():
    done = closed("<&-", "allocate", "-f", "-")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tangram: -: standard input is closed: pipe a file into it, or name one\n"


def test_without_standard_error_a_failure_does_not_become_the_answer():
    done = closed("2>&-", "show", "--node", "cray-1")

    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_told_to_end_removes_its_machine(number):
    demo = subprocess.Popen(
        command("demo"),
        bufsize=0,
        pipesize=4096,  # what follows is longer: unread, it keeps the demo from its end
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        # Under nohup it would stay ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # noqa: PLW1509
    )
    assert demo.stdout is not None
    folder = next(found[0] for line in demo.stdout if (found := re.search(rb"/\w+(/\w+)?/tangram-\w+", line)))
    assert os.path.exists(folder)

    demo.send_signal(number)
    _, errors = demo.communicate()

    assert (demo.returncode, errors) == (128 + number, b"")
    assert not os.path.exists(folder)


def test_a_signal_that_is_ignored_stays_ignored():
    program = (
        "import signal; from tangram.program.throwaway import clean_end\n"
        "signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "with clean_end(): signal.raise_signal(signal.SIGHUP); print('still here')"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "still here\n")


def test_a_terminal_gets_colours():
    ours, theirs = open_terminal()
    environment = os.environ | {"TERM": "xterm-256color"}
    environment.pop("NO_COLOR", None)

    subprocess.run(command("node", "list"), stdout=theirs, check=True, env=environment)
    os.close(theirs)
    shown = os.read(ours, 65536)
    os.close(ours)

    assert b"\x1b[1mdgx-a100" in shown


def test_a_locale_without_box_drawing_still_gets_an_answer():
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    environment.pop("COLUMNS", None)  # a test runner may set it; the width is then its own

    done = subprocess.run(
        command("show", "--node", "l40s"), capture_output=True, check=False, env=environment
    )
    listed = subprocess.run(command("node", "list"), capture_output=True, check=True, env=environment)

    assert (done.returncode, done.stderr) == (0, b"")
    assert b"-" * 120 in done.stdout.splitlines()
    assert b"4 x NVIDIA L40S" in listed.stdout
    assert b"\\" not in done.stdout + listed.stdout


@pytest.mark.parametrize("names", COMMANDS, ids=" ".join)
def test_every_command_explains_itself_with_an_example(names):
    done = subprocess.run(command(*names, "--help"), capture_output=True, text=True, check=True)

    assert "usage: " in done.stdout
    assert "example" in done.stdout


def test_the_real_machine_is_shown_whether_it_has_gpus_or_not():
    done = subprocess.run(
        command("show", "--real", "--node-name", "here"), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "in pool tangram.dev/here" in done.stdout


def test_the_plugin_gets_its_arguments_untouched():
    done = subprocess.run(command("plugin", "--bogus"), capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "tangram plugin: error:" in done.stderr
    assert "Traceback" not in done.stderr
