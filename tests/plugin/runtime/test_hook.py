"""The hook and the plugin meet in a folder: the container starts after "ok", and ends with a reason else."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import needs
import pytest

from plugin.base.budget import Budget, Budgets
from plugin.base.errors import NotReady
from plugin.machine.namespaces import PodNamespace
from plugin.runtime.hook_service import HookService
from plugin.runtime.mailbox import Mailbox
from scheduler_core.model.claim import ClaimRef, ClaimUid

REF = ClaimRef("default", "claim-u1")
SHELLS = [
    pytest.param(
        words,
        marks=pytest.mark.skipif(shutil.which(words[0]) is None, reason=f"needs {needs.program(words[0])}"),
    )
    for words in (["sh"], ["dash"], ["bash", "--posix"], ["busybox", "sh"])
]


@dataclass
class Asked:
    """A driver that notes what hooks ask for, and what it is to answer."""

    refusal: Exception | None = None
    asked: list[tuple[ClaimUid, str, PodNamespace]] = field(default_factory=list)
    told: list[tuple[Any, ...]] = field(default_factory=list)

    budgets = Budgets(wait_s=1.0, holder_wait_s=0.0, clock=time.monotonic, sleep=time.sleep)

    def bring_in(self, uid: ClaimUid, device: str, pod: PodNamespace, budget: Budget) -> ClaimRef:
        assert budget.is_wanted()
        self.asked.append((uid, device, pod))
        if self.refusal is not None:
            raise self.refusal
        return REF

    def changed(self, *what: Any) -> None:
        self.told.append(("changed", *what))

    def failed(self, *what: Any) -> None:
        self.told.append(("failed", *what))


@dataclass
class Place:
    """A mailbox, who answers there, and a process in a network namespace of its own."""

    hook_dir: Path
    claims_dir: Path
    driver: Asked
    host_root: Path = Path("/")

    def service(self) -> HookService:
        return HookService(self.driver, self.driver, self)  # type: ignore[arg-type]

    def command(self, shell: list[str], seconds: int = 20) -> list[str]:
        program = str(self.hook_dir / "bring-in.sh")
        return [*shell, program, str(self.hook_dir), "u1", "vf-0", str(seconds)]

    def call(
        self, pid: int | None, shell: list[str] | None = None, seconds: int = 20
    ) -> subprocess.CompletedProcess[str]:
        state = f'{{"ociVersion": "1.0.2", "id": "c",\n"pid": {pid}, "annotations": {{"pid": "1"}}}}'
        return subprocess.run(
            self.command(shell or ["sh"], seconds),
            input=state,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def place(folder: Path) -> Place:
    found = Place(folder / "hook", folder / "claims", Asked())
    os.close(Mailbox(found.hook_dir).set_up())
    return found


@pytest.fixture
def served(place: Place) -> Iterator[Place]:
    service = place.service()
    service.begin()
    yield place
    service.close()


@pytest.fixture
def container() -> Iterator[int]:
    """The number of a process in another network namespace."""
    if not needs.may_unshare("--net"):
        needs.fail_or_skip(needs.PRIVILEGES)
    command = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.pid
        process.kill()


@pytest.mark.parametrize("shell", SHELLS)
def test_the_plugin_learns_claim_device_and_namespace_and_the_container_starts(
    served: Place, container: int, shell: list[str]
) -> None:
    answer = served.call(container, shell)

    ((uid, device, pod),) = served.driver.asked
    found = os.stat(f"/proc/{container}/ns/net")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert (uid, device, pod.identity) == ("u1", "vf-0", f"{found.st_dev}:{found.st_ino}")
    assert served.driver.told == [("changed", "u1", REF)]
    assert sorted(os.listdir(served.hook_dir)) == ["bell", "bring-in.sh"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_refusal_ends_the_container_with_its_sentence(
    served: Place, container: int, shell: list[str]
) -> None:
    served.driver.refusal = NotReady("use", "device vf-0", "the moon\nis full; $(touch x) `x` \\n %s")

    answer = served.call(container, shell)

    assert answer.returncode == 1
    assert "cannot bring device vf-0 of claim u1 into the pod: cannot use device vf-0: the moon is" in (
        answer.stderr
    )
    assert "$(touch x) `x` \\n %s" in answer.stderr


@pytest.mark.parametrize("shell", SHELLS)
def test_without_a_plugin_the_hook_ends_within_its_time_and_leaves_nothing(
    place: Place, shell: list[str]
) -> None:
    answer = place.call(1, shell, seconds=1)

    assert answer.returncode == 2
    assert "the plugin did not answer within 1 s; the operator looks at Tangram's pod" in answer.stderr
    assert sorted(os.listdir(place.hook_dir)) == ["bell", "bring-in.sh"]


def test_where_no_plugin_ever_ran_the_hook_ends_at_once_and_makes_no_file(place: Place) -> None:
    (place.hook_dir / "bell").unlink()

    answer = place.call(1)

    assert answer.returncode == 2
    assert "bell is missing; the operator starts Tangram's plugin" in answer.stderr
    assert os.listdir(place.hook_dir) == ["bring-in.sh"]


def test_a_plugin_that_starts_later_answers_a_hook_that_waits(place: Place, container: int) -> None:
    answers: list[subprocess.CompletedProcess[str]] = []
    caller = threading.Thread(target=lambda: answers.append(place.call(container)))
    caller.start()
    while not list(place.hook_dir.glob("*.request")):
        assert caller.is_alive()
    service = place.service()
    service.begin()
    caller.join()
    service.close()

    assert answers[0].returncode == 0


def test_two_plugins_answer_many_hooks_each_once(place: Place, container: int) -> None:
    services = [place.service(), place.service()]
    for service in services:
        service.begin()
    answers: list[int] = []
    callers = [
        threading.Thread(target=lambda: answers.append(place.call(container).returncode)) for _ in range(16)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    for service in services:
        service.close()

    assert answers == [0] * 16
    assert len(place.driver.asked) == 16


def test_a_request_whose_hook_is_gone_is_dropped(place: Place, container: int) -> None:
    """A process number that it names may be another process by now."""
    os.mkfifo(place.hook_dir / "u1.7.answer")
    (place.hook_dir / "u1.7.request").write_text(f'u1\nvf-0\n{{"pid": {container}}}')
    service = place.service()
    service.begin()
    service.close()

    assert place.driver.asked == []
    assert not (place.hook_dir / "u1.7.request").exists()


@pytest.mark.parametrize("pid", [None, 0, -1, 2**22 + 1, '"1"'], ids=str)
def test_a_process_that_is_none_is_refused(served: Place, pid: Any) -> None:
    answer = served.call(pid)

    assert answer.returncode == 1
    assert served.driver.asked == []


def test_a_pod_with_the_hosts_network_is_refused(served: Place) -> None:
    answer = served.call(os.getpid())

    assert answer.returncode == 1
    assert "its pod has the host's network; the user leaves hostNetwork out" in answer.stderr
    assert served.driver.asked == []


def test_the_folder_is_roots_alone_and_a_changed_program_is_written_again(place: Place) -> None:
    program = place.hook_dir / "bring-in.sh"
    first = program.read_bytes()
    program.chmod(0o700)
    program.write_text("exit 0")
    os.close(Mailbox(place.hook_dir).set_up())

    assert stat.S_IMODE(place.hook_dir.stat().st_mode) == 0o700
    assert stat.S_IMODE(program.stat().st_mode) == 0o500
    assert program.read_bytes() == first


def test_a_runtime_that_waits_for_the_hooks_output_does_not_wait_for_its_watcher(
    served: Place, container: int
) -> None:
    """A runtime in Go reads a hook's output until every process that has it open has ended."""
    state = f'{{"pid": {container}}}'
    with subprocess.Popen(
        served.command(["sh"], 600), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as hook:
        said, _ = hook.communicate(state.encode(), timeout=60)

    assert (hook.returncode, said) == (0, b"")
