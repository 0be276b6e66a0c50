"""The examples under deploy/: documentation that has to work."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tangram.classes import device_classes
from tangram.documents import read_documents
from tangram.objects import read_objects

FILES = sorted(Path(__file__).parents[2].glob("deploy/examples/*.yaml"))
KEP_CLAIM = Path(__file__).parents[1] / "data" / "kep-4815" / "mig-claim.yaml"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_example_can_be_read(path):
    objects = read_objects(read_documents(str(path)))

    assert objects.claims or objects.classes


def test_the_classes_of_the_examples_are_those_that_the_demo_uses(examples):
    written = list(yaml.safe_load_all((examples / "device-classes.yaml").read_text()))

    assert written == list(device_classes("tangram.dev"))


def test_the_classes_under_the_keps_driver_name_are_those_that_the_demo_uses(examples):
    written = list(yaml.safe_load_all((examples / "nvidia-device-classes.yaml").read_text()))

    made = {found["metadata"]["name"]: found for found in device_classes("gpu.nvidia.com")}

    assert {found["metadata"]["name"]: found for found in written}.items() <= made.items()


def test_the_claim_of_the_kep_is_unchanged_but_for_its_name(examples):
    ours = yaml.safe_load((examples / "kep-mig-claim.yaml").read_text())
    theirs = yaml.safe_load(KEP_CLAIM.read_text())

    assert ours == theirs | {"metadata": {"name": "kep-mig-devices"}}
