"""A plugin in a process of its own on the simulated DGX A100, called over its socket as a kubelet does.

Claims are files in a folder, each there for its call only: the plugin reads the whole folder at every call.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Final

import grpc

from plugin._pb.dra_v1 import api_pb2 as dra
from plugin._pb.dra_v1.api_pb2_grpc import DRAPluginStub
from plugin.options import Options
from scheduler_core.base.quick_dataclass import dataclass
from tangram.bench.machine import DRIVER, NODE
from tangram.program.throwaway import throwaway_folder

_CALL_S: Final = 45.0  # as long as a kubelet waits


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceClaim:
    """A claim for one device. Shape: ``parameters`` its configuration, none if empty."""

    device: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def uid(self) -> str:
        """Return its UID: one claim at a time has a device."""
        return f"uid-{self.device}"

    @property
    def name(self) -> str:
        """Return its name."""
        return f"claim-{self.device}"

    def document(self) -> Mapping[str, Any]:
        """Return it as an API server has it once it is allocated."""
        result = {"request": "r", "driver": DRIVER, "pool": NODE, "device": self.device}
        opaque = {"driver": DRIVER, "parameters": {"apiVersion": f"{DRIVER}/v1alpha1", **self.parameters}}
        config = [{"source": "FromClaim", "requests": ["r"], "opaque": opaque}] if self.parameters else []
        return {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"namespace": "default", "name": self.name, "uid": self.uid},
            "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}},
            "status": {"allocation": {"devices": {"results": [result], "config": config}}},
        }


class PluginProcess:
    """A plugin that serves. Shape: ``wrong`` what calls answered that was not right."""

    def __init__(self, channel: grpc.Channel, options: Options, claims: Path) -> None:
        self._stub = DRAPluginStub(channel)
        self._options = options
        self._claims = claims
        self.wrong: list[str] = []

    def prepare(self, *claims: DeviceClaim) -> int:
        """Prepare claims in one call and return how long it took. Units: nanoseconds."""
        for claim in claims:
            self._put(claim)
        request = dra.NodePrepareResourcesRequest(claims=[_named(claim) for claim in claims])
        started = perf_counter_ns()
        answer = self._stub.NodePrepareResources(request, timeout=_CALL_S, wait_for_ready=True)
        took = perf_counter_ns() - started
        for claim in claims:
            entry = answer.claims[claim.uid]
            if entry.error or [device.device_name for device in entry.devices] != [claim.device]:
                self.wrong.append(f"prepare of {claim.device}: {entry.error or entry.devices}")
        return took

    def unprepare(self, claim: DeviceClaim) -> None:
        """Undo a claim."""
        request = dra.NodeUnprepareResourcesRequest(claims=[_named(claim)])
        answer = self._stub.NodeUnprepareResources(request, timeout=_CALL_S)
        if answer.claims[claim.uid].error:
            self.wrong.append(f"unprepare of {claim.device}: {answer.claims[claim.uid].error}")

    def _put(self, claim: DeviceClaim) -> None:
        """Write a claim where the plugin finds it, unless it stands there, as it stands at an API server."""
        file, text = self._claims / f"{claim.name}.json", json.dumps(claim.document())
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")

    def leftovers(self) -> list[str]:
        """Return the files of claims that are still there."""
        folders = (self._options.claims_dir, self._options.cdi_dir)
        return [f"left behind: {path.name}" for folder in folders for path in folder.iterdir()]


@contextmanager
def plugin_process(own: Path | None = None) -> Iterator[tuple[PluginProcess, Path]]:
    """Serve while the block runs; the second value is the folder of the simulated machine.

    Shape: ``own`` is where the plugin has its records and CDI documents, None for beside the machine.
    """
    with throwaway_folder() as folder:
        place = own or folder
        options = Options(
            driver_name=DRIVER, node_name=NODE, kubelet_dir=place / "kubelet", cdi_dir=place / "cdi"
        )
        machine, claims = folder / "machine", folder / "claims"
        claims.mkdir()
        command: list[str | Path] = [
            *(sys.executable, "-m", "plugin", "--driver-name", DRIVER, "--claims", claims),
            *("--simulated", NODE, "--machine", machine),
            *("--kubelet-dir", options.kubelet_dir, "--cdi-dir", options.cdi_dir),
        ]
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - our own program
            try:
                with grpc.insecure_channel(f"unix:{options.dra_socket}") as channel:
                    yield PluginProcess(channel, options, claims), machine
            finally:
                process.terminate()


def _named(claim: DeviceClaim) -> dra.Claim:
    return dra.Claim(namespace="default", uid=claim.uid, name=claim.name)
