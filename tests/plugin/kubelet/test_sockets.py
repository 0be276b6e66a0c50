"""The names of a plugin's sockets: one for each instance, and short enough."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from plugin.kubelet import sockets

FOLDER = Path("/var/lib/kubelet/plugins_registry")
uids = st.uuids().map(str)
drivers = st.from_regex(r"[a-z]([a-z0-9-]{0,60}[a-z0-9])?\.dev", fullmatch=True)


@given(uid=st.none() | uids)
def test_the_dra_socket_says_whose_it_is(uid: str | None) -> None:
    assert sockets.instance(sockets.dra(FOLDER, uid).name) == (uid or "")


@given(name=st.sampled_from(["dra", "dra-.sock", "drawer.sock", "x.sock", "dra.sock.tmp", "lock"]))
def test_other_names_are_no_dra_socket(name: str) -> None:
    assert sockets.instance(name) is None


@given(driver=drivers, uid=uids)
def test_the_registration_socket_of_a_pod_fits_whatever_the_drivers_name(driver: str, uid: str) -> None:
    path = sockets.registration(FOLDER, driver, uid)

    assert path.parent == FOLDER
    assert len(os.fsencode(path)) <= sockets.PATH_BYTES
    assert path.name.endswith("-reg.sock")
    assert path == sockets.registration(FOLDER, driver, uid)


@given(driver=drivers, one=uids, other=uids)
def test_two_pods_have_two_registration_sockets(driver: str, one: str, other: str) -> None:
    paths = {sockets.registration(FOLDER, driver, uid) for uid in (one, other, None)}

    assert len(paths) == len({one, other, None})
