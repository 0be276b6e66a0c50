"""What reusing rests on, shown by the kernel that runs: an entry of sysfs has an inode number of its own."""

from __future__ import annotations

import subprocess

import pytest

SCRIPT = """
mount -t sysfs none "$1"
ls_net() { ls -i1 "$1/class/net"; echo end; }
ip link add va type veth peer name vb
ls_net "$1"
ip link set va name vc
ls_net "$1"
ip link del vc
ip link add va type veth peer name vb
ls_net "$1"
"""


@pytest.fixture
def listings(tmp_path, why_no_namespaces):
    """Return the inode numbers in the class ``net``: at first, after a renaming, and with links made anew."""
    if why_no_namespaces:
        pytest.skip(why_no_namespaces)
    command = ["unshare", "--net", "--mount", "sh", "-ec", SCRIPT, "sh", str(tmp_path)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    if "mount:" in tried.stderr:
        pytest.skip(f"no sysfs can be mounted here: {tried.stderr.strip()}")
    parts = [part.split() for part in tried.stdout.split("end\n")[:3]]
    return [dict(zip(part[1::2], map(int, part[::2]), strict=True)) for part in parts]


def test_a_link_that_is_renamed_keeps_its_number_under_the_new_name(listings):
    first, renamed, _ = listings

    assert renamed == {"lo": first["lo"], "vb": first["vb"], "vc": first["va"]}


def test_a_link_that_is_made_anew_has_a_number_that_no_link_had(listings):
    first, _, anew = listings

    assert anew.keys() == first.keys()
    assert {anew["va"], anew["vb"]}.isdisjoint(first.values())
