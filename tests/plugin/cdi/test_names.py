"""How documents and devices are named: a name is used once, whatever comes next."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from plugin.base.claim_uid import is_uid
from plugin.cdi import names
from plugin.cdi.document import Injection, claim_document
from scheduler_core.model.claim import ClaimUid

uids = st.uuids().map(lambda uid: ClaimUid(str(uid)))
devices = st.from_regex(r"[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?", fullmatch=True)


def test_a_device_is_named_by_driver_claim_and_device() -> None:
    assert names.device_id("tangram.dev", ClaimUid("u1"), "gpu-0") == "tangram.dev/claim=u1-gpu-0"


@given(one=st.tuples(uids, devices), other=st.tuples(uids, devices))
def test_two_devices_have_one_name_only_where_claim_and_device_are_the_same(
    one: tuple[ClaimUid, str], other: tuple[ClaimUid, str]
) -> None:
    assert (names.device_name(*one) == names.device_name(*other)) is (one == other)


@given(uid=uids, device=devices)
def test_every_name_of_a_claims_device_is_one_that_runtimes_accept(uid: ClaimUid, device: str) -> None:
    name = names.device_name(uid, device)
    injection = Injection(name=name, device=device, identity="GPU-1", nodes=(), files=())

    found = claim_document("tangram.dev", [injection])

    assert is_uid(uid)
    assert f"{found.kind}={found.devices[0].name}" == names.device_id("tangram.dev", uid, device)
