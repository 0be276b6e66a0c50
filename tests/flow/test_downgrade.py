"""A node whose plugin is put back to the version before, and updated again, with claims that are in use.

The version before is the real one: its packages come from the history of this repository, and it runs as a
program on the machine, the records and the documents that today's plugin left.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from golden_claims import CLAIMS, OPTIONS, PARTITIONS, GoldenClaim
from older_versions import FORMATS, NotInHistory, source_of

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated.state import StateFile
from agent.inventory.options.mode_option import read_gpu_modes
from agent.inventory.options.split_option import read_split_gpus
from agent.inventory.table_files import read_table
from agent.inventory.vfs.option import read_vf_rules
from plugin._pb.dra_v1 import api_pb2 as v1

BEFORE = ("3", "3-seals")
"""The formats of the versions before: one without seals, and the one directly before today's."""
CLAIM_OF = {claim.name: claim for claim in CLAIMS}
VF = "nic-0000-19-00-0-vf-{}"
GPUS = {
    "gpus": "gpus-0-1",
    "gpu": "gpu-2",
    "admin-access": "gpu-2",
    "gpu-in-turns": "gpu-3",
    "gpu-under-mps": "gpu-4",
    "gpu-share": "gpu-5-shared",
    "mps-share": "gpu-6-mps",
    "mig": "gpu-7-mig-3g-40gb-4-7",
    "mig-under-mps": "gpu-7-mig-2g-20gb-0-1",
    "compute-instance": "gpu-7-mig-1c-2g-20gb-2-3-ci-1",
    "imex-channel": "imex-channel-1",
}
NIC, OTHER = "nic-0000-19-00-0", "nic-0000-19-00-1"
NODES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "GPUs": ("hgx-h100", GPUS),
    "VFs": ("a30x4", {"vf-rdma": f"{NIC}-vf-0", "vf-vfio": f"{NIC}-vf-1", "nic-netdev": OTHER}),
    "interfaces": ("a30x4", {"vf-netdev": f"{NIC}-vf-0", "nic-rdma": OTHER}),
    "VFs on demand": ("a30x4", {"vf-on-demand": f"{OTHER}-vf-1"}),
}
"""Claims that a node can have at once: a device for each, by the name of its golden claim."""


@dataclass
class Live:
    """A node with claims that are in use, and the kubelet of it."""

    site: Any
    kubelet: Any
    claims: Mapping[str, v1.Claim]
    given: Mapping[str, str]

    def serving(self) -> AbstractContextManager[object]:
        """Serve with today's plugin."""
        given = self.given
        options = replace(
            self.site.options,
            linked=read_table(given["--partitions"], None),
            modes=read_gpu_modes([given["--gpu-modes"]]),
            imex_channels=int(given["--imex-channels"]),
            split=read_split_gpus(given["--compute-instances"]),
            vfs=read_vf_rules(given.get("--vfs")),
        )
        running: AbstractContextManager[object] = self.site.start(options)
        return running

    def serving_from(self, source: Path) -> AbstractContextManager[object]:
        """Serve with another version, as a program."""
        words = (word for pair in self.given.items() for word in pair)
        process: AbstractContextManager[object] = self.site.process(*words, source=source)
        return process

    def answers(self) -> Mapping[str, Any]:
        return {name: self.kubelet.devices(claim) for name, claim in self.claims.items()}

    def hardware(self) -> tuple[object, ...]:
        """Return all of the hardware that claims change."""
        found = StateFile(self.site.simulated.directory).read()
        daemons = simulated_hardware(self.site.simulated).mps.names()
        return found.gpus, found.vfs, found.functions, found.fabric, daemons

    def documents(self) -> Mapping[str, bytes]:
        return {path.name: path.read_bytes() for path in self.site.options.cdi_dir.glob("*-claim_*.json")}

    def undone(self) -> None:
        for claim in self.claims.values():
            self.kubelet.undone(claim)


@pytest.fixture(scope="session", params=BEFORE)
def version_before(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a version before."""
    try:
        return source_of(FORMATS[request.param], tmp_path_factory.mktemp("before"))
    except NotInHistory as error:
        pytest.skip(f"needs the history of this repository: git fetch --unshallow ({error})")


@pytest.fixture
def live(name: str, site_of: Callable[..., Any], kubelet_of: Callable[..., Any]) -> Live:
    node, devices = NODES[name]
    site = site_of(node)
    claims = {one: allocated(site, CLAIM_OF[one], device) for one, device in devices.items()}
    table = site.folder / "table.json"
    table.write_text(json.dumps(PARTITIONS))
    given = {**OPTIONS, "--partitions": str(table)}
    for one in devices:
        given |= CLAIM_OF[one].options
    return Live(site, kubelet_of(site), claims, given)


def allocated(site: Any, example: GoldenClaim, device: str) -> v1.Claim:
    """Write the claim of an example for another device; its UID is the example's name."""
    uid = example.name
    claim = replace(example, node=site.node, devices={"r": device})
    (site.claims_dir / f"{uid}.json").write_text(json.dumps(claim.document(uid)))
    return v1.Claim(namespace="default", name=f"claim-{uid}", uid=uid)


@pytest.mark.parametrize("name", NODES)
def test_claims_in_use_stay_as_they_are_through_a_downgrade_and_an_update_and_either_version_undoes_them(
    live: Live, version_before: Path
) -> None:
    with live.serving():
        answers, hardware = live.answers(), live.hardware()

    with live.serving_from(version_before):
        assert live.answers() == answers
        assert live.hardware() == hardware
    documents = live.documents()

    with live.serving():
        assert live.answers() == answers
        assert live.hardware() == hardware
        assert live.documents() == documents

    with live.serving_from(version_before):
        live.undone()
    assert live.site.leftovers() == []


def test_every_golden_claim_is_downgraded() -> None:
    ones = {name for _, devices in NODES.values() for name in devices}

    assert {claim.name for claim in CLAIMS} - ones == {"alternative", "two-devices"}
