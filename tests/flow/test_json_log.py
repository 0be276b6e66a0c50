"""The plugin's log as JSON: what a kubelet's calls leave in it."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_prepared_and_unprepared_claims_are_one_json_line_each_with_claim_request_and_device(
    site: Any, kubelet_of: Callable[..., Any]
) -> None:
    claim = site.allocate("u1", "gpu-0-mig-3g-20gb-4-7")
    with site.process("--log-format", "json", "--node-name", site.options.node_name) as process:
        kubelet = kubelet_of(site)
        kubelet.devices(claim)
        assert kubelet.unprepare(claim)
        process.send_signal(signal.SIGTERM)
        process.wait()
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]

    about = {
        "node": site.options.node_name,
        "namespace": "default",
        "claim": "claim-u1",
        "uid": "u1",
        "device": "gpu-0-mig-3g-20gb-4-7",
    }
    told = [one for one in lines if one["logger"] == "plugin.claim.steps"]
    assert [one["message"].partition(": ")[2] for one in told] == [
        "prepared, with gpu-0-mig-3g-20gb-4-7",
        "unprepared",
    ]
    assert all(about.items() <= one.items() and one["request"] for one in told)


def test_a_refused_claim_is_one_json_line_that_names_it(site: Any, kubelet_of: Callable[..., Any]) -> None:
    claim = site.allocate("u1", "gpu-77")
    with site.process("--log-format", "json") as process:
        kubelet_of(site).prepare(claim)
        process.send_signal(signal.SIGTERM)
        process.wait()
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]

    (refused,) = [one for one in lines if one["level"] == "warning"]
    assert (refused["claim"], refused["uid"], refused["device"]) == ("claim-u1", "u1", "gpu-77")


def test_a_policy_says_how_the_plugin_logs(site: Any, kubelet_of: Callable[..., Any], tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    head = "apiVersion: tangram.dev/v1alpha1\nkind: NodePolicy\nrules:\n"
    policy.write_text(head + "- logs: {format: json, level: debug}\n")
    claim = site.allocate("u1", "gpu-0-mig-3g-20gb-4-7")
    with site.process("--policy", str(policy)) as process:
        kubelet_of(site).devices(claim)
        process.send_signal(signal.SIGTERM)
        process.wait()
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]

    assert [one["uid"] for one in lines if "prepared, with" in one["message"]] == ["u1"]
