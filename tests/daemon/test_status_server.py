"""Metrics and probes over real sockets."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import pytest
from controlled_server import eventually

from agent.publishing.metrics import Metrics
from daemon.status.asking import ask
from daemon.status_server import answers_of, serving, serving_probes


def get(port, path):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def state():
    return {"idle": 1.0, "ready": False}


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def answers(state, metrics):
    return answers_of(metrics, lambda: state["idle"], lambda: state["ready"])


@pytest.fixture
def port(answers):
    with serving(("127.0.0.1", 0), answers) as port:
        yield port


def test_metrics_are_told_in_prometheus_text_form(port, metrics):
    metrics.count("writes_total", kind="ResourceSlice", verb="create")
    metrics.count("writes_total", kind="ResourceSlice", verb="create")
    metrics.only("dropped_field", "field", {'a"b': 1.0})

    status, text = get(port, "/metrics")

    assert status == 200
    assert '\ntangram_agent_writes_total{kind="ResourceSlice",verb="create"} 2.0\n' in text
    assert "# TYPE tangram_agent_writes_total counter\n" in text
    assert 'tangram_agent_dropped_field{field="a\\"b"} 1.0\n' in text
    assert "tangram_agent_discoveries_total 0.0\n" in text


def test_a_gauge_of_exclusive_states_forgets_the_old_ones(metrics):
    metrics.only("dropped_field", "field", {"taints": 1.0})

    metrics.only("dropped_field", "field", {})

    assert "taints" not in metrics.text()


def test_the_agent_is_ready_once_it_has_published(port, state):
    assert get(port, "/readyz")[0] == 503

    state["ready"] = True

    assert get(port, "/readyz") == (200, "ok\n")


def test_the_agent_is_sick_when_its_loop_stands_still(port, state):
    assert get(port, "/healthz") == (200, "ok\n")

    state["idle"] = 1000.0

    assert get(port, "/healthz")[0] == 500


def test_other_paths_are_told_what_there_is(port):
    assert get(port, "/")[0] == 404


def test_two_agents_can_listen_on_one_address_while_one_replaces_the_other(port, metrics):
    with serving(("127.0.0.1", port), answers_of(metrics, lambda: 0.0, lambda: True)) as other:
        assert other == port


def test_a_socket_that_the_last_run_left_behind_is_taken_over_and_the_end_leaves_none(tmp_path, answers):
    path = tmp_path / "agent.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))

    with serving_probes(path, answers), socket.socket(socket.AF_UNIX) as asking:
        asking.connect(str(path))

    assert not path.exists()


def test_what_is_no_socket_is_left_as_it_is_and_the_option_is_named(tmp_path, answers):
    path = tmp_path / "agent.sock"
    path.write_text("somebody's")

    told = f"listen for probes on {path}: .*; --probe-socket must name"
    with pytest.raises(OSError, match=told), serving_probes(path, answers):
        pass

    assert path.read_text() == "somebody's"


def put(path, asked, change):
    return ask(str(path), asked, change=change)


def test_what_may_be_changed_is_changed_over_the_socket_and_nothing_else(answers, tmp_path):
    path, told = tmp_path / "s", []

    def change(text):
        told.append(text)
        return 200, "done\n"

    with serving_probes(path, answers, {"/log-level": change}):
        assert put(path, "/log-level", "debug") == (200, "done\n")
        assert put(path, "/healthz", "well")[0] == 405
        assert put(path, "/log-level", "x" * 65)[0] == 413

    assert told == ["debug"]


def test_nothing_can_be_changed_over_an_address(port):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/log-level", data=b"debug", method="PUT")

    with pytest.raises(urllib.error.HTTPError, match="405"):
        urllib.request.urlopen(request, timeout=5)


def test_a_socket_for_probes_that_was_removed_is_served_again(tmp_path, caplog):
    path = tmp_path / "probe.sock"
    with serving_probes(path, {"/healthz": lambda: (200, "ok\n")}):
        path.unlink()
        eventually(path.is_socket, "the socket is there again")
        with socket.socket(socket.AF_UNIX) as asking:
            asking.connect(str(path))
            asking.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
            assert b"ok" in asking.makefile("rb").read()
        eventually(lambda: "was removed; it is served again" in caplog.text, "it is logged")
    assert not path.exists()
