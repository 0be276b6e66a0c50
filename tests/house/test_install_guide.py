"""What the install guide says of partitions can be applied as it stands, and both programs take it."""

import re
from pathlib import Path

import pytest
import yaml

from agent import options as agent_options
from agent.inventory.table_files import read_table
from plugin import arguments as plugin_arguments

GUIDE = Path(__file__).parents[2] / "docs/install.md"
MANIFESTS = Path(__file__).parents[2] / "deploy/manifests"
CONTAINER = re.compile(r"/spec/template/spec/containers/([01])/args/-")


@pytest.fixture(params=[False, True], ids=["as it stands", "with what is commented"])
def arguments(request):
    blocks = re.findall(r"^```\w*\n(.*?)^```\n", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (one for one in blocks if "--partitions=" in one)
    if request.param:
        block = block.replace("# - {op", "- {op")
    (patch,) = yaml.safe_load(block)["patches"]
    assert patch["target"] == {"kind": "DaemonSet", "name": "tangram"}
    found = {"0": [], "1": []}
    for operation in yaml.safe_load(patch["patch"]):
        found[CONTAINER.fullmatch(operation["path"])[1]].append(operation["value"])
    return found


def test_agent_and_plugin_are_given_the_same_table(arguments):
    given = [
        agent_options.parser().parse_args(arguments["0"]),
        plugin_arguments.parser().parse_args(arguments["1"]),
    ]

    tables = [read_table(one.partitions, one.partition_policy) for one in given]

    assert arguments["0"] == arguments["1"]
    assert tables[0] is not None
    assert tables[0] == tables[1]


def test_the_quota_of_the_guide_limits_every_class_that_ships():
    blocks = re.findall(r"^```\w*\n(.*?)^```\n", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    (block,) = (one for one in blocks if "kind: ResourceQuota" in one)
    classes = yaml.safe_load_all((MANIFESTS / "base/device-classes/device-classes.yaml").read_text())

    limits = yaml.safe_load(block)["spec"]["hard"]

    assert limits.keys() == {
        f"{one['metadata']['name']}.deviceclass.resource.k8s.io/devices" for one in classes if one
    }
