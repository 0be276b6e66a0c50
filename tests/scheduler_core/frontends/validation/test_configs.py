"""The configuration of a claim is judged by what is known of its requests, in the plugin's words."""

from __future__ import annotations

from typing import Any

import pytest
from judged_documents import claim, config, device_class, exactly, judge, of_type, slice_of

from scheduler_core.frontends.configuration.preparable import NO_MPS_FOR_PARTITIONS, ONE_DAEMON
from scheduler_core.frontends.validation.finding import Level

SLICE = slice_of(("gpu-0", {"type": "gpu"}), ("vf-0", {"type": "vf", "linkSpeedMbps": 100}))
MPS = {"sharing": {"strategy": "MPS"}}


def told(*documents: dict[str, Any]) -> list[tuple[str, str]]:
    """Return path and text of the errors, without those of kinds that cannot be prepared."""
    found = [one for one in judge(*documents) if one.level is Level.ERROR]
    return [
        (one.path, one.text)
        for one in found
        if "that this version" not in one.text and "prepare it" not in one.text
    ]


def test_a_wrong_configuration_is_told_with_its_place() -> None:
    asked = claim(
        exactly("g", "gpu"),
        exactly("v", "vf"),
        config=[config("GpuConfig"), config("VfConfig", "v", vlan={"id": 4095})],
    )

    assert told(asked) == [
        (
            "spec.devices.config[1].opaque.parameters.vlan.id",
            "request v: VfConfig.vlan.id: 4095: must be at most 4094",
        )
    ]


def test_a_template_has_its_claim_one_level_deeper() -> None:
    inner = claim(exactly("g", "gpu"), config=[config("GpuConfig", share=1)])
    template = inner | {"kind": "ResourceClaimTemplate", "spec": {"spec": inner["spec"]}}

    ((path, _),) = told(template)

    assert path == "spec.spec.devices.config[0].opaque.parameters.share"


def test_a_wrong_configuration_of_a_class_is_told_where_the_class_is() -> None:
    gpu = of_type("gpu")
    gpu["spec"]["config"] = [{"opaque": config("GpuConfig", share=1)["opaque"]}]

    ((path, text),) = told(gpu, claim(exactly("g", "gpu")))

    assert path == "spec.config[0].opaque.parameters.share"
    assert text.startswith("all requests (from the class): GpuConfig.share: unknown field")


def test_what_is_no_configuration_is_told_at_its_first_field() -> None:
    broken = config("GpuConfig")
    broken["opaque"]["parameters"] = {"sharing": {}}

    ((path, text),) = told(claim(exactly("g", "gpu"), config=[broken]))

    assert path == "spec.devices.config[0].opaque.parameters.apiVersion"
    assert "must be tangram.dev/v1alpha1 or" in text


def test_configurations_of_other_drivers_are_not_read() -> None:
    other = config("GpuConfig", driver="other.example.com", share=1)
    other["opaque"]["parameters"]["apiVersion"] = "other.example.com/v1"

    assert judge(claim(exactly("g", "gpu"), config=[other])) == ()


def test_our_configuration_for_another_driver_is_a_warning() -> None:
    (found,) = judge(claim(exactly("g", "gpu"), config=[config("GpuConfig", driver="gpu.nvidia.com")]))

    assert (found.level, found.path) == (Level.WARNING, "spec.devices.config[0].opaque.driver")
    assert "driver: 'gpu.nvidia.com': is not the driver that is asked about, tangram.dev" in found.text


def test_a_configuration_for_a_request_that_is_not_there_is_refused() -> None:
    asked = claim(exactly("g", "gpu"), exactly("h", "gpu"), config=[config("GpuConfig", "g", "x")])

    assert told(asked) == [
        ("spec.devices.config[0].requests", "requests g, x: 'x': names no request of the claim")
    ]


def test_a_configuration_of_another_kind_than_the_request_is_refused() -> None:
    asked = claim(exactly("g", "gpu"), exactly("v", "vf"), config=[config("VfConfig", "g")])

    assert told(asked) == [
        (
            "spec.devices.config[0].opaque.parameters",
            "request g: VfConfig: is for devices of type vf; request g has devices of type gpu",
        )
    ]


def test_a_configuration_that_no_request_takes_is_refused() -> None:
    ((_, text),) = told(claim(exactly("g", "gpu"), config=[config("VfConfig", "g")]))

    assert text == "all requests: VfConfig: is for devices of type vf; the claim requests no such device"


def test_where_the_type_is_not_known_kinds_are_not_compared() -> None:
    open_class = device_class("any", 'device.driver == "tangram.dev"')
    request = {"name": "r", "exactly": {"deviceClassName": "any"}}

    assert told(open_class, claim(request, config=[config("VfConfig", "r")])) == []


def test_slices_say_which_type_a_class_selects() -> None:
    by_name = device_class("first", "'linkSpeedMbps' in device.attributes['tangram.dev']")
    request = {"name": "r", "exactly": {"deviceClassName": "first"}}

    ((_, text),) = told(SLICE, by_name, claim(request, config=[config("GpuConfig", "r")]))

    assert text.endswith(
        "is for devices of type gpu or gpu-partition or gpu-shared or gpu-mps; "
        "the claim requests no such device"
    )


@pytest.mark.parametrize("source", ["claim", "class"])
def test_what_this_version_cannot_prepare_is_refused(source: str) -> None:
    pair, one = of_type("gpu-partition"), config("GpuConfig", **MPS)
    if source == "class":
        pair["spec"]["config"] = [{"opaque": one["opaque"]}]
    asked = claim(exactly("g", "gpu-partition"), **({"config": [one]} if source == "claim" else {}))

    ((path, text),) = told(pair, asked)

    said = f"GpuConfig.sharing: {NO_MPS_FOR_PARTITIONS}"
    if source == "claim":
        assert (path, text) == ("spec.devices.config[0].opaque.parameters.sharing", f"all requests: {said}")
    else:
        assert (path, text) == ("spec.devices.requests[0].exactly", f"all requests (from the class): {said}")


def test_the_place_is_that_of_the_configuration_that_counts() -> None:
    configs = [config("VfConfig"), config("GpuConfig"), config("GpuConfig", **MPS), config("VfConfig")]

    classes = of_type("gpu-partition"), of_type("vf")

    found = told(*classes, claim(exactly("g", "gpu-partition"), exactly("v", "vf"), config=configs))

    assert [path for path, _ in found] == ["spec.devices.config[2].opaque.parameters.sharing"]


@pytest.mark.parametrize("count", [1, 2])
def test_a_request_for_several_devices_under_mps_is_refused(count: int) -> None:
    found = told(claim(exactly("g", "gpu", count=count), config=[config("GpuConfig", **MPS)]))

    assert [ONE_DAEMON in text for _, text in found] == [True] * (count - 1)


def pod(*uses: dict[str, str], init: bool = False, **claims: str) -> dict[str, Any]:
    """A pod whose one container uses claims, or templates: those whose name begins with ``t``."""
    of_pod = [
        {"name": name, f"resourceClaim{'TemplateName' if claim.startswith('t') else 'Name'}": claim}
        for name, claim in claims.items()
    ]
    container = {"name": "main", "resources": {"claims": list(uses)}}
    kind = "initContainers" if init else "containers"
    spec = {"resourceClaims": of_pod, "containers": [{"name": "other"}], kind: [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}


TWO_UNDER_MPS = claim(exactly("x", "gpu"), exactly("y", "gpu"), config=[config("GpuConfig", **MPS)])


def template_of(asked: dict[str, Any], name: str) -> dict[str, Any]:
    spec = {"spec": asked["spec"]}
    return {**asked, "kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}


def of_container(*documents: dict[str, Any]) -> list[tuple[Level, str]]:
    found = judge(of_type("gpu"), of_type("gpu-mps"), of_type("gpu-shared"), *documents)
    return [(one.level, one.text) for one in found if one.text.startswith("container ")]


@pytest.mark.parametrize("init", [False, True])
@pytest.mark.parametrize(
    ("uses", "number"),
    [
        ([{"name": "c"}], 2),
        ([{"name": "c", "request": "x"}, {"name": "c", "request": "y"}], 2),
        ([{"name": "c", "request": "x"}], 0),
        ([{"name": "c", "request": "x"}, {"name": "c", "request": "x"}], 0),
        ([{"name": "c", "request": "y"}, {"name": "again", "request": "y"}], 0),
        ([{"name": "c", "request": "y"}, {"name": "again", "request": "x"}], 2),
        ([{"name": "one"}, {"name": "two", "request": "x"}], 2),
        ([{"name": "one"}, {"name": "c", "request": "x"}], 2),
        ([{"name": "one"}], 0),
    ],
)
def test_a_container_that_gets_several_devices_under_mps_is_refused(
    uses: list[dict[str, str]], number: int, init: bool
) -> None:
    one = claim(exactly("x", "gpu"), name="one", config=[config("GpuConfig", **MPS)])
    claims = {"c": "c", "again": "c", "one": "t-one", "two": "t-one"}

    found = of_container(TWO_UNDER_MPS, template_of(one, "t-one"), pod(*uses, init=init, **claims))

    assert len(found) == bool(number)
    for level, text in found:
        assert level is Level.ERROR
        assert text.startswith("container main gets several devices under MPS (request ")
        assert text.endswith(ONE_DAEMON)


@pytest.mark.parametrize(
    ("requests", "level"),
    [
        ([exactly("x", "gpu-mps"), exactly("y", "gpu-mps")], Level.WARNING),
        ([exactly("x", "gpu-mps", count=2)], Level.WARNING),
        ([exactly("x", "gpu-mps"), exactly("y", "gpu-shared")], None),
        ([exactly("x", "gpu-mps")], None),
    ],
)
def test_shares_under_mps_may_be_of_one_gpu(requests: list[dict[str, Any]], level: Level | None) -> None:
    found = of_container(claim(*requests), pod({"name": "c"}, c="c"))

    assert [one for one, _ in found] == ([level] if level else [])
    assert all("may get shares of several GPUs under MPS" in text for _, text in found)


def test_a_claim_without_requests_has_no_device_for_a_configuration() -> None:
    ((path, text),) = told(claim(config=[config("GpuConfig")]))

    assert path == "spec.devices.config[0].opaque.parameters"
    assert text.endswith("; the claim requests no such device")


def test_a_claim_may_undo_what_its_class_says() -> None:
    gpu = of_type("gpu")
    gpu["spec"]["config"] = [{"opaque": config("GpuConfig", **MPS)["opaque"]}]

    assert told(gpu, claim(exactly("g", "gpu"), config=[config("GpuConfig")])) == []


def test_the_interfaces_of_nics_and_vfs_can_be_prepared() -> None:
    assert told(claim(exactly("n", "nic"), config=[config("NicConfig", name="net1")])) == []
    assert told(claim(exactly("v", "vf"), config=[config("VfConfig", mode="netdev")])) == []


def test_admin_access_can_be_prepared() -> None:
    assert told(claim(exactly("g", "gpu", adminAccess=True))) == []


@pytest.mark.parametrize(("count", "mistakes"), [(1, 0), (2, 1)])
def test_one_mac_is_not_enough_for_two_devices(count: int, mistakes: int) -> None:
    mac = config("VfConfig", mac="02:00:00:00:00:01")

    found = told(claim(exactly("v", "vf", count=count), config=[mac]))

    assert [text for _, text in found] == [
        "all requests: VfConfig.mac: '02:00:00:00:00:01': another device of request v has this MAC address, "
        "too: give each its own"
    ] * mistakes


def test_alternatives_may_have_the_same_mac() -> None:
    options = [{"name": name, "deviceClassName": "vf.tangram.dev"} for name in ("a", "b")]
    mac = config("VfConfig", mac="02:00:00:00:00:01")

    assert told(claim({"name": "v", "firstAvailable": options}, config=[mac])) == []


def test_what_every_published_device_is_too_small_for_is_refused() -> None:
    asked = claim(exactly("v", "vf"), config=[config("VfConfig", maxTxRate=101)])
    faster = slice_of(*(("vf-" + str(speed), {"type": "vf", "linkSpeedMbps": speed}) for speed in (200, 100)))

    ((path, text),) = told(SLICE, asked)

    assert path == "spec.devices.config[0].opaque.parameters.maxTxRate"
    assert "must be at most 100 Mbit/s, the speed of its link" in text
    assert told(faster, asked) == []


def test_a_configuration_for_one_of_several_alternatives_is_accepted() -> None:
    options = [{"name": kind, "deviceClassName": f"{kind}.tangram.dev"} for kind in ("gpu", "mig")]
    asked = claim(
        {"name": "r", "firstAvailable": options},
        config=[config("GpuConfig", "r/gpu"), config("MigConfig", "r/mig"), config("MigConfig")],
    )

    assert judge(asked) == ()


def test_an_allocated_claim_is_judged_by_its_allocation() -> None:
    asked = claim(exactly("g", "gpu"), config=[config("GpuConfig")])
    entry = {"source": "FromClaim", **config("GpuConfig", **MPS)}
    device = {"request": "g", "driver": "tangram.dev", "pool": "n", "device": "gpus-0-1"}
    pair = slice_of(("gpus-0-1", {"type": "gpu-partition"}))
    status = {"allocation": {"devices": {"results": [device], "config": [entry]}}}

    found = told(pair, asked | {"status": status})

    assert [path for path, _ in found] == ["status.allocation.devices.config"]
    assert "cannot prepare MPS" in found[0][1]


def test_allocated_devices_that_cannot_be_prepared_are_told() -> None:
    device = {"request": "n", "driver": "tangram.dev", "pool": "n", "device": "nic-0"}
    status = {"allocation": {"devices": {"results": [device]}}}
    nic = slice_of(("nic-0", {"type": "nic", "rdmaCapable": False}))

    (found,) = judge(nic, claim(exactly("n", "nic")) | {"status": status})

    assert found.path == "status.allocation.devices.results"
    assert "device tangram.dev/n/nic-0: it has no RDMA device" in found.text
