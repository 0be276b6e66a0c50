"""The definitions of our own kinds, as they are shipped, in whatever cluster the tests run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml
from agent_support import COMPOSITES, is_installed
from cluster_support import Document, eventually

from kube_api import AlreadyExists, KubeApi, Resource

ROOT = Path(__file__).parents[3]
DEFINITIONS = Resource.of("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
CLASSES = Resource.of("tangram.dev/v1alpha1", "ResourceClass", "resourceclasses")
POOLS = Resource.of("tangram.dev/v1alpha1", "MultiNodePool", "multinodepools")
_FILES = {
    COMPOSITES: "base/crd.yaml",
    CLASSES: "base/crd-resource-class.yaml",
    POOLS: "multi-node-pools/crd.yaml",
}


def definition(resource: Resource) -> Document:
    """Return the definition of a kind, as it is shipped."""
    found: Document = yaml.safe_load((ROOT / "deploy/manifests" / _FILES[resource]).read_text())
    return found


def install(api: KubeApi, resource: Resource = COMPOSITES) -> None:
    """Install the definition of a kind where it is not there."""
    if is_installed(api, resource):
        return
    with suppress(AlreadyExists):  # it is there and not served yet
        api.create(DEFINITIONS, definition(resource))
    eventually(lambda: is_installed(api, resource), "the definition is served")


def uninstall(api: KubeApi, resource: Resource = COMPOSITES) -> None:
    """Take the definition away, and every object of it."""
    api.delete(DEFINITIONS, definition(resource)["metadata"]["name"])
    eventually(lambda: not is_installed(api, resource), "the definition is gone")


@contextmanager
def installed_definition(api: KubeApi, resource: Resource = COMPOSITES) -> Iterator[None]:
    """Have it installed while the block is open, and longer only where it was there before."""
    was_there = is_installed(api, resource)
    install(api, resource)
    yield
    if not was_there:
        uninstall(api, resource)
