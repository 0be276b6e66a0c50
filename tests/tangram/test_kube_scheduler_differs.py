"""What fits here and not with kube-scheduler is said by ``allocate``, ``explain`` and ``validate``."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

FILES = Path(__file__).parents[1] / "data/kube_scheduler"
WOULD_NOT = "kube-scheduler would not give it"
COMMANDS = pytest.mark.parametrize("command", ["allocate", "explain", "validate"])


def output(answer):
    return " ".join((answer.out + answer.err).split())


def documents(name):
    return list(yaml.safe_load_all((FILES / f"{name}.yaml").read_text()))


def text_of(*documents):
    return yaml.safe_dump_all(documents)


@COMMANDS
@pytest.mark.parametrize(
    ("name", "asked", "listed"),
    [("C-capacity-key", "a.b/m", "m"), ("C2-capacity-key-reverse", "m", "a.b/m")],
)
def test_a_capacity_that_the_devices_write_otherwise(tangram, command, name, asked, listed):
    answer = tangram(command, "-f", FILES / f"{name}.yaml")

    assert answer.status == 0
    names = f"it asks for the capacity {asked}, and the devices list {listed};"
    said = f"{WOULD_NOT} a device of pool a.b/p0: {names}"
    assert said in output(answer)
    assert f"ask for {listed}" in output(answer)


@COMMANDS
@pytest.mark.parametrize(("name", "right"), [("C-capacity-key", "m"), ("C2-capacity-key-reverse", "a.b/m")])
def test_a_capacity_that_both_write_alike(tangram, written, command, name, right):
    *others, claim = documents(name)
    claim["spec"]["devices"]["requests"][0]["exactly"]["capacity"]["requests"] = {right: "2"}

    answer = tangram(command, "-f", written("right.yaml", text_of(*others, claim)))

    assert answer.status == 0
    assert "kube-scheduler" not in output(answer)


def test_devices_of_another_driver_do_not_count(tangram, written):
    """Their capacities belong to their driver, which the request does not ask for."""
    *others, claim = documents("C-capacity-key")
    other = yaml.safe_load(yaml.safe_dump(others[1]).replace("a.b", "b.b").replace("name: s", "name: t"))

    answer = tangram("validate", "-f", written("two.yaml", text_of(*others, other, claim)))

    assert output(answer).count(WOULD_NOT) == 1


@COMMANDS
def test_an_ordinary_claim_after_admin_access_to_the_same_device(tangram, command):
    answer = tangram(command, "-f", FILES / "A2-admin-then-ordinary.yaml")

    assert answer.status == 0
    assert f"request r: {WOULD_NOT}" in output(answer)
    assert "with admin access already (request r of claim a-monitor); list that claim last" in output(answer)


@COMMANDS
def test_an_ordinary_claim_before_admin_access(tangram, written, command):
    *others, monitor, work = documents("A2-admin-then-ordinary")

    answer = tangram(command, "-f", written("turned.yaml", text_of(*others, work, monitor)))

    assert answer.status == 0
    assert "kube-scheduler" not in output(answer)


@pytest.mark.parametrize("order", ["monitor work", "work monitor"])
def test_a_pod_lists_the_claim_with_admin_access_first_or_last(tangram, written, order):
    *others, monitor, work = documents("A2-admin-then-ordinary")
    claims = {"monitor": "a-monitor", "work": "b-work"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {
            "resourceClaims": [{"name": one, "resourceClaimName": claims[one]} for one in order.split()],
            "containers": [{"name": "c", "image": "busybox", "resources": {"claims": [{"name": "work"}]}}],
        },
    }

    answer = tangram("validate", "-f", written("pod.yaml", text_of(*others, monitor, work, pod)))

    assert (WOULD_NOT in output(answer)) is (order == "monitor work")


def test_a_shareable_device_is_shared_with_admin_access_by_both(tangram, written):
    *others, monitor, work = documents("A2-admin-then-ordinary")
    shared = yaml.safe_load(yaml.safe_dump(others[1]))
    shared["spec"]["devices"][0]["allowMultipleAllocations"] = True

    answer = tangram(
        "allocate", "-f", written("shared.yaml", text_of(others[0], shared, others[2], monitor, work))
    )

    assert answer.status == 0
    assert "kube-scheduler" not in output(answer)
