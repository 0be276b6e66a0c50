"""``tangram plugin release``: ends the quarantine of a claim by name, or lists the claims in quarantine.

It works on the plugin's files and on the machine under the plugin's locks, so the plugin may run meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Final

import msgspec

from agent.hardware.ports import Machine
from daemon.command_line import DONE
from plugin.assembly import assemble
from plugin.base.claim_uid import checked_uid
from plugin.base.errors import ClaimUnusable, NotQuarantined
from plugin.cdi.folder import CdiFolder
from plugin.claim.quarantine.quarantined import Quarantined
from plugin.claim.record_store import RecordStore
from plugin.options import Options
from scheduler_core.model.claim import ClaimRef, ClaimUid

Write = Callable[[str], object]
_PARKED: Final = "what is on the lost GPU stays held, and is undone when the GPU is back or the node reboots"


def run_release(
    uid: str | None,
    options: Options,
    opened: Callable[[], AbstractContextManager[Machine]],
    write: Write,
    *,
    as_json: bool,
) -> int:
    """Release a claim, or list those in quarantine where no UID is given; return the exit status.

    Shape: ``opened`` opens the machine, which happens only where there is something to release.
    Raises: NotQuarantined, and nothing was changed; PluginError, HardwareError.
    """
    store = RecordStore(options.claims_dir, CdiFolder(options.cdi_dir, options.driver_name))
    if uid is None:
        _list(store.census().quarantined, write, as_json=as_json)
        return DONE
    claim = _checked(uid)
    store.releasable(claim)
    with opened() as machine:
        driver = assemble(machine, options, clock=time.monotonic, sleep=time.sleep)
        found = driver.release(claim)
    is_parked = store.peek(claim)[0] is not None
    if as_json:
        write(_json({"released": {**_value(found), "parked": is_parked}}))
    else:
        write(f"released {found.text}: {_PARKED if is_parked else found.what_is_left}\n")
    return DONE


def _checked(uid: str) -> ClaimUid:
    try:
        return checked_uid(uid, ClaimRef("", uid[:80]))
    except ClaimUnusable as error:
        raise NotQuarantined("release", f"claim {uid[:80]!r}", error.reason) from error


def _list(found: tuple[Quarantined, ...], write: Write, *, as_json: bool) -> None:
    if as_json:
        write(_json({"quarantined": [_value(one) for one in found]}))
        return
    for one in found:
        write(f"{one.text}: {one.why}; may hold {', '.join(one.devices) or 'nothing'}\n")
    if not found:
        write("no claim is in quarantine\n")


def _value(found: Quarantined) -> Mapping[str, Any]:
    ref = found.known.ref
    return {
        "uid": found.uid,
        "namespace": ref and ref.namespace,
        "name": ref and ref.name,
        "why": found.why,
        "devices": list(found.devices),
        "undone": found.is_undone_at_end,
    }


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"
