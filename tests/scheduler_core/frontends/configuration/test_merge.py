"""The last configuration of its kind counts for a device; classes come first, defaults at the end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from random_configs import configs, vf_configs

from scheduler_core.frontends.configuration.merge import GivenConfig, counting, effective, with_defaults
from scheduler_core.frontends.configuration.values import (
    CONFIG_OF,
    Config,
    GpuConfig,
    Interval,
    TimeSlicing,
    VfConfig,
    VfMode,
    Vlan,
    VlanProtocol,
)

REQUESTS = ("a", "b", "c/x", "c/y")
types = st.sampled_from(sorted(CONFIG_OF))
requests = st.sampled_from(REQUESTS)
given_configs = st.builds(
    GivenConfig,
    config=configs,
    requests=st.lists(st.sampled_from((*REQUESTS, "c")), max_size=2, unique=True).map(tuple),
    from_class=st.booleans(),
)
lists = st.lists(given_configs, max_size=6)
MAC, OTHER = VfConfig(mac="02:00:00:00:00:01"), VfConfig(trust=True)


@given(lists, requests, types)
def test_one_that_is_for_the_request_and_of_the_kind_counts(
    given_: list[GivenConfig], request: str, device_type: str
) -> None:
    found = counting(given_, request, device_type)
    fitting = [one for one in given_ if type(one.config) is CONFIG_OF[device_type] and one.is_for(request)]

    assert (found is None) == (not fitting)
    assert found is None or found in fitting


@given(lists, requests, types, configs)
def test_the_last_of_the_claim_replaces_all_before_it(
    given_: list[GivenConfig], request: str, device_type: str, config: Config
) -> None:
    last = GivenConfig(config=config, requests=(request,))
    kind = CONFIG_OF[device_type]

    found = counting([*given_, last], request, device_type)

    assert found == (last if type(config) is kind else counting(given_, request, device_type))


@given(lists, requests, types)
def test_classes_never_override_the_claim(given_: list[GivenConfig], request: str, device_type: str) -> None:
    of_claim = counting([one for one in given_ if not one.from_class], request, device_type)

    found = counting(given_, request, device_type)

    assert of_claim is None or found == of_claim


@given(lists, requests, types)
def test_where_classes_stand_in_the_list_does_not_matter(
    given_: list[GivenConfig], request: str, device_type: str
) -> None:
    moved = sorted(given_, key=lambda one: one.from_class)

    assert counting(moved, request, device_type) == counting(given_, request, device_type)


@given(lists, given_configs, requests, types)
def test_one_for_other_requests_changes_nothing(
    given_: list[GivenConfig], other: GivenConfig, request: str, device_type: str
) -> None:
    if not other.is_for(request):
        assert counting([*given_, other], request, device_type) == counting(given_, request, device_type)


@given(lists, requests, types)
def test_giving_everything_twice_changes_nothing(
    given_: list[GivenConfig], request: str, device_type: str
) -> None:
    assert effective([*given_, *given_], request, device_type) == effective(given_, request, device_type)


@given(configs)
def test_defaults_fill_only_what_is_missing_and_once(config: Config) -> None:
    found = with_defaults(config)

    assert with_defaults(found) == found
    if isinstance(config, VfConfig) and isinstance(found, VfConfig):
        kept = {name: getattr(config, name) for name in ("mac", "trust", "netdev", "link_state")}
        assert {name: getattr(found, name) for name in kept} == kept
        assert config.mode in (None, found.mode)
        assert config.vlan is None or (found.vlan is not None and found.vlan.id == config.vlan.id)


@given(vf_configs())
def test_a_later_one_replaces_an_earlier_as_a_whole(config: VfConfig) -> None:
    earlier = GivenConfig(config=VfConfig(mac="02:00:00:00:00:01", trust=True), from_class=True)

    assert effective([earlier, GivenConfig(config=config)], "a", "vf") == with_defaults(config)


def test_a_request_stands_for_its_alternatives_and_an_alternative_for_itself() -> None:
    of_request = GivenConfig(config=MAC, requests=("c",))
    of_alternative = GivenConfig(config=OTHER, requests=("c/x",))

    assert counting([of_request, of_alternative], "c/x", "vf") == of_alternative
    assert counting([of_request, of_alternative], "c/y", "vf") == of_request
    assert counting([of_request], "b", "vf") is None


def test_without_a_configuration_a_device_gets_the_defaults_of_its_kind() -> None:
    assert effective([], "a", "gpu") == effective([], "a", "gpu-partition") == GpuConfig()
    assert effective([], "a", "vf") == VfConfig(mode=VfMode.RDMA, management_devices=False)
    assert effective([], "a", "something-else") is None


def test_the_defaults_are_those_that_are_documented() -> None:
    assert with_defaults(GpuConfig(TimeSlicing())) == GpuConfig(TimeSlicing(Interval.DEFAULT))
    assert with_defaults(VfConfig(mode=VfMode.VFIO, vlan=Vlan(7))) == VfConfig(
        mode=VfMode.VFIO, vlan=Vlan(7, 0, VlanProtocol.CUSTOMER)
    )
