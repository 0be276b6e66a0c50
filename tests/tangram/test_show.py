"""``tangram show``: what a node publishes."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.hardware.simulated import SimulatedMachine, load_node, shipped_nodes
from daemon.document import MAX_DEPTH
from daemon.yaml_text.lines import documents_of_lines
from scheduler_core.base.limits import COMPOSITE_ITEMS_BELOW, DEVICES_WITH_COUNTERS
from tangram.__main__ import main

BENCHMARKS = Path(__file__).parents[2] / "docs/benchmarks.md"


@pytest.mark.parametrize("name", shipped_nodes())
def test_every_shipped_machine_is_drawn_with_its_devices_and_sizes(tangram, shipped, name):
    answer = tangram("show", "--machine", shipped(name))

    assert answer.status == 0
    assert answer.out.startswith(name)
    assert f"in pool tangram.dev/{name}" in answer.out
    assert "composite, flattened" in answer.out


def test_the_pcie_tree_hangs_gpus_and_nics_below_their_switch(tangram, shipped):
    lines = tangram("show", "--machine", shipped("dgx-a100")).out.splitlines()

    switch = next(number for number, line in enumerate(lines) if "switch 0000:01:00.0" in line)

    assert "NUMA node 3, pci0000:00" in lines[switch - 2]
    assert "root port 0000:00:01.1" in lines[switch - 1]
    below = [line.strip("│├└─ ").partition("  ")[0] for line in lines[switch + 1 : switch + 8]]
    assert below == [
        "nic-0000-12-00-0",
        "switch 0000:05:00.0",
        "gpu-0",
        "switch 0000:0a:00.0",
        "nic-0000-0c-00-0",
        "switch 0000:0d:00.0",
        "gpu-1",
    ]


def test_plain_text_has_no_colours_and_no_trailing_blanks(tangram, shipped):
    answer = tangram("show", "--machine", shipped("a30x4"))

    assert "\x1b" not in answer.out
    assert [line for line in answer.out.splitlines() if line != line.rstrip()] == []


def test_a_machine_in_a_directory_is_shown_as_it_is_now(tangram, machine):
    gpu = machine.gpus.gpus()[1]
    machine.gpus.set_mig_mode(gpu.uuid, True)

    answer = tangram("show", "--machine", machine.directory)

    assert "MIG off" in next(line for line in answer.out.splitlines() if "gpu-0  " in line)
    assert "MIG on" in next(line for line in answer.out.splitlines() if "gpu-1  " in line)


def test_a_lost_gpu_is_told_and_its_neighbour_shown(tangram, machine):
    tangram("node", "fault", "--machine", machine.directory, "gpu-0:lost")

    answer = tangram("show", "--machine", machine.directory)

    assert answer.status == 0
    assert "unreadable: " in answer.out
    assert "26 devices in pool" in answer.out


def test_a_gpu_that_is_stuck_in_mig_mode_is_shown_as_one_that_is_only_cut(tangram, tmp_path):
    machine = SimulatedMachine.open(load_node("a100x2-passthrough"), tmp_path / "machine")

    rows = tangram("show", "--machine", machine.directory, "--json").json["devices"]

    assert [row["names"] for row in rows if row["kind"] == "gpu (only cut)"] == [["gpu-1"]]
    assert [row["names"] for row in rows if row["kind"] == "gpu"] == [["gpu-0"]]


@pytest.mark.parametrize("name", shipped_nodes())
@pytest.mark.parametrize("form", ["v1", "v1-1.34"])
def test_v1_slices_stay_within_the_limits_of_an_api_server(tangram, shipped, name, form):
    slices = tangram("show", "--machine", shipped(name), "--as", form, "--json").json

    assert {one["apiVersion"] for one in slices} == {"resource.k8s.io/v1"}
    assert {one["spec"]["pool"]["resourceSliceCount"] for one in slices} == {len(slices)}
    for one in slices:
        assert len(one["spec"].get("devices", [])) <= DEVICES_WITH_COUNTERS
        assert form == "v1-1.34" or not ("devices" in one["spec"] and "sharedCounters" in one["spec"])


@pytest.mark.parametrize("name", shipped_nodes())
def test_composite_slices_stay_below_the_limit_of_items(tangram, shipped, name):
    slices = tangram("show", "--machine", shipped(name), "--as", "composite", "--json").json

    sizes = [len(one["spec"].get("deviceMixins", [])) + len(one["spec"]["devices"]) for one in slices]

    assert max(sizes) < COMPOSITE_ITEMS_BELOW


def test_the_driver_name_decides_how_devices_are_published(tangram):
    answer = tangram("show", "--node", "a100x2", "--driver-name", "gpu.nvidia.com", "--as", "v1", "--json")

    assert {one["spec"]["driver"] for one in answer.json} == {"gpu.nvidia.com"}


@pytest.mark.parametrize("form", ["composite", "v1"])
def test_what_show_prints_it_also_reads(tangram, written, form):
    slices = written("slices.yaml", tangram("show", "--node", "a100x2", "--as", form).out)

    answer = tangram("show", "-f", slices)

    assert answer.status == 0
    assert "52 devices in pool tangram.dev/a100x2" in answer.out


def test_slices_in_files_turn_into_the_other_dialect(tangram, written):
    composite = written("slices.yaml", tangram("show", "--node", "a30x4", "--as", "composite").out)

    turned = tangram("show", "-f", composite, "--as", "v1", "--json").json

    assert turned == tangram("show", "--node", "a30x4", "--as", "v1", "--json").json


def test_a_device_that_breaks_a_rule_is_shown_with_the_reason(tangram, written):
    slices = tangram("show", "--node", "a100x2", "--as", "composite", "--json").json
    slices[0]["spec"]["devices"][3]["composite"]["includes"] = ["nobody"]
    broken = written("slices.json", json.dumps({"kind": "List", "items": slices}))

    answer = tangram("show", "-f", broken)

    assert answer.status == 0
    assert "51 devices in pool" in answer.out
    assert "nobody" in answer.out


def test_json_has_the_inventory_the_devices_and_the_sizes(tangram):
    answer = tangram("show", "--node", "no-gpu", "--json")

    assert answer.json["inventory"]["versions"] is None
    assert {row["kind"] for row in answer.json["devices"]} == {"nic", "vf"}
    assert [size["form"] for size in answer.json["sizes"]][:2] == ["composite", "composite, flattened"]


def test_what_is_withheld_is_listed_with_the_reason_and_marked_in_the_tree(tangram, written):
    nic = 'bdf: "0000:19:00.0", model: connectx-6-dx, link: ethernet,'
    text = tangram("node", "show", "a30x4").out.replace(nic, f"{nic} default_route: true,")
    node = written("mine.yaml", text)

    lines = tangram("show", "--node", node).out.splitlines()
    (withheld,) = tangram("show", "--node", node, "--json").json["withheld"]

    heading = lines.index("Withheld: not offered, since they cannot be prepared")
    reason = "its interface enp25s0 carries the node's default route (enp25s0)"
    assert lines[heading + 3].split()[:3] == ["nic", "1", "nic-0000-19-00-0"]
    assert reason in lines[heading + 3]
    (mark,) = (line for line in lines if "withheld as a whole: default-route" in line)
    assert "nic-0000-19-00-0  enp25s0" in mark
    assert (withheld["device"], withheld["kind"]) == ("nic-0000-19-00-0", "nic")
    assert (withheld["reason"]["cause"], withheld["reason"]["text"]) == ("default-route", reason)


def test_a_node_that_withholds_nothing_says_nothing_of_it(tangram):
    assert "ithheld" not in tangram("show", "--node", "a100x2").out


def test_a_node_is_shown_by_name_or_by_the_path_of_its_file(tangram, written):
    path = written("mine.yaml", tangram("node", "show", "a100x2").out)

    by_path = tangram("show", "--node", path)

    assert by_path.status == 0
    assert by_path.out == tangram("show", "--node", "a100x2").out


@pytest.fixture(scope="module")
def sizes() -> dict[str, Any]:
    """Run ``show --sizes`` once: as text and as JSON."""
    found = {}
    for form in ([], ["--json"]):
        with redirect_stdout(StringIO()) as out:
            assert main(["show", "--sizes", *form]) == 0
        found["json" if form else "text"] = out.getvalue()
    return {"text": found["text"], "json": json.loads(found["json"])}


def test_the_table_of_sizes_has_a_row_per_shipped_machine(sizes):
    rows = sizes["text"].splitlines()[2:]

    names = [row.split()[1] for row in rows]

    assert names == list(shipped_nodes())


def test_on_machines_with_mig_the_composite_form_takes_at_most_60_percent_of_the_flattened(sizes, tangram):
    with_mig = [one["name"] for one in tangram("node", "list", "--json").json if one["mig"] == "yes"]
    # GPUs passed through with MIG off, which nothing can change in the machine.
    whole = {"azure-nd-a100", "aws-p4d"}
    with_mig = [name for name in with_mig if name not in whole]
    forms = {name: sizes["json"][name]["sizes"] for name in with_mig}

    shares = {name: form[0]["totalBytes"] / form[1]["totalBytes"] for name, form in forms.items()}

    assert {name for name, share in shares.items() if share > 0.6} == set()


def test_the_page_of_benchmarks_has_the_table_of_sizes(sizes):
    page = BENCHMARKS.read_text(encoding="utf-8")

    _, opening, rest = page.partition("<!-- sizes -->\n")
    table, closing, _ = rest.partition("<!-- /sizes -->")

    assert [opening, closing] == ["<!-- sizes -->\n", "<!-- /sizes -->"]
    assert table.strip() == sizes["text"].strip()


@pytest.mark.parametrize(("columns", "width"), [("0", 80), ("39", 80), ("40", 40), ("100", 100)])
def test_a_width_that_nobody_can_read_is_taken_for_80(tangram, monkeypatch, shipped, columns, width):
    monkeypatch.setenv("COLUMNS", columns)

    answer = tangram("show", "--machine", shipped("l40s"))

    assert "─" * width in answer.out.splitlines()
    assert "gpu-0" in answer.out


def test_what_goes_into_a_pipe_is_not_wrapped(tangram, shipped):
    answer = tangram("show", "--machine", shipped("no-gpu"))

    (sentence,) = [line for line in answer.out.splitlines() if line.startswith("left out: ")]
    assert len(sentence) > 120
    assert sentence.endswith("if the node has such devices")


@pytest.mark.parametrize("form", ["composite", "v1", "v1-1.34"])
def test_slices_as_they_are_printed_are_read_without_a_parser_of_yaml(tangram, form):
    text = tangram("show", "--node", "dgx-a100", "--as", form).out

    built = documents_of_lines(text, MAX_DEPTH)

    assert [one.content for one in built] == list(yaml.load_all(text, yaml.CSafeLoader))


def test_the_page_of_kinds_has_every_attribute_that_is_published(tangram, written):
    sizes = {"1": [0], "2": [0, 1]}
    table = {size: [{"minors": minors, "ringBusBandwidth": "400G"}] for size, minors in sizes.items()}
    partitions = written("table.json", json.dumps(table))
    modes = ("--gpu-modes", "all=whole,mig,shared,mps", "--compute-instances", "0", "--imex-channels", "2")
    machines = (
        ("--node", "hgx-h100", "--partitions", partitions, *modes),
        ("--node", "dgx-a100", "--multus-resource", "example.com/vf"),
    )
    published = {
        name
        for machine in machines
        for one in tangram("show", *machine, "--as", "v1", "--json").json
        for device in one["spec"].get("devices", ())
        for name in device["attributes"]
    }

    named = re.findall(r"`([\w./]+)`", BENCHMARKS.with_name("kinds.md").read_text())

    assert {"allocationScore", "ringBusBandwidth", "channel", "k8s.cni.cncf.io/deviceID"} <= published
    assert published <= set(named)
