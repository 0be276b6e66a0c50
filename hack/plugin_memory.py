"""Measures what the plugin and its NVML process take of a node's memory: python hack/plugin_memory.py.

The plugin runs as on a node with a driver, with an API server and claims for MIG partitions. Only the
driver's library is the tests' fake one, over a simulated DGX A100. The fake and its machine are Python in the
NVML process; a real library is not. So the same process is measured without them, too. Byte code is made
first, as the image has it: Python that compiles pynvml keeps 16 MiB for good.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/fakes")]

import grpc  # noqa: E402
from nvml_machine import NvmlMachine  # noqa: E402
from scripted_api import Reply, Request, Script, serving, write_kubeconfig  # noqa: E402

from plugin._pb.dra_v1 import api_pb2 as dra  # noqa: E402
from plugin._pb.dra_v1.api_pb2_grpc import DRAPluginStub  # noqa: E402
from plugin.options import Options  # noqa: E402
from tangram.bench.machine import DRIVER, NODE  # noqa: E402
from tangram.bench.prepare.plugin_process import DeviceClaim  # noqa: E402

CLAIMS = [DeviceClaim(device=f"gpu-{gpu}-mig-1g-5gb-{place}") for gpu in range(8) for place in range(7)]
WITHOUT_LIBRARY = "import os, agent.hardware.nvml_process.child as c; print(flush=True); c.main(['0'])"


def answer(request: Request) -> Reply:
    """Answer as an API server that has the claims, and nothing else."""
    name = request.path.rpartition("/")[2]
    if name == "resourceslices":
        return Reply(
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSliceList", "metadata": {}, "items": []}
        )
    found = [claim.document() for claim in CLAIMS if claim.name == name]
    return Reply(dict(found[0])) if found else Reply({"kind": "Status", "code": 404}, 404)


def resident(pid: int) -> dict[str, int]:
    """Return the memory of a process. Units: KiB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()[1:]
    return {line.split(":")[0]: int(line.split()[1]) for line in lines}


def children(pid: int) -> list[int]:
    """Return the processes that a process started, whichever thread did."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sorted({int(child) for task in tasks for child in (task / "children").read_text().split()})


def tell(what: str, *pids: int) -> None:
    """Print the memory of some processes."""
    for pid in pids:
        of = resident(pid)
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
        print(
            f"{what}: {name}: {of['Pss'] / 1024:.1f} MiB in proportion, {of['Rss'] / 1024:.1f} MiB resident"
        )


@contextmanager
def running(
    command: list[str], environment: dict[str, str], **more: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program until the block ends."""
    with subprocess.Popen(command, env=environment, cwd=ROOT, **more) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.terminate()


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        byte_code = {"PYTHONPYCACHEPREFIX": str(folder / "byte-code")}
        plain = {
            key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"
        } | byte_code
        subprocess.run(
            [
                sys.executable,
                "-c",
                "import plugin.__main__, kubernetes, pynvml, agent.hardware.nvml_process.child",
            ],
            env=plain,
            cwd=ROOT,
            check=True,
        )
        with NvmlMachine.made(NODE, folder) as machine:
            for server in serving(Script()):
                server.answers(answer)
                host, port = server.server_address[:2]
                kubeconfig = write_kubeconfig(
                    folder / "kubeconfig", f"http://{host!s}:{port}", {}, {"token": "t"}
                )
                measure(folder, machine, kubeconfig, plain)
        command = [sys.executable, "-c", WITHOUT_LIBRARY]
        with running(command, plain, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as alone:
            assert alone.stdout is not None
            alone.stdout.readline()
            tell("without a library", alone.pid)


def measure(folder: Path, machine: NvmlMachine, kubeconfig: Path, environment: dict[str, str]) -> None:
    """Prepare and unprepare all claims at a plugin, and print what it takes before and after."""
    options = Options(
        driver_name=DRIVER, node_name=NODE, kubelet_dir=folder / "kubelet", cdi_dir=folder / "cdi"
    )
    command = [
        *(sys.executable, "-m", "plugin", f"--kubeconfig={kubeconfig}", f"--node-name={NODE}"),
        *(f"--host-root={machine.simulated.root}", f"--kubelet-dir={options.kubelet_dir}"),
        f"--cdi-dir={options.cdi_dir}",
    ]
    with (
        running(command, {**environment, **machine.environment}, stderr=subprocess.DEVNULL) as plugin,
        grpc.insecure_channel(f"unix:{options.dra_socket}") as channel,
    ):
        stub = DRAPluginStub(channel)
        named = [dra.Claim(namespace="default", uid=claim.uid, name=claim.name) for claim in CLAIMS]
        for claim in named:
            request = dra.NodePrepareResourcesRequest(claims=[claim])
            error = (
                stub.NodePrepareResources(request, timeout=45, wait_for_ready=True).claims[claim.uid].error
            )
            assert not error, error
        tell(f"{len(named)} claims prepared", plugin.pid, *children(plugin.pid))
        stub.NodeUnprepareResources(dra.NodeUnprepareResourcesRequest(claims=named), timeout=45)
        tell("all unprepared", plugin.pid, *children(plugin.pid))


if __name__ == "__main__":
    main()
