"""``tangram allocate`` and devices of every make: of several nodes, cut twice, leading nowhere, shared."""

from __future__ import annotations

import json

import pytest

NESTED = """
kind: ResourceSlice
metadata: {name: tpus}
spec:
  driver: tpu.example.com
  pool: {name: tpus}
  nodeSelectionDelegated: true
  devices:
  - name: four-by-four
    composite: {allNodes: true, capacity: {tpus: 16}, consumesCapacityFrom: [{name: four-by-four}]}
  - name: two-by-four
    composite:
      nodeSelector:
        nodeSelectorTerms:
        - matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [node-1, node-2]}]
      capacity: {tpus: 8}
      consumesCapacityFrom: [{name: four-by-four}]
  - name: two-by-two
    composite: {nodeName: node-1, capacity: {tpus: 4}, consumesCapacityFrom: [{name: two-by-four}]}
---
kind: DeviceClass
metadata: {name: tpu}
---
kind: ResourceClaim
metadata: {name: mine}
spec:
  devices:
    requests:
    - name: eight
      exactly:
        deviceClassName: tpu
        selectors: [{cel: {expression: 'device.capacity["tpu.example.com"].tpus == quantity("8")'}}]
"""


def test_a_device_of_several_nodes_is_given_with_their_selector(tangram, written):
    answer = tangram("allocate", "-f", written("tpus.yaml", NESTED), "--node-name", "node-2", "--json")

    (term,) = answer.json["claims"][0]["status"]["allocation"]["nodeSelector"]["nodeSelectorTerms"]
    assert answer.devices == ["two-by-four"]
    assert term["matchExpressions"][0]["values"] == ["node-1", "node-2"]


PIECE = """  - name: {}
    composite: {{nodeName: node-1, capacity: {{tpus: 4}}, consumesCapacityFrom: [{{name: two-by-four}}]}}
"""
"""One more part of a device that is itself cut. Three of them do not all fit in it."""


def test_a_pool_that_v1_cannot_say_is_shown_with_the_reason(tangram, written):
    slices, _, rest = NESTED.partition("---\n")
    path = written("tpus.yaml", f"{slices}{PIECE.format('second')}{PIECE.format('third')}---\n{rest}")

    shown, turned = tangram("show", "-f", path), tangram("show", "-f", path, "--as", "v1")

    assert shown.status == 0
    assert "two-by-four is cut into devices and itself cut from four-by-four" in " ".join(shown.out.split())
    assert (turned.status, turned.out) == (2, "")
    assert "cannot be projected" in turned.err


LOOSE_ENDS = """
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  pool: {name: p}
  nodeName: n
  devices:
  - {name: good, composite: {}}
  - {name: bad, composite: BODY}
---
kind: DeviceClass
metadata: {name: any}
---
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: r, deviceClassName: any}]}}
"""


def test_a_device_that_leads_nowhere_is_told_and_its_neighbour_is_allocated(tangram, tmp_path):
    path = tmp_path / "all.yaml"
    path.write_text(LOOSE_ENDS.replace("BODY", "{includes: [{name: nope}]}"))

    answer = tangram("allocate", "-f", path)

    assert answer.status == 0
    assert "good" in answer.out
    assert "bad is left out: includes unknown mixin 'nope'" in answer.err


def test_a_device_that_breaks_a_rule_of_its_own_is_left_out_alone(tangram, tmp_path):
    path = tmp_path / "all.yaml"
    path.write_text(LOOSE_ENDS.replace("BODY", "{capacity: {memory: 1Zi}}"))

    answer = tangram("allocate", "-f", path)

    assert answer.status == 0
    assert "good" in answer.out
    assert "bad is left out: " in answer.err
    assert "spec.devices[1].composite.capacity.memory: '1Zi' must be a Kubernetes quantity" in answer.err


MIXINS = """\
kind: CompositeResourceSlice
metadata: {name: s}
spec:
  driver: gpu.example.com
  nodeName: n
  pool: {name: p, resourceSliceCount: 1}
  deviceMixins:
  - {name: used, composite: {capacity: {memory: 1Zi}}}
  - {name: unused, composite: {attributes: {"no name": {string: x}}}}
  devices:
  - {name: good, composite: {}}
  - {name: bad, composite: {includes: [{name: used}]}}
"""


@pytest.mark.parametrize("form", [(), ("--json",), ("--as", "v1"), ("--as", "composite")])
def test_show_names_every_device_and_mixin_that_is_left_out_once(tangram, written, form):
    answer = tangram("show", "-f", written("s.yaml", MIXINS), *form)

    text = " ".join((answer.out + answer.err).split())
    assert answer.status == 0
    assert text.count("spec.deviceMixins[0].composite.capacity.memory: '1Zi'") == 1
    assert text.count("spec.deviceMixins[1].composite.attributes: 'no name'") == 1


def test_slices_that_cannot_be_used_are_refused_together_and_apart(tangram, written):
    """Two mistakes are two sentences of one refusal."""
    text = MIXINS.replace("{name: bad,", "{name: good,")
    other = text.replace("name: s}", "name: t}").replace("name: p,", "name: q,")

    claim = LOOSE_ENDS.rpartition("---\n")[2]
    answer = tangram("allocate", "-f", written("s.yaml", f"{text}---\n{other}---\n{claim}"))

    assert answer.status == 2
    said = "CompositeResourceSlice {}: spec.devices: 'good': names must be unique"
    assert answer.err == f"tangram: {said.format('s')}; {said.format('t')}\n"


def test_shares_of_a_device_have_ids_and_leave_the_rest_to_others(tangram, written):
    pool = {"name": "n", "generation": 1, "resourceSliceCount": 1}
    capacity = {"m": {"value": "4", "requestPolicy": {"default": "3"}}}
    wide = {"name": "wide", "allowMultipleAllocations": True, "capacity": capacity}
    objects = [
        {
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"driver": "d.example.com", "pool": pool, "nodeName": "n", "devices": [wide]},
        },
        {"kind": "DeviceClass", "metadata": {"name": "any"}, "spec": {}},
    ]

    def claim(name, amount=None):
        exactly = {"deviceClassName": "any"} | ({"capacity": {"requests": {"m": amount}}} if amount else {})
        requests = [{"name": "r", "exactly": exactly}]
        return {
            "kind": "ResourceClaim",
            "metadata": {"name": name},
            "spec": {"devices": {"requests": requests}},
        }

    def allocated(*more):
        return tangram(
            "allocate",
            "--json",
            "-f",
            written("o.json", json.dumps({"kind": "List", "items": [*objects, *more]})),
        )

    first, again = allocated(claim("a")), allocated(claim("a"))
    held = claim("a") | {"status": first.json["claims"][0]["status"]}
    too_much, fitting = allocated(held, claim("b", "2")), allocated(held, claim("b", "1"))

    (share,) = first.json["claims"][0]["status"]["allocation"]["devices"]["results"]
    (other,) = fitting.json["claims"][0]["status"]["allocation"]["devices"]["results"]
    assert share["consumedCapacity"] == {"m": "3"}
    assert first.json == again.json
    assert share["shareID"] != other["shareID"]
    assert (too_much.status, fitting.status) == (1, 0)
