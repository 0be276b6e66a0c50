"""An interface goes into a pod and comes back; the simulated kernel and the real one obey the same laws."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from agent.hardware.errors import AlreadyTaken, InvalidArgument, NotFound, NotThereYet
from agent.hardware.nics.links import Route
from agent.hardware.nics.wishes import WantedInterface
from agent.hardware.types import Bdf

MAC = "02:00:00:00:00:99"
WANTED = WantedInterface(
    name="fast0",
    mtu=1400,
    mac=MAC,
    addresses=("10.9.0.2/24", "fd00:9::2/64"),
    routes=(Route("10.8.0.0/16", "10.9.0.1"),),
)


def original(network) -> WantedInterface:
    found = network.interfaces.find(network.first)
    assert found is not None
    return WantedInterface.like(found)


def test_it_is_in_the_pod_as_wanted_and_no_longer_on_the_host(network) -> None:
    link = network.interfaces.move_in(network.first, network.pod, WANTED)

    assert (link.name, link.mtu, link.mac, link.is_up, link.bdf) == ("fast0", 1400, MAC, True, network.first)
    assert set(link.addresses) == set(WANTED.addresses)
    assert link.routes == WANTED.routes
    assert network.interfaces.find(network.first) is None


def test_it_keeps_its_name_if_no_other_is_wanted(network) -> None:
    before = original(network)

    link = network.interfaces.move_in(network.first, network.pod, WantedInterface())

    assert (link.name, link.mtu, link.mac) == (before.name, before.mtu, before.mac)


def test_a_second_container_of_the_pod_finds_it_there(network) -> None:
    first = network.interfaces.move_in(network.first, network.pod, WANTED)
    network.kernel.steps.clear()

    again = network.interfaces.move_in(network.first, network.pod, WANTED)

    assert again == first
    assert network.kernel.steps == []


def test_it_comes_back_as_it_was(network) -> None:
    before = network.interfaces.find(network.first)
    wish = original(network)
    network.interfaces.move_in(network.first, network.pod, WANTED)

    link = network.interfaces.move_back(network.first, wish, network.pod)

    assert (link.name, link.mtu, link.mac, link.is_up) == (wish.name, wish.mtu, wish.mac, wish.up)
    assert link.addresses == before.addresses
    assert network.interfaces.find(network.first, network.pod) is None


def test_what_is_back_is_not_brought_back_again(network) -> None:
    wish = original(network)
    network.interfaces.move_in(network.first, network.pod, WANTED)
    network.interfaces.move_back(network.first, wish, network.pod)
    network.kernel.steps.clear()

    network.interfaces.move_back(network.first, wish, network.pod)

    assert network.kernel.steps == []


@pytest.mark.parametrize("after", range(6))
def test_a_call_that_dies_after_any_step_is_finished_by_the_next(network, after: int) -> None:
    wish = original(network)
    die_after(network, after)
    with pytest.raises(KeyboardInterrupt):
        network.interfaces.move_in(network.first, network.pod, WANTED)

    network.kernel.apply = type(network.kernel).apply.__get__(network.kernel)
    link = network.interfaces.move_in(network.first, network.pod, WANTED)
    back = network.interfaces.move_back(network.first, wish, network.pod)

    assert (link.name, link.mtu, link.mac, link.is_up) == ("fast0", 1400, MAC, True)
    assert set(link.addresses) == set(WANTED.addresses)
    assert link.routes == WANTED.routes
    assert (back.name, back.mtu, back.mac) == (wish.name, wish.mtu, wish.mac)


def die_after(network, steps: int) -> None:
    done: list[object] = []

    def apply(namespace: Path | None, step: object) -> None:
        if len(done) == steps:
            raise KeyboardInterrupt
        done.append(step)
        network.kernel.kernel.apply(namespace, step)

    network.kernel.apply = apply


def test_a_name_that_the_pod_has_already_is_refused_and_nothing_changes(network) -> None:
    network.interfaces.move_in(network.first, network.pod, WantedInterface(name="fast0"))
    before = network.everything()

    with pytest.raises(AlreadyTaken) as refusal:
        network.interfaces.move_in(network.second, network.pod, WantedInterface(name="fast0"))

    assert "has an interface fast0 already" in refusal.value.reason
    assert network.everything() == before


def test_an_address_that_another_interface_has_is_refused_and_nothing_changes(network) -> None:
    taken = network.interfaces.find(network.second).mac
    before = network.everything()

    with pytest.raises(AlreadyTaken) as refusal:
        network.interfaces.move_in(network.first, network.pod, WantedInterface(mac=taken))

    assert taken in refusal.value.reason
    assert network.everything() == before


def test_an_mtu_beyond_the_driver_s_limit_is_refused_and_nothing_changes(network) -> None:
    before = network.everything()

    with pytest.raises(InvalidArgument) as refusal:
        network.interfaces.move_in(network.first, network.pod, WantedInterface(mtu=70_000))

    assert "68 to" in refusal.value.reason
    assert network.everything() == before


def test_a_gateway_beyond_its_networks_is_the_kernel_s_refusal(network) -> None:
    wish = WantedInterface(addresses=("10.9.0.2/24",), routes=(Route("10.8.0.0/16", "192.168.77.1"),))

    with pytest.raises(InvalidArgument) as refusal:
        network.interfaces.move_in(network.first, network.pod, wish)

    assert refusal.value.errno == errno.ENETUNREACH
    assert "not on a network of this interface" in refusal.value.reason


def test_a_function_without_an_interface_is_waited_for(network) -> None:
    with pytest.raises(NotThereYet) as refusal:
        network.interfaces.move_in(Bdf("0000:99:00.0"), network.pod, WANTED)

    assert refusal.value.retry


def test_a_namespace_that_does_not_exist_is_not_found(network, tmp_path: Path) -> None:
    with pytest.raises(NotFound) as refusal:
        network.interfaces.move_in(network.first, tmp_path / "gone", WANTED)

    assert refusal.value.errno == errno.ENOENT
    assert refusal.value.attempted == "list the network links"
    assert network.interfaces.find(network.first) is not None


def test_a_namespace_that_has_ended_does_not_keep_it_from_coming_back(network, tmp_path: Path) -> None:
    wish = original(network)

    link = network.interfaces.move_back(network.first, wish, tmp_path / "gone")

    assert link.name == wish.name
