"""The agent as a program: at rest it reads no links of VFs, since it hands in what reuses what was read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scripted_api import Reply, Script, serving, write_kubeconfig

from agent import __main__ as program
from agent.hardware.reuse import SETTLED_S
from agent.publishing.publication import Clocks

NO_SLICES = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "metadata": {}, "items": []}
SERVED = {"resources": [{"name": "resourceslices"}]}


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """Lead to a server without slices."""
    for server in serving(Script()):
        server.answers(lambda _: Reply({**NO_SLICES, **SERVED}))
        host, port = server.server_address[:2]
        yield write_kubeconfig(tmp_path / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"})


class Looks:
    """Stands for what publishes: it looks when the test says so. Shape: ``links`` counts those below VFs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.links = 1000.0, list[int]()
        self._monkeypatch = monkeypatch

    def monotonic(self) -> float:
        return self.now

    def __call__(self, discover: Callable[[], object], **_: object) -> Looks:
        self._discover = discover
        return self

    def health_changed(self) -> None:
        """Do nothing: no health is heard here."""

    def run(self) -> None:
        for _ in range(4):
            self.links.append(self._links_of_vfs())
            self.now += SETTLED_S

    def _links_of_vfs(self) -> int:
        read, readlink = list[str](), os.readlink

        def counted(path: str, *, dir_fd: int | None = None) -> str:
            read.append(str(path))
            return readlink(path, dir_fd=dir_fd)

        with self._monkeypatch.context() as patch:
            patch.setattr(os, "readlink", counted)
            self._discover()
        return sum(path.startswith("virtfn") for path in read)


def test_the_program_reads_links_of_vfs_until_they_have_settled_and_then_no_more(
    kubeconfig: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = Looks(monkeypatch)
    monkeypatch.setattr(program, "Agent", looks)
    monkeypatch.setattr(program, "Clocks", lambda _, *others: Clocks(looks.monotonic, *others))
    monkeypatch.setattr(program, "on_end", lambda _: None)
    machine = ["--simulated=dgx-a100", f"--machine={tmp_path / 'machine'}"]

    status = program.main(["--node-name=node-1", f"--kubeconfig={kubeconfig}", *machine])

    assert status == 0
    assert [count > 0 for count in looks.links] == [True, True, False, False]
