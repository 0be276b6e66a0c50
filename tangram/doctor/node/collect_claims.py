"""Reads what the plugin's files and the API server say of a node's claims. Nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from agent.hardware.ports import Machine
from plugin.base import files
from plugin.base.errors import StorageFailed
from plugin.cdi.document import checksum
from plugin.cdi.folder import CdiFolder
from plugin.claim.quarantine.census import Census
from plugin.claim.reconciling.programs import given_up, users_of
from plugin.claim.reconciling.standing import why_over
from plugin.claim.record_store import RecordStore
from plugin.claim.states import State
from plugin.machine.texts import clients_text
from plugin.options import Options
from scheduler_core.model.claim import ClaimUid
from tangram.clusters import ClusterReader
from tangram.doctor.node.facts import ClaimFacts, Document, ServerFacts


def collect_claims(options: Options) -> ClaimFacts:
    """Read records and CDI documents. Raises: StorageFailed where this user may not read them."""
    folder = options.claims_dir
    if folder.exists() and not os.access(folder, os.R_OK | os.X_OK):
        raise StorageFailed("read", str(folder), "permission denied; records are root's")
    cdi = CdiFolder(options.cdi_dir, options.driver_name)
    before = cdi.claims()
    store = RecordStore(folder, cdi)
    census = store.census()
    return ClaimFacts(
        census=census,
        written_s={one.uid: store.peek(one.uid)[1] for one in census.records},
        checksums=dict(_checksums(cdi, {*before, *(one.uid for one in census.records)})),
        record_path=folder,
        document_path=options.cdi_dir / f"{options.driver_name}-claim_",
    )


def _checksums(cdi: CdiFolder, uids: Iterable[ClaimUid]) -> Iterator[tuple[ClaimUid, str]]:
    for uid in uids:
        try:
            content = files.read(cdi.path(uid))
        except StorageFailed:
            content = b""  # it is there, and is not what was written
        if content is not None:
            yield uid, checksum(content)


def collect_server(
    cluster: ClusterReader, options: Options, claims: ClaimFacts, boot_id: str, machine: Machine
) -> ServerFacts:
    """Ask the API server about the node's claims, the driver for programs of some. Raises: BadInput."""
    pods = cluster.list("Pod", f"spec.nodeName={options.node_name}")
    known = {
        (one["metadata"]["namespace"], one["metadata"]["name"]): one for one in cluster.list("ResourceClaim")
    }
    running = {
        one["metadata"]["uid"]: f"{one['metadata']['namespace']}/{one['metadata']['name']}"
        for one in pods
        if (one.get("status") or {}).get("phase") == "Running"
    }
    over = {
        record.uid: why
        for record in claims.census.records
        if record.state is State.COMPLETED
        and (why := why_over(known.get((record.namespace, record.name)), record.uid, record))
    }
    return ServerFacts(
        over=over,
        in_use=dict(_in_use(known.values(), running, options)),
        programs={uid: found for uid in over if (found := _programs(claims.census, uid, boot_id, machine))},
    )


def _in_use(
    claims: Iterable[Document], running: Mapping[str, str], options: Options
) -> Iterator[tuple[ClaimUid, tuple[str, str]]]:
    """Yield the claims with devices of this node that a running pod of it has."""
    for claim in claims:
        status, metadata = claim.get("status") or {}, claim["metadata"]
        results = ((status.get("allocation") or {}).get("devices") or {}).get("results") or ()
        own = (options.driver_name, options.node_name)
        if not any((one["driver"], one["pool"]) == own for one in results):
            continue
        for user in status.get("reservedFor") or ():
            if user.get("uid") in running:
                name = f"{metadata['namespace']}/{metadata['name']}"
                yield ClaimUid(metadata["uid"]), (name, running[user["uid"]])


def _programs(census: Census, uid: ClaimUid, boot_id: str, machine: Machine) -> str:
    """Return the programs on GPUs that a claim would give up, as text; empty where none is seen."""
    found = []
    for gpu in sorted(given_up(census, uid, boot_id)):
        users = tuple(users_of(machine, gpu))
        if users:
            found.append(f"{gpu}: {clients_text(users)}")
    return "; ".join(found)
