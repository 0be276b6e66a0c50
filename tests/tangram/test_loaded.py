"""A command loads what it uses, and a user waits for nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from agent.inventory.partitions import shipped_boards
from agent.node_options import SHIPPED_BOARDS
from scheduler_core.frontends.partitions.table import HONOR, PREFER
from tangram.node_options.shown import POLICIES

PROGRAM = """
import sys
from tangram.__main__ import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*(name for name in sys.modules if name in {unwanted!r}), file=sys.stderr)
"""
MACHINES = "agent.inventory.describe"
CLUSTERS = "kube_api"
CEL_TYPES = "scheduler_core.cel.parse.checker"


@pytest.fixture(scope="module")
def slices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with one small claim and the slices of a device that it gets."""
    file = tmp_path_factory.mktemp("loaded") / "slices.yaml"
    device = {"name": "gpu-0", "attributes": {"type": {"string": "gpu"}}}
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    slice_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "node-1"},
        "spec": {"driver": "tangram.dev", "nodeName": "node-1", "pool": pool, "devices": [device]},
    }
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "one", "namespace": "default", "uid": "u1"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]}},
    }
    expression = "device.driver == 'tangram.dev' && device.attributes['tangram.dev'].type == 'gpu'"
    selector = {"cel": {"expression": expression}}
    class_ = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [selector]},
    }
    file.write_text(yaml.safe_dump_all((slice_, claim, class_), width=1000))
    return file


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], {MACHINES, CLUSTERS, CEL_TYPES, "yaml", "rich"}),
        (["--help"], {MACHINES, CLUSTERS, CEL_TYPES, "yaml"}),
        (["show", "-f"], {MACHINES, CLUSTERS, CEL_TYPES, "yaml", "scheduler_core.books.matrix"}),
        (["top", "-f"], {MACHINES, CLUSTERS, CEL_TYPES, "yaml"}),
        (["explain", "-f"], {MACHINES, CLUSTERS, CEL_TYPES, "yaml"}),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_a_command_does_not_load_what_it_does_not_use(
    arguments: list[str], unwanted: set[str], slices: Path
) -> None:
    given = [*arguments, str(slices)] if arguments[-1] == "-f" else arguments

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(unwanted=unwanted), *given],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout
    assert done.stderr.strip() == ""


def test_what_a_process_leaves_at_its_end_is_not_searched_for_garbage() -> None:
    program = (
        "import atexit, gc, sys\n"
        "from tangram.__main__ import main\n"
        "atexit.register(lambda: print(gc.get_freeze_count() > 0))\n"  # the first one is called last
        "main({arguments})\n"
    )

    def frozen(arguments: str) -> str:
        code = program.format(arguments=arguments)
        done = subprocess.run(
            [sys.executable, "-c", code, "--version"], capture_output=True, text=True, check=True
        )
        return done.stdout.splitlines()[-1]

    assert frozen("") == "True"
    assert frozen("['--version']") == "False"  # the caller goes on


def test_the_help_names_the_boards_whose_tables_are_shipped() -> None:
    assert shipped_boards() == SHIPPED_BOARDS


def test_the_policies_of_partitions_that_can_be_chosen_are_those_that_are_understood() -> None:
    assert POLICIES == (HONOR, PREFER)
