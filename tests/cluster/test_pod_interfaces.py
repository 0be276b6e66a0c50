"""Under a real kubelet: VFs and whole NICs as network interfaces of pods, on real devices of the node."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from cluster_support import Document, eventually, pod, running
from launcher.client import ClusterControl
from plugin_support import PluginSite
from story import refusal

from agent.hardware.simulated import node_text
from kube_api import EVENTS, PODS, RESOURCE_CLAIMS, ApiError, KubeApi

NIC = "0000:19:00.0"
NIC_ON_HOST = "enp25s0"
ON_HOST = ("enp25s0v0", "enp25s0v1")


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node, whose NIC has two VFs with real links."""
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        nic = "link: ethernet, vfs: 2,"
        file = Path(folder) / "node.yaml"
        file.write_text(node_text("a30x4").replace(nic, f"{nic} kernel_links: true,"))
        driver = f"i{uuid.uuid4().hex[:6]}.tangram.dev"
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder), str(file))
        with found.published():
            yield found
        found.close()
        for name in links(found):
            if name.startswith(("tgport", "tgsw")):
                control.run_on_node(node, ["ip", "link", "del", name])


def links(site: PluginSite) -> set[str]:
    """The names of the node's own network devices."""
    said = site.control.run_on_node(site.node, ["ip", "-o", "link"]).stdout
    return {line.split(": ")[1].partition("@")[0] for line in said.splitlines()}


def network_data(site: PluginSite, namespace: str, claim: str) -> Any:
    """What the claim's status says of its one interface, None as long as it says nothing."""
    return next((one.get("networkData") for one in site.status_devices(namespace, claim)), None)


def claim(
    site: PluginSite, name: str, address: str, interface: str = "fast0", *, is_whole: bool = False
) -> Document:
    """A claim for one VF, or the whole NIC, as a network interface."""
    own = f'device.attributes["{site.driver}"]'
    expression = (
        f'{own}.type == "nic" && {own}.pfPciAddress == "{NIC}"' if is_whole else f'{own}.type == "vf"'
    )
    netdev = {"addresses": [f"{address}/24"], "name": interface}
    kind = (
        {"kind": "NicConfig", **netdev}
        if is_whole
        else {"kind": "VfConfig", "mode": "netdev", "netdev": netdev}
    )
    wanted = {"deviceClassName": site.device_class, "selectors": [{"cel": {"expression": expression}}]}
    # API servers take no status of a claim whose keys stand otherwise than in the order of the alphabet.
    parameters = dict(sorted({"apiVersion": "tangram.dev/v1alpha1", **kind}.items()))
    opaque = {"driver": site.driver, "parameters": parameters}
    devices = {"requests": [{"name": "vf", "exactly": wanted}], "config": [{"opaque": opaque}]}
    return {"metadata": {"name": name}, "spec": {"devices": devices}}


def caller(name: str, of: str, **spec: Any) -> Document:
    """A pod that says when it reaches another one over its interface."""
    script = f"until ping -c1 -W1 {of}; do sleep 0.2; done; echo reached; exec sleep 100000"
    command = ("sh", "-c", script)
    return pod(name, command=command, claims={"net": name}, hostNetwork=False, **spec)


def log_of(api: KubeApi, namespace: str, name: str, last: str) -> str:
    def said() -> str:
        try:
            text = api.raw_get(f"/api/v1/namespaces/{namespace}/pods/{name}/log")
        except ApiError as error:
            raise AssertionError(str(error)) from error
        return text if last in text else ""

    return eventually(said, f"the log of {name} has {last}")


def test_two_pods_reach_each_other_and_the_interfaces_leave_the_node_and_come_back(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    site.start()
    for name, own in (("a", "10.9.0.1"), ("b", "10.9.0.2")):
        api.create(RESOURCE_CLAIMS, claim(site, name, own), namespace)
    api.create(PODS, caller("a", "10.9.0.2"), namespace)
    api.create(PODS, caller("b", "10.9.0.1"), namespace)

    for name in ("a", "b"):
        log_of(api, namespace, name, "reached")
    meanwhile = links(site)
    told = eventually(lambda: network_data(site, namespace, "a"), f"it is told; {site.log()[-3000:]}")
    site.delete_pod(namespace, "a")
    site.delete_pod(namespace, "b")

    assert not meanwhile & set(ON_HOST)
    assert told["interfaceName"] == "fast0"
    assert told["ips"] == ["10.9.0.1/24"]
    assert site.nothing_is_left()
    assert set(ON_HOST) <= links(site)


def test_an_init_container_a_restarted_container_and_a_new_plugin_find_the_interface(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    process = site.start()
    api.create(RESOURCE_CLAIMS, claim(site, "a", "10.9.0.1"), namespace)
    api.create(PODS, restarting("a"), namespace)
    running(api, "a", namespace)
    text = log_of(api, namespace, "a", "second time")
    site.stop(process, signal.SIGKILL)
    meanwhile = links(site)
    site.start()
    site.delete_pod(namespace, "a")

    assert "10.9.0.1/24" in text
    assert ON_HOST[0] not in meanwhile or ON_HOST[1] not in meanwhile
    assert site.nothing_is_left()
    assert set(ON_HOST) <= links(site)


def restarting(name: str) -> Document:
    """A pod that needs its interface in an init container and twice in its container."""
    shows = "ip addr show fast0"
    again = f"[ -e /data/once ] || {{ {shows} && touch /data/once; exit 1; }}"
    script = f"{again}; {shows}; echo second time; exec sleep 100000"
    found = pod(name, command=("sh", "-c", script), claims={"net": name}, hostNetwork=False)
    (container,) = found["spec"]["containers"]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    found["spec"]["volumes"] = [{"name": "data", "emptyDir": {}}]
    first = {**container, "name": "first", "command": ["sh", "-c", shows]}
    found["spec"]["initContainers"] = [first]
    return found


def test_a_pod_has_a_whole_nic_as_its_interface_and_nobody_a_vf_of_it_meanwhile(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    site.start()
    api.create(RESOURCE_CLAIMS, claim(site, "nic", "10.9.0.1", is_whole=True), namespace)
    script = "ip addr show fast0; echo shown; exec sleep 100000"
    api.create(
        PODS, pod("nic", command=("sh", "-c", script), claims={"net": "nic"}, hostNetwork=False), namespace
    )
    text = log_of(api, namespace, "nic", "shown")
    meanwhile = links(site)
    told = eventually(lambda: network_data(site, namespace, "nic"), f"it is told; {site.log()[-3000:]}")
    api.create(RESOURCE_CLAIMS, claim(site, "vf", "10.9.0.2"), namespace)
    api.create(PODS, caller("vf", "10.9.0.2"), namespace)
    why = refusal(api, "vf", namespace)
    site.delete_pod(namespace, "nic")
    api.delete(RESOURCE_CLAIMS, "nic", namespace)
    log_of(api, namespace, "vf", "reached")
    site.delete_pod(namespace, "vf")

    assert "10.9.0.1/24" in text
    assert NIC_ON_HOST not in meanwhile
    assert (told["interfaceName"], told["ips"]) == ("fast0", ["10.9.0.1/24"])
    assert "cannot allocate all claims" in why
    assert site.nothing_is_left()
    assert {NIC_ON_HOST, *ON_HOST} <= links(site)


def test_a_name_that_the_pod_has_is_refused_and_the_user_reads_why_in_an_event(
    api: KubeApi, site: PluginSite, namespace: str
) -> None:
    site.start()
    api.create(RESOURCE_CLAIMS, claim(site, "a", "10.9.0.1", "eth0"), namespace)
    api.create(PODS, caller("a", "10.9.0.1"), namespace)

    def told() -> str:
        found = (one.document for one in api.list(EVENTS, namespace).items)
        return next((one["note"] for one in found if one.get("reason") == "BringInFailed"), "")

    assert "has an interface eth0 already" in eventually(told, "an event on the claim", 60)
    assert set(ON_HOST) <= links(site)
    site.delete_pod(namespace, "a")
    assert site.nothing_is_left()
