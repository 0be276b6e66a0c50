"""A node with a plugin that serves real unix sockets, and a kubelet that calls it as the real one does."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import grpc
import pytest
from claims_cluster import Clock, Cluster, reports_of
from claims_cluster.server import Server, allocated, kubeconfig
from devices_of_kinds import SHARE_ID, left_of_nics
from short_folders import short_folder

from agent.hardware.open import simulated_hardware
from agent.hardware.ports import Gpus
from agent.hardware.simulated import SimulatedMachine, load_node, parse_fault
from agent.hardware.types import ComputeMode
from plugin._pb.dra_v1 import api_pb2 as v1
from plugin._pb.dra_v1 import api_pb2_grpc as v1_grpc
from plugin._pb.dra_v1beta1 import api_pb2 as v1beta1
from plugin._pb.dra_v1beta1 import api_pb2_grpc as v1beta1_grpc
from plugin._pb.pluginregistration_v1 import api_pb2 as registration
from plugin._pb.pluginregistration_v1 import api_pb2_grpc as registration_grpc
from plugin.api import ClusterClaims
from plugin.assembly import assemble
from plugin.claim.claim_directory import ClaimDirectory
from plugin.claim.driver import Driver
from plugin.kubelet.server import Running, start
from plugin.options import Options

DRIVER = "tangram.dev"
CALL_S = 45.0  # the kubelet's own deadline
VERSIONS = {
    "v1": (v1, v1_grpc),
    "v1beta1": (v1beta1, v1beta1_grpc),
}


@dataclass
class Kubelet:
    """What the kubelet does to a plugin, on the sockets that it finds."""

    options: Options
    open: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.open.close()

    def channel(self, path: Path | str) -> grpc.Channel:
        return self.open.enter_context(grpc.insecure_channel(f"unix:{path}"))

    def registration(self) -> Any:
        (socket,) = self.options.registry_dir.glob("*-reg.sock")
        return registration_grpc.RegistrationStub(self.channel(socket))

    def info(self) -> registration.PluginInfo:
        return self.registration().GetInfo(registration.InfoRequest(), timeout=CALL_S)

    def dra(self, version: str = "v1") -> Any:
        return VERSIONS[version][1].DRAPluginStub(self.channel(self.options.dra_socket))

    def prepare(self, *claims: v1.Claim, version: str = "v1") -> dict[str, Any]:
        messages = VERSIONS[version][0]
        request = messages.NodePrepareResourcesRequest(claims=[_as(messages, claim) for claim in claims])
        return dict(self.dra(version).NodePrepareResources(request, timeout=CALL_S).claims)

    def unprepare(self, *claims: v1.Claim, version: str = "v1") -> dict[str, Any]:
        messages = VERSIONS[version][0]
        request = messages.NodeUnprepareResourcesRequest(claims=[_as(messages, claim) for claim in claims])
        return dict(self.dra(version).NodeUnprepareResources(request, timeout=CALL_S).claims)

    def devices(self, claim: v1.Claim) -> list[tuple[str, ...]]:
        """Prepare one claim that must succeed and return its devices with their CDI names."""
        entry = self.prepare(claim)[claim.uid]
        assert entry.error == ""
        return [(device.device_name, *device.cdi_device_ids) for device in entry.devices]

    def undone(self, claim: v1.Claim) -> None:
        """Unprepare one claim, which must succeed."""
        assert self.unprepare(claim)[claim.uid].error == ""


def _as(messages: Any, claim: v1.Claim) -> Any:
    return messages.Claim(namespace=claim.namespace, name=claim.name, uid=claim.uid)


@dataclass
class Site:
    """One node: its simulated machine, its claims, and whatever plugin serves on it."""

    folder: Path
    node: str
    sleep: Callable[[float], None] = time.sleep
    node_file: str | None = None

    def __post_init__(self) -> None:
        self.claims_dir = self.folder / "claims"
        self.claims_dir.mkdir()
        self.machine_dir = self.folder / "machine"
        self.simulated = SimulatedMachine.open(
            load_node(self.node_file or self.node), self.machine_dir, self.sleep
        )
        self.options = Options(
            driver_name=DRIVER,
            node_name=self.simulated.node.name,
            kubelet_dir=self.folder / "kubelet",
            cdi_dir=self.folder / "cdi",
            holder_wait_s=0.0,  # most tests want to hear of a refusal at once
        )

    def allocate(
        self,
        uid: str,
        *devices: str,
        name: str | None = None,
        request: str = "r",
        admin_access: bool = False,
        parameters: dict[str, Any] | None = None,
    ) -> v1.Claim:
        """Write an allocated claim as the API has it and return how the kubelet names it.

        Shape: ``parameters`` are its configuration, None without one.
        """
        more = {"adminAccess": True} if admin_access else {}
        results = [
            {"request": request, "driver": DRIVER, "pool": self.simulated.node.name, "device": device, **more}
            for device in devices
        ]
        claim = v1.Claim(namespace="default", name=name or f"claim-{uid}", uid=uid)
        opaque = {"opaque": {"driver": DRIVER, "parameters": parameters}, "source": "FromClaim"}
        config = {"config": [opaque]} if parameters is not None else {}
        self.write_claim(claim, {"allocation": {"devices": {"results": results, **config}}})
        return claim

    def allocate_kinds(
        self, uid: str, devices: Mapping[str, str], parameters: Mapping[str, Any] | None = None
    ) -> v1.Claim:
        """Write an allocated claim for one device in each request.

        Shape: ``devices`` by request; ``parameters`` the configuration for the requests that have any. Of a
               GPU that claims share it has 10 GiB.
        """
        results = [self._result(request, device) for request, device in devices.items()]
        configs = [
            {
                "source": "FromClaim",
                "requests": [request],
                "opaque": {
                    "driver": DRIVER,
                    "parameters": {"apiVersion": "tangram.dev/v1alpha1", **own},
                },
            }
            for request, own in (parameters or {}).items()
        ]
        claim = v1.Claim(namespace="default", name=f"claim-{uid}", uid=uid)
        self.write_claim(claim, {"allocation": {"devices": {"results": results, "config": configs}}})
        return claim

    def _result(self, request: str, device: str) -> dict[str, Any]:
        result = {"request": request, "driver": DRIVER, "pool": self.node, "device": device}
        if not device.endswith("-shared"):
            return result
        consumed = {"memory": "10Gi", f"{DRIVER}/multiprocessors": "0"}
        return {**result, "shareID": SHARE_ID, "consumedCapacity": consumed}

    def write_claim(self, claim: v1.Claim, status: dict[str, Any]) -> None:
        document = {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"namespace": claim.namespace, "name": claim.name, "uid": claim.uid},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
            "status": status,
        }
        (self.claims_dir / f"{claim.name}.yaml").write_text(json.dumps(document))

    def inject(self, *faults: str) -> None:
        for fault in faults:
            self.simulated.inject(parse_fault(fault))

    def driver(
        self,
        options: Options | None = None,
        gpus: Gpus | None = None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> Driver:
        """Return a driver that serves nobody yet."""
        whole = simulated_hardware(self.simulated)
        machine = replace(whole, gpus=gpus or whole.gpus)
        return assemble(machine, options or self.options, clock=clock, sleep=sleep)

    def start(self, options: Options | None = None, gpus: Gpus | None = None, **more: Any) -> Running:
        """Serve in this process."""
        options = options or self.options
        return start(self.driver(options, gpus), ClaimDirectory(self.claims_dir), options, **more)

    @contextmanager
    def process(self, *options: str, source: Path | None = None) -> Iterator[subprocess.Popen[str]]:
        """Serve in a process of its own; it serves when the block begins and is gone when it ends.

        Shape: ``source`` is the folder of another version of the program.
        """
        with self.process_that_starts(*options, source=source) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if "serves" in line:
                    break
            yield process

    @contextmanager
    def process_that_starts(
        self, *options: str, source: Path | None = None
    ) -> Iterator[subprocess.Popen[str]]:
        """Start to serve in a process of its own, which is gone when the block ends."""
        command = [
            *(sys.executable, "-m", "plugin", "--driver-name", DRIVER),
            *("--simulated", self.node, "--machine", self.machine_dir),
            *("--claims", self.claims_dir, "--kubelet-dir", self.options.kubelet_dir),
            *("--cdi-dir", self.options.cdi_dir),
            *(("--compute-instances", "all") if self.options.split else ()),
            *options,
        ]
        with subprocess.Popen(command, cwd=source, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def leftovers(self) -> list[str]:
        """Return everything that a claim could have left: instances, modes, files."""
        gpus = self.simulated.gpus
        cards = self.simulated.node.cards
        found = [
            f"{card.index}: {gpus.gpu_instances(card.uuid)}"
            for card in cards
            if gpus.gpu_instances(card.uuid)
        ]
        modes = [(card.index, gpus.mig_mode(card.uuid)) for card in cards]
        found += [f"{index} in MIG mode" for index, mode in modes if mode and (mode.current or mode.pending)]
        found += [f"MPS daemon {name}" for name in simulated_hardware(self.simulated).mps.names()]
        found += [
            f"{card.index} has compute mode {mode}"
            for card in cards
            if (mode := gpus.compute_mode(card.uuid)) is not ComputeMode.DEFAULT
        ]
        found += left_of_nics(self.simulated)
        options = self.options
        folders = (options.cdi_dir, options.claims_dir, options.metadata_dir, options.made_vfs_dir)
        return found + [str(path) for folder in folders if folder.exists() for path in folder.iterdir()]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder with a path short enough for the sockets below it."""
    with short_folder() as name:
        yield Path(name)


@pytest.fixture
def site_of(folder: Path) -> Callable[..., Site]:
    """Make the site of a shipped node, or of a node file."""
    return lambda node, sleep=time.sleep, node_file=None: Site(folder, node, sleep, node_file)


@pytest.fixture
def site_in() -> Callable[..., Site]:
    """Make the site of a shipped node in a folder of its own, as a node of another name."""

    def make(folder: Path, machine: str, name: str) -> Site:
        folder.mkdir()
        site = Site(folder, machine)
        site.options = replace(site.options, node_name=name)
        return site

    return make


@pytest.fixture
def site(site_of: Callable[..., Site]) -> Site:
    """Two A100s, the machine of most tests."""
    return site_of("a100x2")


@pytest.fixture
def kubelet_of() -> Iterator[Callable[[Site], Kubelet]]:
    """Make a kubelet that looks at a site, or at one instance there; it hangs up at the end."""
    with ExitStack() as kubelets:
        yield lambda site, options=None: kubelets.enter_context(Kubelet(options or site.options))


@pytest.fixture
def kubelet(site: Site, kubelet_of: Callable[[Site], Kubelet]) -> Iterator[Kubelet]:
    """The kubelet of a site that a plugin in this process serves."""
    with site.start():
        yield kubelet_of(site)


@pytest.fixture
def cluster(site: Site, kubelet_of: Callable[[Site], Kubelet]) -> Iterator[Cluster]:
    """The same for a plugin that finds its claims in an API server, half a GPU allocated to the only one."""
    server = Server(claim=allocated((DRIVER, "gpu-0-mig-3g-20gb-4-7")))
    with server.served() as url:
        claims = ClusterClaims.connect(kubeconfig(site.folder, url), site.options)
        clock = Clock()
        reports = reports_of(site, claims, clock)
        with closing(claims.events), start(site.driver(), claims, site.options, reports):
            yield Cluster(server, kubelet_of(site), reports, claims, clock)
