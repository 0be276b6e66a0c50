"""A driver of its own on a node, whose agent and plugin run with the same options.

In go a site and options; while the block is open its devices are published and its plugin serves. Claims for
one device come from expressions, in which ``own`` are the attributes of the driver.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from cluster_support import Document, eventually, pod
from plugin_support import PluginSite
from story import ROOT, devices, slices

from kube_api import DEVICE_CLASSES, PODS, RESOURCE_CLAIMS, RESOURCE_SLICES


@contextmanager
def offering(site: PluginSite, known: set[str], *options: str) -> Iterator[PluginSite]:
    """Run an agent and a plugin of the site. Shape: ``known`` devices that are published at the start."""
    selector = {"cel": {"expression": f'device.driver == "{site.driver}"'}}
    document = {"metadata": {"name": site.device_class}, "spec": {"selectors": [selector]}}
    site.api.create(DEVICE_CLASSES, document)
    try:
        with _agent(site, known, options):
            site.start(None, *options)
            yield site
    finally:
        site.close()
        for one in slices(site.api, site.node, site.driver):
            site.api.delete(RESOURCE_SLICES, one["metadata"]["name"])
        site.api.delete(DEVICE_CLASSES, site.device_class)


@contextmanager
def _agent(site: PluginSite, known: set[str], options: tuple[str, ...]) -> Iterator[None]:
    command = (
        *(sys.executable, "-m", "agent", f"--kubeconfig={site.kubeconfig}", f"--node-name={site.node}"),
        *(f"--driver-name={site.driver}", f"--simulated={site.node_file}"),
        *(f"--machine={site.machine_dir}", "--no-composite", *options),
    )
    log = site.folder / "agent.log"
    with log.open("wb") as out, subprocess.Popen(command, stderr=out, cwd=ROOT) as process:
        try:
            eventually(
                lambda: known <= devices(site.api, site.node, site.driver).keys(),
                f"{known} are published: {log}",
                60.0,
            )
            yield
        finally:
            process.terminate()


def ask(
    site: PluginSite,
    name: str,
    namespace: str,
    expression: str,
    capacity: Document | None = None,
    command: tuple[str, ...] = ("sleep", "100000"),
) -> None:
    """Make a claim for one device and a pod with it. Shape: ``capacity`` what it needs of a shared one."""
    selector = {"cel": {"expression": expression.replace("own", f'device.attributes["{site.driver}"]')}}
    wanted: Document = {"deviceClassName": site.device_class, "selectors": [selector]}
    if capacity is not None:
        wanted["capacity"] = {"requests": capacity}
    spec = {"devices": {"requests": [{"name": "r", "exactly": wanted}]}}
    site.api.create(RESOURCE_CLAIMS, {"metadata": {"name": name}, "spec": spec}, namespace)
    site.api.create(PODS, pod(name, command=command, claims={"gpu": name}), namespace)


def end(site: PluginSite, name: str, namespace: str) -> None:
    """Delete a pod and its claim."""
    site.delete_pod(namespace, name)
    site.api.delete(RESOURCE_CLAIMS, name, namespace)
