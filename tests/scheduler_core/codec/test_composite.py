"""Every limit and one-of of the composite dialect, and what a mistake spoils: slice, pool or device."""

import copy

import pytest

from scheduler_core.base.errors import InvalidSlice
from scheduler_core.codec.composite import decode_slice
from scheduler_core.codec.composite_encoding import encode_slice
from scheduler_core.dialects.mixins import flatten

DRIVER = "gpu.example.com"


def slice_of(devices=(), mixins=(), **spec):
    base = {"driver": DRIVER, "pool": {"name": "node-1"}, "nodeName": "node-1"}
    return {
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": base | {"devices": list(devices), "deviceMixins": list(mixins)} | spec,
    }


def composite(name="a", **body):
    return {"name": name, "composite": body}


def broken(device, **spec):
    """Return why the device ``a`` is set aside; its neighbour must not be."""
    decoded = decode_slice(slice_of([device, composite("neighbour", **spec.pop("neighbour", {}))], **spec))
    assert [other.name for other in decoded.devices] == ["neighbour"]
    return decoded.broken_devices["a"]


@pytest.mark.parametrize("form", [{"quantity": "40Gi"}, {"value": "40Gi"}, "40Gi"])
def test_every_printed_form_of_a_capacity_is_read(form):
    decoded = decode_slice(slice_of([composite(capacity={"memory": form})]))

    assert str(decoded.devices[0].capacity[f"{DRIVER}/memory"]) == "40Gi"


@pytest.mark.parametrize(
    "form",
    [
        {"quantity": "1", "value": "1"},
        {},
        {"amount": "1"},
        ["1"],
        None,
        True,
        float("inf"),
        {"quantity": "1Zi"},
    ],
)
def test_any_other_form_of_a_capacity_is_refused_by_its_path(form):
    reason = broken(composite(capacity={"memory": form}))

    assert "spec.devices[0].composite.capacity.memory" in reason


def test_a_slice_encodes_to_one_form_and_comes_back(kep):
    listing = decode_slice(slice_of() | {"spec": slice_of()["spec"] | kep("listing")})

    again = decode_slice(encode_slice(listing))

    assert again == listing
    assert encode_slice(again) == encode_slice(listing)


@pytest.mark.parametrize("kind", ["basic", "composite"])
def test_taints_of_a_device_are_its_own_and_come_back(kind):
    taint = {"key": "health.example/lost", "value": "79", "effect": "NoExecute"}
    taints = [taint | {"timeAdded": "2026-11-24T20:00:00Z"}, {"key": "other", "effect": "NoSchedule"}]
    part = composite("part", consumesCapacityFrom=[{"name": "a"}])
    decoded = decode_slice(slice_of([{"name": "a", kind: {"taints": taints}}, part]))

    assert encode_slice(decoded)["spec"]["devices"][0][kind]["taints"] == taints
    assert [(one.name, len(one.taints)) for one in flatten([decoded]).devices] == [("a", 2), ("part", 0)]


@pytest.mark.parametrize(
    ("taint", "rule"),
    [
        ({"key": "a"}, "effect"),
        ({"key": "a", "effect": "Evict"}, "must be one of None, NoSchedule, NoExecute"),
        ({"effect": "NoExecute"}, "key"),
        ({"key": "a", "effect": "NoExecute", "since": 1}, "unknown field"),
    ],
)
def test_a_taint_that_breaks_a_rule_sets_its_device_aside(taint, rule):
    reason = broken(composite(taints=[taint]))

    assert "spec.devices[0].composite.taints[0]" in reason
    assert rule in reason


def test_a_device_has_16_taints_at_most():
    assert "taints" in broken(composite(taints=[{"key": f"k{n}", "effect": "NoExecute"} for n in range(17)]))


def test_short_versions_are_read_and_printed_as_they_were():
    attributes = {"v": {"version": "560.35.03"}, "w": {"version": 12.6}}
    decoded = decode_slice(slice_of([composite(attributes=attributes)]))

    written = encode_slice(decoded)["spec"]["devices"][0]["composite"]["attributes"]
    assert written == {"v": {"version": "560.35.03"}, "w": {"version": "12.6"}}


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ({}, "exactly one of bool, int, string, version"),
        ({"int": 1, "string": "1"}, "exactly one of"),
        ({"int": "1"}, "must be an integer"),
        ({"int": True}, "must be an integer"),
        ({"bool": 1}, "must be true or false"),
        ({"string": "x" * 65}, "at most 64"),
        ({"version": "one"}, "must be a version"),
        ({"float": 1.0}, "unknown field"),
        (5, "must be an object"),
    ],
)
def test_an_attribute_has_exactly_one_value_of_its_type(value, rule):
    reason = broken(composite(attributes={"k": value}))

    assert rule in reason
    assert "attributes.k" in reason


@pytest.mark.parametrize("key", ["1a", "a b", "a/b/c", "/a", "x" * 33, "Example.com/a", ""])
def test_a_malformed_key_is_refused(key):
    assert "must be an identifier" in broken(composite(attributes={key: {"int": 1}}))


def test_own_keys_are_written_without_their_domain():
    assert "without their domain" in broken(composite(attributes={f"{DRIVER}/model": {"int": 1}}))


def test_the_same_key_in_both_forms_is_a_duplicate():
    both = {"model": {"int": 1}, f"{DRIVER}/model": {"int": 1}}

    assert "is listed twice" in broken(composite(attributes=both))


def test_foreign_keys_keep_their_domain():
    decoded = decode_slice(slice_of([composite(attributes={"other.com/model": {"int": 1}})]))

    assert dict(decoded.devices[0].attributes) == {"other.com/model": 1}


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({"includes": [{"name": "m"}] * 9}, "at most 8"),
        ({"consumesCapacityFrom": [{"name": "m"}] * 9}, "at most 8"),
        ({"includes": ["m"]}, "must be an object"),
        ({"includes": [{"named": "m"}]}, "unknown field"),
        ({"attributes": {f"k{i}": {"int": i} for i in range(33)}}, "at most 32"),
        (
            {
                "attributes": {f"k{i}": {"int": i} for i in range(20)},
                "capacity": {f"c{i}": "1" for i in range(13)},
            },
            "has 33 attributes and capacities; at most 32",
        ),
        ({"capacity": {"memory": {"value": "-1"}}}, "must not be negative"),
        ({"memory": "1"}, "unknown field"),
    ],
)
def test_a_device_beyond_a_limit_is_set_aside_and_its_neighbour_lives(body, rule):
    assert rule in broken(composite(**body))


@pytest.mark.parametrize(
    "device",
    [
        {"name": "a", "basic": {}, "composite": {}},
        {"name": "a", "basic": {"includes": [{"name": "m"}]}},
        {"name": "a", "composite": 3},
    ],
)
def test_a_device_is_either_basic_or_composite(device):
    assert broken(device)


@pytest.mark.parametrize("name", ["A", "a_b", "-a", "a-", "a" * 64, ".a", "a..b"])
def test_a_device_name_is_labels_joined_by_dots(name):
    decoded = decode_slice(slice_of([composite(name)]))

    assert "must be a DNS label" in decoded.broken_devices[name]


def test_basic_and_composite_devices_stand_side_by_side():
    decoded = decode_slice(slice_of([{"name": "a", "basic": {"capacity": {"m": "1"}}}, composite("b")]))

    assert [(device.name, device.is_basic) for device in decoded.devices] == [("a", True), ("b", False)]


@pytest.mark.parametrize(("mixins", "devices"), [(64, 64), (0, 128), (128, 0)])
def test_mixins_and_devices_together_are_fewer_than_128(mixins, devices):
    content = slice_of(
        [{"name": f"d{i}", "basic" if i % 2 else "composite": {}} for i in range(devices)],
        [{"name": f"m{i}", "composite": {}} for i in range(mixins)],
    )

    with pytest.raises(InvalidSlice, match=r"has 128 mixins and devices; .* fewer than 128"):
        decode_slice(content)

    content["spec"]["devices" if devices else "deviceMixins"].pop()
    assert decode_slice(content).problem is None


@pytest.mark.parametrize(
    "entry",
    [
        {"devices": [{"name": "a", "virtual": {}}]},
        {"devices": [{"name": "a"}]},
        {"mixins": [{"name": "a", "basic": {}}]},
        {"mixins": [{"name": "a"}]},
    ],
)
def test_an_unknown_kind_makes_the_pool_invalid_and_is_never_read_in_part(entry):
    entry = copy.deepcopy(entry)
    entry.setdefault("devices", []).append(composite("good"))

    pool = flatten([decode_slice(slice_of(**entry))])

    assert "kind" in pool.problem
    assert pool.devices == ()


@pytest.mark.parametrize(
    "spec",
    [
        {"nodeName": None},
        {"allNodes": True},
        {"nodeSelectionDelegated": True},
        {"nodeSelector": {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}},
    ],
)
def test_a_slice_selects_nodes_in_exactly_one_way(spec):
    with pytest.raises(InvalidSlice, match="one of nodeName, nodeSelector, allNodes"):
        decode_slice(slice_of(**spec))


DELEGATED = {"nodeName": None, "nodeSelectionDelegated": True, "neighbour": {"allNodes": True}}
TERM = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["v"]}]}


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ({}, "the slice delegates it"),
        ({"nodeName": "n", "allNodes": True}, "only one of"),
        ({"nodeSelector": {"nodeSelectorTerms": [TERM, TERM]}}, "has 2 terms; must have exactly one"),
        ({"nodeSelector": {"nodeSelectorTerms": [{}]}}, "no requirement"),
        (
            {
                "nodeSelector": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "k", "operator": "IN", "values": ["v"]}]}
                    ]
                }
            },
            "'IN': must be one of In, NotIn",
        ),
    ],
)
def test_where_the_slice_delegates_each_device_selects_nodes_in_exactly_one_way(body, rule):
    assert rule in broken(composite(**body), **DELEGATED)


def test_where_the_slice_does_not_delegate_no_device_selects_nodes():
    assert "does not delegate" in broken(composite(nodeName="n"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"driver": "Bad_Driver"}, "spec.driver: 'Bad_Driver': must be a lower-case DNS subdomain"),
        ({"driver": None}, "spec.driver: is required"),
        ({"pool": {"name": "Node 1"}}, "spec.pool.name: 'Node 1'"),
        ({"pool": {"name": "n", "generation": "1"}}, "spec.pool.generation: '1': must be an integer"),
        ({"pool": {"name": "n", "resourceSliceCount": 0}}, "must be at least 1"),
        ({"deviceMixins": {"a": 1}}, "spec.deviceMixins: {'a': 1}: must be a list"),
        ({"sharedCounters": []}, "spec.sharedCounters: unknown field"),
    ],
)
def test_a_slice_that_is_no_slice_is_refused_with_object_field_value_and_rule(change, message):
    with pytest.raises(InvalidSlice) as error:
        decode_slice(slice_of(**change))

    assert str(error.value).startswith("ResourceSlice s: ")
    assert message in str(error.value)


SHARE = {"quantity": "40Gi", "requestPolicy": {"default": "1Gi", "validRange": {"min": "1Gi", "step": "1Gi"}}}


def flat(device, mixin):
    """The shared device as it is after its mixin, and what it and the mixin look like when written again."""
    read = decode_slice(slice_of([device], [{"name": "m", "composite": mixin}]))
    spec = encode_slice(read)["spec"]
    return flatten([read]).devices[0], spec["devices"][0]["composite"], spec["deviceMixins"][0]["composite"]


def test_a_device_for_several_claims_has_the_policies_of_its_mixins():
    mixin = {"capacity": {"memory": SHARE}}
    device = {"includes": [{"name": "m"}], "allowMultipleAllocations": True}

    shared, *written = flat(composite(**device), mixin)

    assert shared.is_shareable
    assert str(shared.policies[f"{DRIVER}/memory"].step) == "1Gi"
    assert written == [device, mixin]


def test_who_overrides_a_capacity_overrides_its_policy():
    device = {"includes": [{"name": "m"}], "allowMultipleAllocations": True}

    shared, *_ = flat(
        composite(**device, capacity={"memory": {"quantity": "1Gi"}}), {"capacity": {"memory": SHARE}}
    )

    assert shared.policies == {}


def test_policies_say_nothing_of_a_device_for_one_claim():
    alone, *_ = flat(composite(includes=[{"name": "m"}]), {"capacity": {"memory": SHARE}})

    assert (alone.is_shareable, alone.policies) == (False, {})


def test_a_device_of_the_basic_kind_is_for_one_claim():
    device = {"name": "a", "basic": {"allowMultipleAllocations": True}}

    assert "allowMultipleAllocations" in broken(device)
