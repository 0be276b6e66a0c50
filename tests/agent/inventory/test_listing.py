"""The KEP's listing of a node with two A100s, read from the KEP's text, against what we describe."""

from pathlib import Path

import pytest
import yaml

from agent.inventory import describe
from agent.slices import composite_slices
from scheduler_core.codec.composite import decode_slice
from scheduler_core.dialects.mixins import flatten
from scheduler_core.model.names import label_spelling

LISTING = Path(__file__).parent.parent.parent / "data" / "kep-4815" / "listing.yaml"
DRIVER = "gpu.nvidia.com"

# The only differences that are allowed: names are DNS labels, we add where a device hangs, and leave out
# the order of NVML, which moves at a reboot with a dead GPU.
NOT_OURS = {f"{DRIVER}/index", f"{DRIVER}/parentIndex"}
TOPOLOGY = {
    "resource.kubernetes.io/pciBusID",
    "resource.kubernetes.io/pcieRoot",
    "resource.kubernetes.io/numaNode",
    "dra.net/numaNode",
    f"{DRIVER}/pcieSwitch",
    f"{DRIVER}/pcieSwitchPath",
    f"{DRIVER}/pcieRootPort",
}


@pytest.fixture(scope="module")
def listed():
    content = yaml.safe_load(LISTING.read_text())
    assert (len(content["deviceMixins"]), len(content["devices"])) == (29, 52)
    spec = {"driver": DRIVER, "pool": {"name": "n"}, "nodeName": "n"} | content
    pool = flatten([decode_slice({"metadata": {"name": "listing"}, "spec": spec})])
    assert not pool.rejected
    return {label_spelling(device.name): device for device in pool.devices}


@pytest.fixture
def described(machine, inventory_of):
    return describe(inventory_of(machine("a100x2")), DRIVER)


def typed(attributes):
    return {name: (type(value), getattr(value, "text", value)) for name, value in attributes.items()}


def test_the_devices_are_those_of_the_listing(described, listed):
    assert {device.name for device in described.pool.devices} == set(listed)


@pytest.mark.parametrize("gpu", ["gpu-0", "gpu-1"])
def test_each_device_has_the_listing_s_attributes_with_their_types(described, listed, gpu):
    ours = {device.name: device for device in described.pool.devices if device.name.startswith(gpu)}
    assert len(ours) == 26

    for name, device in ours.items():
        added = set(device.attributes) - set(listed[name].attributes)
        assert added <= TOPOLOGY, name
        own = {key: value for key, value in device.attributes.items() if key not in added}
        theirs = {key: value for key, value in listed[name].attributes.items() if key not in NOT_OURS}
        assert typed(own) == typed(theirs), name


@pytest.mark.parametrize("gpu", ["gpu-0", "gpu-1"])
def test_each_device_has_the_listing_s_capacities_and_sources(described, listed, gpu):
    for device in described.pool.devices:
        if device.name.startswith(gpu):
            assert dict(device.capacity) == dict(listed[device.name].capacity), device.name
            assert device.parents == listed[device.name].parents, device.name
            assert {d.source: d.amounts for d in device.draws} == {
                d.source: d.amounts for d in listed[device.name].draws
            }, device.name


def test_capacities_print_as_the_listing_prints_them(described):
    listing = yaml.safe_load(LISTING.read_text())
    printed = {
        text["quantity"]
        for entry in [*listing["deviceMixins"], *listing["devices"]]
        for text in entry["composite"].get("capacity", {}).values()
    }

    ours = {str(amount) for device in described.pool.devices for amount in device.capacity.values()}
    assert ours == printed


def test_the_slices_are_smaller_than_the_listing_allows(described):
    slices = composite_slices(described)

    assert sum(len(one.mixins) + len(one.devices) for one in slices) < 128
    assert flatten(slices).devices == described.pool.devices
