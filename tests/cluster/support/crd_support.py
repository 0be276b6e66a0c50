"""The definition of CompositeResourceSlices, as it is shipped, in whatever cluster the tests run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml
from agent_support import COMPOSITES, is_installed
from cluster_support import eventually

from kube_api import AlreadyExists, KubeApi, Resource

ROOT = Path(__file__).parents[3]
DEFINITIONS = Resource.of("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions")
DEFINITION = yaml.safe_load((ROOT / "deploy/manifests/base/crd.yaml").read_text())


def install(api: KubeApi) -> None:
    """Install the definition where it is not there."""
    if is_installed(api, COMPOSITES):
        return
    with suppress(AlreadyExists):  # it is there and not served yet
        api.create(DEFINITIONS, DEFINITION)
    eventually(lambda: is_installed(api, COMPOSITES), "the definition is served")


def uninstall(api: KubeApi) -> None:
    """Take the definition away, and every object of it."""
    api.delete(DEFINITIONS, DEFINITION["metadata"]["name"])
    eventually(lambda: not is_installed(api, COMPOSITES), "the definition is gone")


@contextmanager
def installed_definition(api: KubeApi) -> Iterator[None]:
    """Have it installed while the block is open, and longer only where it was there before."""
    was_there = is_installed(api, COMPOSITES)
    install(api)
    yield
    if not was_there:
        uninstall(api)
