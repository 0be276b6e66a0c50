"""``tangram show --vfs``: what a node offers where VFs are made for claims."""

import pytest

NIC = "nic-0000-19-00-1"


def test_vfs_on_demand_are_shown_before_they_exist(tangram):
    shown = tangram("show", "--node", "a30x4", "--vfs", "0000:19:00.1=on-demand:3", "--as", "composite")

    assert [f"name: {NIC}-vf-{index}" in shown.out for index in range(4)] == [True, True, True, False]


def test_a_rule_that_a_nic_does_not_meet_is_shown_as_left_out(tangram):
    shown = tangram("show", "--node", "a30x4", "--vfs", "all=on-demand:5")

    assert f"left out: {NIC}: 5 VFs are asked for, and it can have 4" in " ".join(shown.out.split())


@pytest.mark.parametrize("source", [["--sizes"], ["--file", "slices.yaml"]])
def test_the_option_is_refused_where_it_says_nothing(tangram, source):
    refused = tangram("show", *source, "--vfs", "all=keep")

    assert refused.status == 2
    assert "--vfs" in refused.err
