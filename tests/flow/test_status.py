"""What a running plugin tells of itself when it is asked: ``tangram plugin status``."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from agent.hardware.open import simulated_hardware
from daemon.status.last_errors import LastErrors
from plugin.__main__ import main
from plugin.assembly import assemble
from plugin.base.in_flight import CallsInFlight
from plugin.claim.claim_directory import ClaimDirectory
from plugin.claim.record_store import RecordStore
from plugin.kubelet.server import start
from plugin.telling.state import PluginState

HALF, SMALL = "gpu-0-mig-3g-20gb-4-7", "gpu-0-mig-1g-5gb-0"


def state_of(site: Any, driver: Any, calls: CallsInFlight, clock: Callable[[], float]) -> PluginState:
    return PluginState(
        driver=driver,
        store=RecordStore(site.options.claims_dir),
        calls=calls,
        errors=LastErrors(),
        clock=clock,
        wall=time.time,
        began_at=clock(),
    )


def test_a_call_that_hangs_keeps_no_answer_and_is_told_with_its_lock_and_its_claim(
    site_of: Callable[..., Any], kubelet_of: Callable[..., Any]
) -> None:
    at_work, go_on, ahead = Event(), Event(), [0.0]

    def clock() -> float:
        return time.monotonic() + ahead[0]

    def slow(_: float) -> None:
        at_work.set()
        go_on.wait()

    site = site_of("a100x2", slow)
    site.inject("gpu-0:create-gpu-instance:slow=3600:1")
    calls = CallsInFlight(clock)
    driver = assemble(
        simulated_hardware(site.simulated), site.options, clock=clock, sleep=time.sleep, calls=calls
    )
    state = state_of(site, driver, calls, clock)
    with start(driver, ClaimDirectory(site.claims_dir), site.options), ThreadPoolExecutor(1) as pool:
        kubelet_of(site).devices(site.allocate("u1", "gpu-1"))
        hanging = pool.submit(kubelet_of(site).devices, site.allocate("u2", HALF))
        at_work.wait()
        ahead[0] = 3600.0
        found = state.status().json()
        page = state.status().text()
        go_on.set()
        hanging.result()

    (call,) = found["calls"]
    assert (call["hangs"], call["age_seconds"] >= 3600) == (True, True)
    assert {one["state"] for one in found["locks"]} == {"held"}
    assert all("has not returned for 3600 s" in one["call"] for one in found["locks"])
    assert {one["uid"]: one["state"] for one in found["claims"]} == {"u1": "completed", "u2": "started"}
    assert {"kind": "gpu", "state": "claimed", "count": 1} in found["devices"]
    assert "yes    1h00m  the call create_gpu_instance of the GPU driver" in page


@pytest.fixture
def serving(site: Any, tmp_path: Path) -> Any:
    """A plugin in a process of its own that answers on a socket."""
    probed = tmp_path / "plugin.sock"
    with site.process("--probe-socket", str(probed)) as process:
        assert any("answers probes" in line for line in process.stderr)
        yield probed, process


def test_the_command_prints_what_a_running_plugin_knows(
    site: Any, serving: Any, kubelet_of: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    probed, _ = serving
    kubelet_of(site).devices(site.allocate("u1", HALF))

    assert main(["status", "--socket", str(probed)]) == 0
    page = capsys.readouterr().out
    assert main(["status", "--socket", str(probed), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)

    assert f"default/claim-u1 (u1): {HALF}" in page
    assert "calls: none" in page
    assert max(map(len, page.splitlines())) <= 80
    (claim,) = value["claims"]
    assert (claim["state"], claim["devices"], value["node"]) == ("completed", [HALF], site.options.node_name)


def test_a_claim_in_quarantine_and_the_last_errors_are_told(
    site: Any, serving: Any, kubelet_of: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    probed, _ = serving
    kubelet_of(site).devices(site.allocate("u1", HALF))
    record = site.options.claims_dir / "u1.json"
    record.write_bytes(record.read_bytes().replace(b"gpu-0", b"gpu-9", 1))
    kubelet_of(site).prepare(site.allocate("u2", "gpu-77"))

    assert main(["status", "--socket", str(probed), "--json"]) == 0
    value = json.loads(capsys.readouterr().out)

    assert [one["uid"] for one in value["quarantine"]] == ["u1"]
    assert [one["state"] for one in value["claims"]] == ["quarantined"]
    assert any(one.get("uid") == "u2" and "gpu-77" in one["message"] for one in value["last_errors"])


def test_the_level_of_the_log_is_changed_while_the_plugin_runs(
    serving: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    probed, process = serving

    assert main(["log-level", "debug", "--socket", str(probed)]) == 0
    assert main(["log-level", "--socket", str(probed)]) == 0
    assert capsys.readouterr().out == "debug\ndebug\n"
    assert "the level of the log is debug now, it was info" in process.stderr.readline()


def test_sigusr1_writes_the_status_into_the_log(serving: Any) -> None:
    _, process = serving

    process.send_signal(signal.SIGUSR1)

    lines = iter(process.stderr.readline, "")
    assert any("the status of this program:" in line for line in lines)
    assert any(line.startswith("program:") for line in lines)
    assert process.poll() is None


def test_a_plugin_that_does_not_run_is_one_sentence_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["status", "--socket", str(tmp_path / "none")]) == 1

    assert "the plugin is not running, or --socket is not its --probe-socket" in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [["status", "--what"], ["log-level", "loud"]])
def test_wrong_options_of_the_commands_are_status_2(wrong: list[str]) -> None:
    assert main(wrong) == 2
