"""What a policy means for one node: the most specific entry counts, and two that disagree are refused."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.health.causes import Severity
from agent.health.rules import HealthRules
from agent.inventory.modes import ModesOfGpu
from agent.inventory.options.settings import Settings
from agent.policy.applied import log_of, settings_on
from agent.policy.files import BadPolicy, read_file
from agent.policy.model import GpuRule, GpuSelector, InvalidPolicy, Operator, Policy, Requirement, Rule
from agent.policy.resolution import resolve
from daemon.logs import LogOptions
from scheduler_core.frontends.configuration.values import VfMode

WHOLE, MIG = ModesOfGpu(mig=False), ModesOfGpu(whole=False)


def modes_of(resolution) -> list[ModesOfGpu | None]:
    return [one.modes for one in resolution.settings.gpus.values()]


def test_a_rule_is_for_nodes_with_its_labels_only(resolved) -> None:
    rules = "- nodes: {matchLabels: {pool: a}}\n  gpus:\n  - modes: [whole]"

    assert modes_of(resolved(rules, pool="a")) == [WHOLE, WHOLE]
    assert modes_of(resolved(rules, pool="b")) == modes_of(resolved(rules)) == [None, None]


@pytest.mark.parametrize(
    ("expression", "matching"),
    [
        ("{key: k, operator: In, values: [a, b]}", [{"k": "a"}, {"k": "b"}]),
        ("{key: k, operator: NotIn, values: [a]}", [{"k": "b"}, {"k": "c"}, {}]),
        ("{key: k, operator: Exists}", [{"k": "a"}, {"k": "b"}, {"k": "c"}]),
        ("{key: k, operator: DoesNotExist}", [{}]),
    ],
)
def test_expressions_select_as_in_kubernetes(expression: str, matching, resolved) -> None:
    rules = f"- nodes: {{matchExpressions: [{expression}]}}\n  gpus:\n  - modes: [whole]"
    nodes = [{"k": "a"}, {"k": "b"}, {"k": "c"}, {}]

    assert [labels for labels in nodes if modes_of(resolved(rules, **labels))[0]] == matching


def test_an_entry_that_selects_gpus_counts_before_one_for_all(resolved) -> None:
    rules = "- gpus:\n  - modes: [whole]\n  - select: {numbers: [1]}\n    modes: [mig]"

    assert modes_of(resolved(rules)) == [WHOLE, MIG]


def test_a_rule_that_selects_nodes_counts_before_one_for_all(resolved) -> None:
    rules = "- gpus:\n  - modes: [whole]\n- nodes: {matchLabels: {a: b}}\n  gpus:\n  - modes: [mig]"

    assert modes_of(resolved(rules, a="b")) == [MIG, MIG]


def test_two_rules_that_disagree_about_a_gpu_are_refused_with_the_line_of_the_second(resolved) -> None:
    rules = "- gpus:\n  - modes: [whole]\n- gpus:\n  - modes: [mig]"

    with pytest.raises(BadPolicy) as refused:
        resolved(rules)

    assert str(refused.value).startswith(
        "policy.yaml:7: rules[1].gpus[0].modes: disagrees with rules[0].gpus[0].modes about gpu-0; "
    )


def test_two_rules_that_agree_are_no_mistake(resolved) -> None:
    assert modes_of(resolved("- gpus:\n  - modes: [whole]\n- gpus:\n  - modes: [whole]")) == [WHOLE, WHOLE]


def test_rules_about_other_nodes_may_say_something_else(resolved) -> None:
    rules = "\n".join(
        f"- nodes: {{matchLabels: {{a: {value}}}}}\n  gpus:\n  - modes: [{mode}]"
        for value, mode in (("x", "whole"), ("y", "mig"))
    )

    assert modes_of(resolved(rules, a="x")) == [WHOLE, WHOLE]
    assert modes_of(resolved(rules, a="y")) == [MIG, MIG]


def test_gpus_are_named_by_product_address_uuid_and_number(resolved, node) -> None:
    gpu = node.gpus[1].gpu
    for select in (
        f'products: ["{gpu.product_name}"], numbers: [1]',
        'products: ["NVIDIA A100*"], numbers: [1]',
        f'pciAddresses: ["{gpu.bdf}"]',
        f'uuids: ["{gpu.uuid}"]',
        "numbers: [1]",
    ):
        assert modes_of(resolved(f"- gpus:\n  - select: {{{select}}}\n    modes: [mig]")) == [None, MIG]


def test_an_entry_that_matches_no_gpu_of_the_node_is_told(resolved) -> None:
    found = resolved("- gpus:\n  - select: {numbers: [7]}\n    modes: [mig]")

    assert found.idle == ("rules[0].gpus[0]: matches no GPU of node node-1",)


def test_profiles_of_which_a_gpu_has_none_are_refused_since_nothing_could_be_cut(resolved) -> None:
    with pytest.raises(
        BadPolicy, match=r"migProfiles: '1g.12gb': gpu-0 .* has none of these; it has 1g\.10gb, 1g\.5gb"
    ):
        resolved("- gpus:\n  - migProfiles: [1g.12gb]")


def test_a_profile_that_only_other_products_have_is_told(resolved) -> None:
    found = resolved("- gpus:\n  - migProfiles: [1g.5gb, 1g.12gb]")

    assert found.idle == ("rules[0].gpus[0].migProfiles: no GPU that it names has '1g.12gb'",)


def test_attributes_of_several_rules_come_together_and_a_vf_may_have_its_own(policy, nics) -> None:
    file = policy(
        "- nics:\n  - attributes: {a.b/rail: '0'}\n"
        "    vfs:\n    - {indexes: [1], attributes: {a.b/rail: '1'}}\n"
        "- nics:\n  - attributes: {a.b/team: x}"
    )

    found = file.placed(lambda one: resolve(one, {}, nics)).settings.nics[nics.nics[0].function.bdf]

    assert found.attributes == {"a.b/rail": "0", "a.b/team": "x"}
    assert found.vfs[1].attributes == {"a.b/rail": "1"}


def test_kinds_and_modes_of_nics_are_settings_and_those_of_a_vf_count_before_its_nics(policy, nics) -> None:
    file = policy(
        "- nics:\n  - {kinds: [vf], modes: [vfio, rdma]}\n"
        "  - {select: {linkTypes: [ethernet]}, vfs: [{indexes: [1], modes: [netdev]}]}\n"
    )

    found = file.placed(lambda one: resolve(one, {}, nics)).settings
    offer = settings_on(Settings(), found, nics).offers[nics.nics[0].function.bdf]

    assert offer.of_nic == frozenset()
    assert offer.of_vf(0) == {VfMode.RDMA, VfMode.VFIO}
    assert offer.of_vf(1) == {VfMode.NETDEV}


def test_two_entries_that_disagree_about_modes_of_a_nic_are_refused(policy, nics) -> None:
    file = policy("- nics:\n  - modes: [vfio]\n- nics:\n  - modes: [rdma]\n")

    with pytest.raises(
        BadPolicy, match=r"policy.yaml:7: rules\[1\].nics\[0\].modes: disagrees with rules\[0\]"
    ):
        file.placed(lambda one: resolve(one, {}, nics))


def test_rules_of_health_for_some_nodes_count_before_those_for_all(resolved) -> None:
    rules = "- health: {xids: {'48': note}}\n- nodes: {matchLabels: {a: b}}\n  health: {xids: {'48': evict}}"

    assert resolved(rules).settings.health == HealthRules(xids={48: Severity.NOTE})
    assert resolved(rules, a="b").settings.health == HealthRules(xids={48: Severity.EVICT})


def test_format_and_level_of_the_logs_are_settings_by_themselves(resolved) -> None:
    rules = "- logs: {format: json, level: info}\n- nodes: {matchLabels: {a: b}}\n  logs: {level: debug}"

    assert log_of(resolved(rules).settings) == LogOptions("json", "info")
    assert log_of(resolved(rules, a="b").settings) == LogOptions("json", "debug")
    assert log_of(resolved("- imexChannels: 1").settings) == log_of(None) == LogOptions()


def test_two_rules_that_disagree_about_the_level_of_the_log_are_refused(resolved) -> None:
    with pytest.raises(
        BadPolicy, match=r"policy.yaml:5: rules\[1\].logs.level: disagrees with rules\[0\].logs"
    ):
        resolved("- logs: {level: info}\n- logs: {level: debug}")


def test_two_rules_that_disagree_about_health_are_refused(resolved) -> None:
    with pytest.raises(
        BadPolicy, match=r"policy.yaml:5: rules\[1\].health: disagrees with rules\[0\].health"
    ):
        resolved("- health: {xids: {'48': note}}\n- health: {xids: {'48': evict}}")


def test_true_and_1_are_different_values(resolved) -> None:
    with pytest.raises(BadPolicy, match="disagrees"):
        resolved("- gpus:\n  - attributes: {a.b/c: 1}\n- gpus:\n  - attributes: {a.b/c: true}")


def test_the_example_of_a_fleet_says_something_else_for_each_of_its_three_labels(example, node) -> None:
    file = read_file(example)

    def settings_for(pool: str):
        return file.placed(lambda policy: resolve(policy, {"example.com/pool": pool}, node)).settings

    found = [settings_for(pool) for pool in ("training", "inference", "notebooks", "other")]

    assert len({str(one.gpus) for one in found}) == len(found)
    assert found[0].linked is not None
    assert all(one.modes is None for one in found[3].gpus.values())


SELECTORS = st.sampled_from([None, GpuSelector(numbers=frozenset({0})), GpuSelector(products=("NVIDIA*",))])
MODES = st.sampled_from([None, WHOLE, MIG, ModesOfGpu()])
NODES = st.sampled_from(
    [(), (Requirement("a", Operator.IN, frozenset({"b"})),), (Requirement("c", Operator.EXISTS),)]
)
GPU_RULES = st.builds(GpuRule, path=st.just("p"), select=SELECTORS, modes=MODES)
RULES = st.lists(st.builds(Rule, path=st.just("r"), nodes=NODES, gpus=st.tuples(GPU_RULES)), max_size=6)
LABELS = st.sampled_from([{}, {"a": "b"}, {"a": "b", "c": ""}])


def answer(rules: list[Rule], labels: Mapping[str, str], node) -> object:
    try:
        return resolve(Policy("policy", tuple(rules)), labels, node).settings
    except InvalidPolicy:
        return "refused"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=RULES, labels=LABELS, shuffle=st.randoms(use_true_random=False))
def test_the_order_of_rules_never_matters(rules, labels, shuffle: random.Random, node) -> None:
    other = list(rules)
    shuffle.shuffle(other)

    assert answer(other, labels, node) == answer(rules, labels, node)


def oracle(rules: list[Rule], labels: Mapping[str, str], number: int) -> object:
    """Say in other words what counts for a GPU: the modes of the highest rank that anybody says."""
    by_rank: dict[int, set[ModesOfGpu]] = {}
    for rule in rules:
        for gpu in rule.gpus:
            names = gpu.select is None or gpu.select.numbers is None or number in gpu.select.numbers
            is_for = all(
                (labels.get(one.key) in one.values) if one.values else one.key in labels for one in rule.nodes
            )
            if names and is_for and gpu.modes is not None:
                rank = (rule.nodes != ()) + (gpu.select is not None)
                by_rank.setdefault(rank, set()).add(gpu.modes)
    found = by_rank[max(by_rank)] if by_rank else {None}
    return found.pop() if len(found) == 1 else "refused"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rules=RULES, labels=LABELS)
def test_every_gpu_gets_exactly_one_answer_or_the_policy_is_refused(rules, labels, node) -> None:
    wanted = [oracle(rules, labels, entry.gpu.number) for entry in node.gpus]
    found = answer(rules, labels, node)

    if "refused" in wanted:
        assert found == "refused"
    else:
        assert [one.modes for one in found.gpus.values()] == wanted
