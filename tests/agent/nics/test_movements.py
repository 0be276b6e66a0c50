"""Plans of movements: from any state they lead to the wish, and where the wish is true they are empty."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.hardware.errors import AlreadyTaken, InvalidArgument, NotThereYet
from agent.hardware.nics.links import (
    AddAddress,
    AddRoute,
    Link,
    Move,
    Rename,
    Route,
    SetMac,
    SetMtu,
    SetUp,
    Step,
)
from agent.hardware.nics.movements import Place, Planned, way_back, way_in
from agent.hardware.nics.wishes import WantedInterface, normal
from agent.hardware.types import Bdf

VF, OTHER = Bdf("0000:3b:00.2"), Bdf("0000:3b:00.3")
POD = Path("/run/netns/pod")
ROUTE = Route("10.8.0.0/16", "10.0.0.1")

names = st.sampled_from(["eth0", "fast0", "net1"])
macs = st.sampled_from(["02:00:00:00:00:01", "02:00:00:00:00:02"])
addresses = st.lists(st.sampled_from(["10.0.0.2/24", "fd00::2/64"]), unique=True).map(tuple)
routes = st.sampled_from([(), (ROUTE,)])
links = st.builds(
    Link,
    name=names,
    index=st.just(7),
    mac=macs,
    mtu=st.sampled_from([1400, 1500]),
    is_up=st.booleans(),
    bdf=st.just(VF),
    least_mtu=st.just(68),
    most_mtu=st.just(9978),
    addresses=addresses,
    routes=routes,
).map(lambda link: link if link.is_up else replace(link, routes=()))
wishes = st.builds(
    WantedInterface,
    name=st.none() | names,
    mtu=st.none() | st.sampled_from([1400, 1500]),
    mac=st.none() | macs,
    addresses=addresses,
    routes=routes,
    up=st.sampled_from([True, True, False, None]),
)


def after(link: Link, step: Step) -> Link:
    """A plain model of the kernel: one link, one step."""
    assert step.link == link.name
    match step:
        case Move():
            return replace(link, name=step.name, is_up=False, addresses=(), routes=())
        case Rename():
            assert not link.is_up
            return replace(link, name=step.name)
        case SetMtu():
            return replace(link, mtu=step.mtu)
        case SetMac():
            assert not link.is_up
            return replace(link, mac=step.mac)
        case SetUp(up=True):
            return replace(link, is_up=True)
        case SetUp():
            kept = tuple(one for one in link.addresses if ":" not in one)
            return replace(link, is_up=False, addresses=kept, routes=())
        case AddAddress():
            assert step.address not in link.addresses
            return replace(link, addresses=(*link.addresses, step.address))
        case AddRoute():
            assert link.is_up
            assert step.route not in link.routes
            return replace(link, routes=(*link.routes, step.route))


def done(link: Link, place: Path | None, plan: Iterable[Planned]) -> tuple[Link, Path | None]:
    for planned in plan:
        assert planned.namespace == place
        link = after(link, planned.step)
        place = planned.step.into if isinstance(planned.step, Move) else place
    return link, place


def places(link: Link, is_in_pod: bool) -> tuple[Place, Place]:
    return Place(None, () if is_in_pod else (link,)), Place(POD, (link,) if is_in_pod else ())


@given(links, wishes, st.booleans())
def test_a_way_in_ends_in_the_pod_as_wanted(link: Link, wanted: WantedInterface, is_in_pod: bool) -> None:
    host, pod = places(link, is_in_pod)

    found, place = done(link, POD if is_in_pod else None, way_in(VF, wanted, host, pod))

    assert place == POD
    assert found.name == (wanted.name or link.name)
    assert found.mtu == (wanted.mtu or link.mtu)
    assert found.mac == (wanted.mac or link.mac)
    assert set(wanted.addresses) <= set(found.addresses)
    if wanted.up is not None:
        assert found.is_up == wanted.up
    if found.is_up and wanted.up:
        assert set(wanted.routes) <= set(found.routes)
    assert way_in(VF, wanted, *places(found, True)) == ()


@given(links, links, st.booleans())
def test_a_way_back_ends_on_the_host_as_it_was(link: Link, original: Link, is_in_pod: bool) -> None:
    wish = WantedInterface.like(original)
    host, pod = places(link, is_in_pod)

    found, place = done(link, POD if is_in_pod else None, way_back(VF, wish, host, pod))

    assert place is None
    assert (found.name, found.mtu, found.mac, found.is_up) == (
        original.name,
        original.mtu,
        original.mac,
        original.is_up,
    )
    assert set(original.addresses) <= set(found.addresses)
    assert way_back(VF, wish, *places(found, False)) == ()


def link(**fields: object) -> Link:
    values = {"name": "eth0", "index": 7, "mac": "02:00:00:00:00:01", "mtu": 1500, "is_up": True, "bdf": VF}
    return Link(**values | fields)


def test_what_has_ended_up_nowhere_is_waited_for() -> None:
    for way in (way_in, way_back):
        with pytest.raises(NotThereYet):
            way(VF, WantedInterface(), Place(None, ()), Place(POD, ()))


def test_another_function_s_interface_is_never_taken_for_ours() -> None:
    other = link(bdf=OTHER)

    with pytest.raises(NotThereYet):
        way_in(VF, WantedInterface(), Place(None, (other,)), Place(POD, (other,)))


@pytest.mark.parametrize("bdf", [OTHER, None])
def test_a_name_in_the_pod_is_taken_whoever_has_it(bdf: Bdf | None) -> None:
    pod = Place(POD, (link(name="net1", mac="02:00:00:00:00:05", bdf=bdf),))

    with pytest.raises(AlreadyTaken):
        way_in(VF, WantedInterface(name="net1"), Place(None, (link(),)), pod)


@pytest.mark.parametrize("mtu", [60, 9979])
def test_an_mtu_beyond_the_limits_names_them(mtu: int) -> None:
    host = Place(None, (link(least_mtu=68, most_mtu=9978),))

    with pytest.raises(InvalidArgument) as refusal:
        way_in(VF, WantedInterface(mtu=mtu), host, Place(POD, ()))

    assert "68 to 9978 bytes" in refusal.value.reason


def test_a_name_that_is_taken_on_the_host_does_not_hold_an_interface_in_the_pod() -> None:
    thief = link(name="eth0", bdf=None, index=3)

    (move, *_) = way_back(
        VF, WantedInterface(name="eth0"), Place(None, (thief,)), Place(POD, (link(name="net1"),))
    )

    assert move.step == Move("net1", None, "dev7")


@pytest.mark.parametrize(
    ("wish", "rule"),
    [
        (WantedInterface(name="sixteen-letters-"), "1 to 15 characters"),
        (WantedInterface(name=""), "1 to 15 characters"),
        (WantedInterface(name="a/b"), "without white space"),
        (WantedInterface(name=".."), "1 to 15 characters"),
        (WantedInterface(mac="02:00:00:00:00"), "six hex bytes"),
        (WantedInterface(mac="03:00:00:00:00:00"), "unicast"),
        (WantedInterface(addresses=("10.0.0.2",)), "with a prefix length"),
        (WantedInterface(addresses=("10.0.0.2/33",)), "with a prefix length"),
        (WantedInterface(routes=(Route("10.0.0.1/8"),)), "without bits beyond the prefix"),
        (WantedInterface(routes=(Route("10.0.0.0/8", "nowhere"),)), "must be an IP address"),
        (WantedInterface(routes=(Route("10.0.0.0/8", "fd00::1"),)), "IP version 4"),
    ],
)
def test_a_wish_that_breaks_a_rule_is_refused_with_field_value_and_rule(wish, rule: str) -> None:
    with pytest.raises(InvalidArgument) as refusal:
        normal(wish)

    assert rule in refusal.value.reason
    assert refusal.value.subject.startswith("interface ")
    assert "\n" not in str(refusal.value)


def test_a_wish_is_spelt_as_the_kernel_spells_it() -> None:
    wish = WantedInterface(
        mac="02:00:00:00:00:AB", addresses=("FD00:0::2/64",), routes=(Route("::/0", "FD00:0::1"),)
    )

    assert normal(wish) == WantedInterface(
        mac="02:00:00:00:00:ab", addresses=("fd00::2/64",), routes=(Route("::/0", "fd00::1"),)
    )
