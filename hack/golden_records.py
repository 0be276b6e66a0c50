"""Have an earlier version of the plugin write golden records and CDI documents.

``PYTHONPATH=tests/fakes hack/golden_records.py FORMAT`` takes the commit of that format from
``tests/data/records/formats.json`` and runs its plugin as a program, on its own simulated machine. For each
claim that it can prepare, it keeps three files below ``tests/data/records/FORMAT/CLAIM``: the claim, the
record and the document, byte for byte. Golden files that are there are never written again. Of some claims
they are taken later: when the interface is in a pod, or when the pod has ended while a GPU was lost; then
there is no document.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import grpc
from golden_claims import (
    CLAIMS,
    DRIVER,
    FOLDER,
    LATER,
    LOST,
    PARTITIONS,
    POD_PROCESS,
    UID,
    GoldenClaim,
    Later,
)
from older_versions import FORMATS, RECORDS, source_of

from plugin._pb.dra_v1 import api_pb2 as v1
from plugin._pb.dra_v1 import api_pb2_grpc as v1_grpc

_ANSWER_S: Final = 30.0
_INJECT: Final = """
import sys
from pathlib import Path
from agent.hardware.simulated import SimulatedMachine, parse_fault

SimulatedMachine.attach(Path(sys.argv[1])).inject(parse_fault(sys.argv[2]))
"""


@dataclass(frozen=True)
class Place:
    """Where one plugin works: an empty folder, always of the same name, since documents name it."""

    folder: Path

    @property
    def claims(self) -> Path:
        """Return the folder of the claims that the plugin reads."""
        return self.folder / "claims"

    @property
    def machine(self) -> Path:
        """Return the folder of the simulated machine."""
        return self.folder / "machine"

    @property
    def kubelet(self) -> Path:
        """Return the kubelet's folder."""
        return self.folder / "kubelet"

    @property
    def cdi(self) -> Path:
        """Return the folder of the documents."""
        return self.folder / "cdi"

    @property
    def socket(self) -> Path:
        """Return where the kubelet calls."""
        return self.kubelet / "plugins" / DRIVER / "dra.sock"

    @property
    def pod(self) -> Path:
        """Return the file that stands for a pod's network namespace."""
        return self.machine / f"root/proc/{POD_PROCESS}/ns/net"

    @property
    def written(self) -> Mapping[str, Path]:
        """Return what the plugin writes of the claim, by the name of the golden file."""
        record = self.kubelet / "plugins" / DRIVER / "claims" / f"{UID}.json"
        return {"record.json": record, "document.json": self.cdi / f"{DRIVER}-claim_{UID}.json"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the golden files of one format, and say which claims its version refuses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("format", choices=FORMATS)
    name = parser.parse_args(arguments).format
    with tempfile.TemporaryDirectory() as folder:
        source = source_of(FORMATS[name], Path(folder))
        known = subprocess.run(
            [sys.executable, "-m", "plugin", "--help"], cwd=source, capture_output=True, text=True, check=True
        ).stdout
        for claim in (*CLAIMS, *LATER):
            golden = RECORDS / name / claim.name
            if golden.exists():
                continue
            refused = claim.needs(known) or _write(source, claim, golden, known)
            print(f"{golden.relative_to(RECORDS)}: {refused or 'written'}")
    return 0


def _write(source: Path, claim: GoldenClaim, golden: Path, known: str) -> str:
    """Prepare one claim and keep what was written; return why it was refused, empty where it was not."""
    with _folder() as name:
        place = Place(Path(name))
        place.claims.mkdir()
        (place.claims / "claim.yaml").write_text(json.dumps(claim.document()), encoding="utf-8")
        with _serving(source, claim, place, known):
            refused = _prepared(place.socket) or _gone_on(source, claim, place)
        if refused:
            return refused
        written = {file: path.read_bytes() for file, path in place.written.items() if path.exists()}
        golden.mkdir(parents=True)
        (golden / "claim.json").write_text(json.dumps(claim.document(), indent=2) + "\n", encoding="utf-8")
        for file, data in written.items():
            (golden / file).write_bytes(data)
    return ""


@contextmanager
def _folder() -> Iterator[str]:
    """Make the folder whose name golden files have: records cannot be changed, for lines have seals."""
    folder = FOLDER.decode()
    os.mkdir(folder)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def _serving(source: Path, claim: GoldenClaim, place: Place, known: str) -> Iterator[None]:
    table = place.folder / "table.json"
    table.write_text(json.dumps(PARTITIONS), encoding="utf-8")
    given: Mapping[str, Any] = {**claim.options, "--partitions": table}
    command = [
        *(sys.executable, "-m", "plugin", "--driver-name", DRIVER),
        *("--simulated", claim.node, "--machine", place.machine, "--host-root", place.machine / "root"),
        *("--claims", place.claims, "--kubelet-dir", place.kubelet, "--cdi-dir", place.cdi),
        *(one for option, value in given.items() if option in known for one in (option, value)),
    ]
    with subprocess.Popen(command, cwd=source, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said += line
                if "serves" in line:
                    break
            if process.poll() is not None:
                raise SystemExit(said)
            yield
        finally:
            process.kill()


def _prepared(socket: Path) -> str:
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        claim = v1.Claim(namespace="default", name=f"claim-{UID}", uid=UID)
        request = v1.NodePrepareResourcesRequest(claims=[claim])
        answer = v1_grpc.DRAPluginStub(channel).NodePrepareResources(
            request, timeout=_ANSWER_S, wait_for_ready=True
        )
    return str(answer.claims[UID].error)


def _gone_on(source: Path, claim: GoldenClaim, place: Place) -> str:
    """Do what comes later; return why the version does not do it, empty where it does."""
    match claim.later:
        case Later.IN_POD:
            return _brought_in(place)
        case Later.PARKED:
            command = [sys.executable, "-c", _INJECT, place.machine, LOST]
            subprocess.run(command, cwd=source, check=True)
            _unprepare(place.socket)
    return ""


def _brought_in(place: Place) -> str:
    """Run the hook of the claim's document, as a container runtime does."""
    place.pod.parent.mkdir(parents=True)
    place.pod.touch()
    document = json.loads(place.written["document.json"].read_bytes())
    edits = [document.get("containerEdits", {}), *(one["containerEdits"] for one in document["devices"])]
    hooks = [hook for one in edits for hook in one.get("hooks", ()) if hook["path"].endswith("bring-in.sh")]
    for hook in hooks:
        command, state = [hook["path"], *hook["args"][1:]], json.dumps({"pid": POD_PROCESS})
        done = subprocess.run(command, input=state, capture_output=True, text=True, check=False)
        if done.returncode:
            return done.stderr.strip()
    return "" if hooks else "its document has no hook"


def _unprepare(socket: Path) -> None:
    """End the claim; versions that do not park it answer with an error, and their record says as much."""
    with grpc.insecure_channel(f"unix:{socket}") as channel:
        claim = v1.Claim(namespace="default", name=f"claim-{UID}", uid=UID)
        request = v1.NodeUnprepareResourcesRequest(claims=[claim])
        v1_grpc.DRAPluginStub(channel).NodeUnprepareResources(request, timeout=_ANSWER_S)


if __name__ == "__main__":
    sys.exit(main())
