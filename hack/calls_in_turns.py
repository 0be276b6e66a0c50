"""Compares the plugins of two checkouts call by call, in turns, at one API server:

    python hack/cluster run --control-plane-only --bare -- .venv/bin/python hack/calls_in_turns.py OLD NEW

OLD and NEW are checkouts with their .venv. Each plugin has a simulated DGX A100, a socket and claims of its
own; a call of one is followed by the same call of the other, so both meet the machine in the same state,
which two runs of ``make bench-cluster`` do not. Before each call memory is written, as on a node where other
programs run between two claims. The plugins start anew for each round, with folders that are made in turns:
to create a file in ext4 takes 0.03 to 0.3 ms, by the folder that it is in. The simulated machine's files are
in memory, as those of the kernel and the driver are. KUBECONFIG names the API server.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import grpc  # noqa: E402
from kubernetes import client, config  # noqa: E402

from plugin._pb.dra_v1 import api_pb2 as dra  # noqa: E402
from plugin._pb.dra_v1.api_pb2_grpc import DRAPluginStub  # noqa: E402
from plugin.options import Options  # noqa: E402
from tangram.bench.machine import DRIVER, NODE  # noqa: E402

CLAIMS = ("resource.k8s.io", "v1", "default", "resourceclaims")
DEVICES = [f"gpu-{gpu}-mig-1g-5gb-{place}" for gpu in range(4) for place in range(4)]
CALLS = ("prepare", "unprepare")
_COLD_BYTES = 48 << 20
_REST_S = 0.15
_WARM_UP = 3


def made_claim(api: Any, side: str, device: str) -> dra.Claim:
    """Create an allocated claim for a device, and return how the kubelet names it."""
    name = f"{side}-{device}"
    request = {"name": "r", "exactly": {"deviceClassName": "mig.tangram.dev"}}
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [request]}},
    }
    made = api.create_namespaced_custom_object(*CLAIMS, claim)
    result = {"request": "r", "driver": DRIVER, "pool": NODE, "device": device}
    made["status"] = {
        "allocation": {"devices": {"results": [result]}},
        "reservedFor": [{"resource": "pods", "name": "p", "uid": f"uid-{name}"}],
    }
    api.replace_namespaced_custom_object_status(*CLAIMS, name, made)
    return dra.Claim(namespace="default", uid=made["metadata"]["uid"], name=name)


def processor_time_s(pid: int) -> float:
    """Return what all threads of a process have taken of the processors."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text(encoding="utf-8").split()[0]) for task in tasks) / 1e9


class Side:
    """The plugin of one checkout. Shape: ``took`` has clock and processor time by call, in seconds."""

    def __init__(self, name: str, checkout: Path, api: Any) -> None:
        self.name = name
        self.claims = {device: made_claim(api, name, device) for device in DEVICES}
        self.took: dict[str, list[tuple[float, float]]] = {call: [] for call in CALLS}
        self._checkout = checkout.resolve()

    def start(self, folder: Path, machine: Path) -> None:
        """Start the plugin. Shape: ``folder`` of its files, ``machine`` of its hardware's."""
        checkout = self._checkout
        options = Options(
            driver_name=DRIVER, node_name=NODE, kubelet_dir=folder / "kubelet", cdi_dir=folder / "cdi"
        )
        environment = {
            **os.environ,
            "PYTHONPATH": str(checkout),
            "GRPC_EXPERIMENTS": "-event_engine_listener",
        }
        command = [
            *(str(checkout / ".venv/bin/python"), "-m", "plugin", f"--kubeconfig={os.environ['KUBECONFIG']}"),
            *(f"--node-name={NODE}", f"--simulated={NODE}", f"--machine={machine}"),
            *(f"--kubelet-dir={options.kubelet_dir}", f"--cdi-dir={options.cdi_dir}"),
        ]
        self.process = subprocess.Popen(command, cwd=checkout, env=environment, stderr=subprocess.DEVNULL)
        self._channel = grpc.insecure_channel(f"unix:{options.dra_socket}")
        self._stub = DRAPluginStub(self._channel)

    def stop(self) -> None:
        """End the plugin."""
        self._channel.close()
        self.process.terminate()
        self.process.wait()

    def call(self, what: str, device: str, *, counts: bool) -> None:
        """Make one call with cold caches, and note what it took if it counts."""
        claim = self.claims[device]
        bytearray(_COLD_BYTES)[:] = bytes(_COLD_BYTES)
        time.sleep(_REST_S)
        before, began = processor_time_s(self.process.pid), time.perf_counter()
        if what == "prepare":
            prepare = dra.NodePrepareResourcesRequest(claims=[claim])
            answer = self._stub.NodePrepareResources(prepare, timeout=45, wait_for_ready=True)
        else:
            answer = self._stub.NodeUnprepareResources(
                dra.NodeUnprepareResourcesRequest(claims=[claim]), timeout=45
            )
        clock = time.perf_counter() - began
        assert not answer.claims[claim.uid].error, answer.claims[claim.uid].error
        if counts:
            self.took[what].append((clock, processor_time_s(self.process.pid) - before))


def measure_round(sides: Sequence[Side], turns: int) -> None:
    """Make the calls of a round. The sides take turns to be first; the first turns are a warm-up."""
    for turn in range(-_WARM_UP, turns):
        order = sides if turn % 2 else sides[::-1]
        for what in CALLS:
            for side in order:
                side.call(what, DEVICES[turn % len(DEVICES)], counts=turn >= 0)


def measure(sides: Sequence[Side], rounds: int, turns: int) -> None:
    """Make all calls: whose folder is made first changes from round to round."""
    for one in range(rounds):
        with (
            tempfile.TemporaryDirectory(dir="/var/tmp") as files,
            tempfile.TemporaryDirectory(dir="/dev/shm") as memory,
            ExitStack() as started,
        ):
            for side in sides if one % 2 else sides[::-1]:
                folder = Path(files) / side.name
                folder.mkdir()
                side.start(folder, Path(memory) / side.name)
                started.callback(side.stop)
            measure_round(sides, turns)


def told(sides: Sequence[Side]) -> None:
    """Print what the calls took, and the difference with its range of 95 % (bootstrap over the turns)."""
    for what in CALLS:
        clocks = [[1e3 * clock for clock, _ in side.took[what]] for side in sides]
        for side, clock in zip(sides, clocks, strict=True):
            own = mean(1e3 * processor for _, processor in side.took[what])
            shares = quantiles(clock, n=100)
            print(
                f"{what} {side.name}: mean {mean(clock):.2f}, median {median(clock):.2f}, "
                f"p99 {shares[-1]:.2f} ms; processor time {own:.2f} ms"
            )
        apart = [new - old for old, new in zip(*clocks, strict=True)]
        means = sorted(mean(random.choices(apart, k=len(apart))) for _ in range(2000))
        print(f"{what}: new - old {mean(apart):+.2f} ms, 95 %: {means[50]:+.2f} to {means[1949]:+.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--turns", type=int, default=30, help="of each round (default: 30)")
    parser.add_argument("--rounds", type=int, default=6, help="(default: 6)")
    options = parser.parse_args()
    config.load_kube_config(os.environ["KUBECONFIG"])
    api = client.CustomObjectsApi()
    sides = [Side("old", options.old, api), Side("new", options.new, api)]
    measure(sides, options.rounds, options.turns)
    told(sides)


if __name__ == "__main__":
    main()
