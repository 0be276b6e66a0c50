"""A node with a simulated machine, a plugin that serves and claims that it prepares, to plant faults into."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devices_of_kinds import allocated_device

from agent.hardware.open import simulated_hardware
from agent.hardware.simulated import SimulatedMachine, load_node
from plugin.assembly import assemble
from plugin.claim.claim_directory import ClaimDirectory
from plugin.claim.driver import Driver
from plugin.kubelet.server import start
from plugin.options import Options
from scheduler_core.model.claim import AllocatedClaim, ClaimRef, ClaimUid
from tangram.doctor.node.patient import NodePatient

DRIVER = "tangram.dev"
Listed = Mapping[str, list[Mapping[str, Any]]]


@dataclass
class ListedCluster:
    """An API server that has these objects, by kind."""

    objects: Listed

    def list(self, kind: str, fields: str = "") -> tuple[Mapping[str, Any], ...]:
        return tuple(self.objects.get(kind, ()))

    def get(self, kind: str, name: str, namespace: str) -> Mapping[str, Any]:
        raise AssertionError("nobody asks for one object")


@dataclass
class NodeSite:
    """A simulated machine, its plugin, and who looks at both."""

    folder: Path
    node: str
    options: Options = field(init=False)
    simulated: SimulatedMachine = field(init=False)

    def __post_init__(self) -> None:
        self.simulated = SimulatedMachine.open(load_node(self.node), self.folder / "machine")
        self.options = Options(
            driver_name=DRIVER,
            node_name=self.node,
            kubelet_dir=self.folder / "kubelet",
            cdi_dir=self.folder / "cdi",
            machine_dir=self.folder / "machine",
        )

    @property
    def driver(self) -> Driver:
        hardware = simulated_hardware(self.simulated)
        return assemble(hardware, self.options, clock=time.monotonic, sleep=time.sleep)

    @contextmanager
    def served(self) -> Iterator[None]:
        claims = self.folder / "claims"
        claims.mkdir(exist_ok=True)
        with start(self.driver, ClaimDirectory(claims), self.options):
            yield

    def with_options(self, **changed: Any) -> None:
        self.options = replace(self.options, **changed)

    def prepare(self, uid: str, *devices: str) -> None:
        results = tuple(allocated_device(device, self.node) for device in devices)
        claim = AllocatedClaim(ref=ClaimRef("default", f"claim-{uid}"), uid=ClaimUid(uid), results=results)
        self.driver.prepare(claim)

    def unprepare(self, uid: str) -> None:
        self.driver.unprepare(ClaimUid(uid), ClaimRef("default", f"claim-{uid}"))

    def patient(self, objects: Listed | None = None) -> NodePatient:
        return NodePatient(
            machine=simulated_hardware(self.simulated),
            options=self.options,
            clock=time.time,
            cluster=None if objects is None else ListedCluster(objects),
        )

    def found(self, objects: Listed | None = None) -> list[str]:
        """Return the ids of what one look finds."""
        return [one.id for one in self.patient(objects).look()]

    def record(self, uid: str) -> Path:
        return self.options.claims_dir / f"{uid}.json"

    def document(self, uid: str) -> Path:
        return self.options.cdi_dir / f"{DRIVER}-claim_{uid}.json"

    @property
    def arguments(self) -> tuple[str, ...]:
        """The options that name the site on a command line."""
        places = {
            "--simulated": self.node,
            "--machine": self.folder / "machine",
            "--kubelet-dir": self.options.kubelet_dir,
            "--cdi-dir": self.options.cdi_dir,
        }
        return tuple(str(part) for option in places.items() for part in option)
