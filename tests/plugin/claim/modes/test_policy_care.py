"""A change of the policy reaches each device when no claim has it, and never one that a claim has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent.inventory.describe import describe
from agent.inventory.discover import discover
from agent.inventory.modes import ModesOfGpu
from agent.inventory.offered import offered
from agent.inventory.options.settings import Settings
from agent.policy.applied import log_of
from agent.policy.effect_file import Stored
from agent.policy.following import FollowedPolicy
from daemon.logs import LogOptions
from plugin.base.errors import NotReady, PluginError
from plugin.claim.modes.node_labels import RememberedLabels
from plugin.claim.modes.policy_care import REFUSED, WAITS

HEAD = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"
WHOLE = "- gpus:\n  - modes: [whole]\n"
MIG = "- gpus:\n  - modes: [mig]\n"
PART = "gpu-0-mig-3g-20gb-0-3"


@dataclass
class Site:
    """A driver under a policy, and the agent that publishes by what is in effect."""

    bench: object
    file: Path
    told: list[tuple[str, str]] = field(default_factory=list)

    def says(self, rules: str) -> None:
        """Write another policy, as a mounted ConfigMap changes: by another file."""
        other = self.file.with_name("other")
        other.write_text(HEAD + rules)
        other.replace(self.file)

    def look(self) -> None:
        self.bench.driver.policy.look_after()

    def restart(self) -> None:
        self.bench.restart()
        self.bench.driver.policy.tell = lambda reason, text: self.told.append((reason, text))

    @property
    def stored(self) -> Stored:
        found = self.bench.options.effect_file.read()
        assert found is not None
        return found

    def modes(self) -> list[ModesOfGpu | None]:
        return [one.modes for one in self.stored.effect.settings.gpus.values()]

    def published(self) -> set[str]:
        """Return what the agent of the node publishes."""
        followed = FollowedPolicy(self.bench.options.effect_file, Settings())
        read = discover(self.bench.machine.readers, self.bench.node)
        return set(describe(offered(followed.settings(read).on(read))).by_name)


@pytest.fixture
def site(bench, folder: Path) -> Site:
    """Two A100s under a policy without rules."""
    file = folder / "policy.yaml"
    file.write_text(HEAD.replace("rules:", "rules: []"))
    bench.options = replace(bench.options, policy=file)
    made = Site(bench, file)
    made.restart()
    return made


def test_a_policy_without_rules_changes_nothing(site: Site) -> None:
    assert site.modes() == [None, None]
    assert {"gpu-0", PART} <= site.published()


def test_a_policy_reaches_devices_that_nobody_has_at_the_next_look(site: Site) -> None:
    site.says(MIG)
    site.look()

    assert "gpu-0" not in site.published()
    assert PART in site.published()


def test_from_whole_to_mig_a_claimed_gpu_waits_for_the_end_of_its_claim(site: Site) -> None:
    site.says(WHOLE)
    site.look()
    site.bench.prepare("c1", "gpu-0")
    document = site.bench.document("c1").read_bytes()

    site.says(MIG)
    site.look()
    published, waiting = site.published(), site.stored.effect.waiting
    again = site.bench.prepare("c1", "gpu-0")
    site.bench.unprepare("c1")
    site.look()

    assert "gpu-0" in published
    assert PART not in published
    assert "gpu-1-mig-3g-20gb-0-3" in published
    assert [one.device for one in waiting] == ["gpu-0"]
    assert [reason for reason, _ in site.told] == [WAITS]
    assert [one.device for one in again] == ["gpu-0"]
    assert document
    assert PART in site.published()
    assert "gpu-0" not in site.published()
    assert site.bench.prepare("c2", PART)


LAYOUT = "- gpus:\n  - migLayout: [{profile: 3g.20gb, start: 0}, {profile: 2g.10gb, start: 4}]\n"


def test_all_partitions_of_a_layout_are_prepared_side_by_side_and_nothing_else(site: Site) -> None:
    site.says(LAYOUT)
    site.look()
    partitions = sorted(name for name in site.published() if name.startswith("gpu-0"))

    for number, name in enumerate(partitions):
        assert site.bench.prepare(f"c{number}", name)

    assert partitions == ["gpu-0-mig-2g-10gb-4-5", PART]
    with pytest.raises(PluginError, match="the policy of the node offers other MIG partitions of gpu-1"):
        site.bench.prepare("other", "gpu-1-mig-1g-5gb-0")


def test_a_layout_comes_and_goes_on_a_gpu_only_between_its_claims(site: Site) -> None:
    other = "gpu-0-mig-1g-5gb-0"
    site.bench.prepare("c1", other)
    site.says(LAYOUT)
    site.look()
    while_claimed, waiting = site.published(), site.stored.effect.waiting
    site.bench.unprepare("c1")
    site.look()
    after = site.published()

    site.bench.prepare("c2", PART)
    site.says(WHOLE)
    site.look()
    still = site.published()
    site.bench.unprepare("c2")
    site.look()

    assert other in while_claimed
    assert [one.device for one in waiting] == ["gpu-0"]
    assert other not in after
    assert after & still >= {PART}
    assert {name for name in site.published() if name.startswith("gpu-0")} == {"gpu-0"}


def test_a_layout_that_the_gpus_cannot_have_is_told_and_what_was_in_effect_stays(site: Site) -> None:
    site.says(MIG)
    site.look()
    before = site.stored.effect

    site.says("- gpus:\n  - migLayout: [{profile: 3g.20gb, count: 3}]\n")
    site.look()

    assert site.stored.effect == before
    assert ":5: rules[0].gpus[0].migLayout: gpu-0 (NVIDIA A100-SXM4-40GB) cannot" in site.stored.problem
    assert [reason for reason, _ in site.told] == [REFUSED]


def test_what_waits_is_told_once(site: Site) -> None:
    site.bench.prepare("c1", "gpu-0")
    site.says(MIG)
    for _ in range(3):
        site.look()

    assert len(site.told) == 1


def test_a_restart_of_the_plugin_changes_nothing_of_a_claimed_gpu(site: Site) -> None:
    site.says(WHOLE)
    site.look()
    site.bench.prepare("c1", "gpu-0")
    site.says(MIG)

    site.restart()

    assert "gpu-0" in site.published()
    assert PART not in site.published()


def test_a_claim_for_what_the_new_policy_leaves_out_is_refused_with_the_reason(site: Site) -> None:
    site.says(MIG)
    site.look()

    with pytest.raises(PluginError, match="gpu-0 is offered in other modes"):
        site.bench.prepare("c1", "gpu-0")


def test_a_plan_that_was_made_before_the_policy_changed_is_refused_and_retried(site: Site) -> None:
    driver = site.bench.driver
    claim = site.bench.claim("c1", "gpu-0")
    planned = driver._preparer.plan

    def planned_late(*arguments):
        plan = planned(*arguments)
        site.says(MIG)
        site.look()
        return plan

    driver._preparer.plan = planned_late
    with pytest.raises(NotReady, match="the policy of the node changed meanwhile"):
        driver.prepare(claim)

    assert site.bench.records() == ()


WRONG = {
    "a mistake": "- gpus:\n  - modes: [half]\n",
    "rules that disagree": WHOLE + MIG,
    "no YAML": "- [",
    "an unknown key": "- gpu:\n  - modes: [mig]\n",
    "a rule in itself": "- &a {gpus: [*a]}\n",
    "10 MB": "#" * 10 * 2**20,
}


@pytest.mark.parametrize("what", WRONG)
def test_a_bad_policy_is_told_and_the_old_one_stays(what: str, site: Site) -> None:
    site.says(MIG)
    site.look()
    before = site.stored.effect

    site.says(WRONG[what])
    for _ in range(3):
        site.look()

    assert site.stored.effect == before
    assert str(site.file) in site.stored.problem
    assert [reason for reason, _ in site.told] == [REFUSED]


def test_a_bad_policy_that_is_corrected_is_followed_again(site: Site) -> None:
    site.says(WRONG["a mistake"])
    site.look()
    site.says(WHOLE)
    site.look()

    assert site.stored.problem == ""
    assert site.modes() == [ModesOfGpu(mig=False)] * 2


def test_a_file_that_is_away_for_a_moment_changes_nothing(site: Site) -> None:
    site.says(MIG)
    site.look()
    site.file.unlink()
    site.look()

    assert site.modes() == [ModesOfGpu(whole=False)] * 2
    assert "cannot be read" in site.stored.problem


def test_a_damaged_file_of_what_is_in_effect_is_set_aside_and_written_anew(site: Site) -> None:
    path = site.bench.options.effect_file.path
    path.write_text("{}")

    site.restart()

    assert site.modes() == [None, None]
    assert path.with_name(f"{path.name}.damaged").exists()


def test_the_log_follows_what_is_in_effect_at_once_and_from_the_start(site: Site) -> None:
    heard: list[LogOptions] = []
    site.bench.prepare("c1", "gpu-0")
    site.says("- logs: {level: debug}\n")
    site.restart()
    site.bench.driver.policy.heard_by(lambda effect: heard.append(log_of(effect)))
    site.says("- logs: {format: json}\n")
    site.look()

    assert heard == [LogOptions(None, "debug"), LogOptions("json", None)]


def test_rules_for_labels_wait_until_the_labels_are_known(site: Site) -> None:
    answers = [None, {"pool": "a"}]
    times = iter([0.0, 20.0])
    site.bench.driver.policy.labels = RememberedLabels(lambda: answers.pop(0), lambda: next(times))
    site.says("- nodes: {matchLabels: {pool: a}}\n  gpus:\n  - modes: [mig]\n")

    site.look()
    before = site.modes()
    site.look()

    assert before == [None, None]
    assert site.modes() == [ModesOfGpu(whole=False)] * 2


def test_labels_are_asked_for_once_a_minute_and_the_last_ones_count_while_the_server_is_silent() -> None:
    asked: list[float] = []
    now = [0.0]
    answers: list[dict[str, str] | None] = [{"a": "b"}, None]

    def ask() -> dict[str, str] | None:
        asked.append(now[0])
        return answers.pop(0)

    labels = RememberedLabels(ask, lambda: now[0])
    found = []
    for now[0] in (0.0, 2.0, 59.0, 60.0):
        found.append(labels())

    assert found == [{"a": "b"}] * 4
    assert asked == [0.0, 60.0]


def test_the_mig_mode_that_a_policy_keeps_is_turned_on_when_it_comes_into_effect(site: Site) -> None:
    site.says("- gpus:\n  - select: {numbers: [1]}\n    migMode: kept\n")
    site.look()

    assert site.bench.is_in_mig_mode(1)
    assert not site.bench.is_in_mig_mode(0)


@pytest.fixture
def nic_site(bench_of: Callable[..., object], folder: Path) -> Site:
    """Four A30s and two NICs, one with VFs."""
    file = folder / "policy.yaml"
    bench = bench_of("a30x4")
    file.write_text(HEAD.replace("rules:", "rules: []"))
    bench.options = replace(bench.options, policy=file)
    made = Site(bench, file)
    made.restart()
    return made


VF = "nic-0000-19-00-0-vf-0"


def test_vfs_and_nics_are_excluded_and_described_by_the_operator_down_to_one_vf(nic_site: Site) -> None:
    nic_site.says(
        "- nics:\n  - select: {pciAddresses: ['0000:19:00.0']}\n    vfs:\n"
        "    - {indexes: [0], excluded: true}\n"
        "    - {indexes: [1], attributes: {example.com/rail: '7'}}\n"
    )
    nic_site.look()
    followed = FollowedPolicy(nic_site.bench.options.effect_file, Settings())
    read = discover(nic_site.bench.machine.readers, nic_site.bench.node)
    devices = {one.name: one for one in describe(offered(followed.settings(read).on(read))).pool.devices}

    assert VF not in devices
    assert devices["nic-0000-19-00-0-vf-1"].attributes["example.com/rail"] == "7"
    assert "example.com/rail" not in devices["nic-0000-19-00-0"].attributes


def test_a_nic_of_which_a_claim_has_a_vf_is_excluded_when_the_claim_ends(nic_site: Site) -> None:
    nic_site.bench.prepare("c1", VF)
    nic_site.says("- nics:\n  - excluded: true\n")
    nic_site.look()
    during = nic_site.published()
    nic_site.bench.unprepare("c1")
    nic_site.look()

    assert VF in during
    assert not {name for name in nic_site.published() if name.startswith("nic-")}
