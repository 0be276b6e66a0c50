"""What a node offers by options, from the agent to containers: MPS, compute instances, IMEX channels."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cluster_support import eventually, running
from launcher.client import ClusterControl
from offering import ask, end, offering
from plugin_support import PluginSite
from story import refusal

from agent.hardware.mps.ports import daemon_name
from agent.hardware.open import simulated_hardware
from agent.hardware.types import ComputeMode
from kube_api import PODS, KubeApi

OPTIONS = ("--gpu-modes=0=whole,mig,mps", "--compute-instances=1", "--imex-channels=2")
KNOWN = {"gpu-0", "gpu-0-mps", "gpu-1", "gpu-1-mig-1c-3g-20gb-0-3-ci-0", "imex-channel-0", "imex-channel-1"}
NODES = "find /dev/nvidia* -type c -exec stat -c 'node %n %t:%T' {} +"
SHOWS = f"env; {NODES}; ls /tmp/nvidia-mps 2>/dev/null; ls /dev/shm; echo end"
LOOKS = ("sh", "-c", f"{SHOWS}; exec sleep 100000")
SHARE = 'own.type == "gpu-mps" && own.minor == 0'
WHOLE = 'own.type == "gpu" && own.minor == {}'
PART = 'own.type == "mig" && own.profile == "3g.20gb" && own.parentMinor == 1'
COMPUTE = 'own.type == "compute-instance" && own.profile == "{}" && own.parentMinor == 1'
CHANNEL = 'own.type == "imex-channel" && own.channel == 1'
VERDICT = "cannot allocate all claims"


@pytest.fixture
def site(api: KubeApi, control: ClusterControl, kubeconfig: Path, node: str) -> Iterator[PluginSite]:
    """A driver of its own on the node: an agent and a plugin that run with all the options."""
    driver = f"o{uuid.uuid4().hex[:6]}.tangram.dev"
    with TemporaryDirectory(prefix="tg-", dir="/var/tmp") as folder:
        found = PluginSite(api, control, kubeconfig, node, driver, Path(folder))
        with offering(found, KNOWN, *OPTIONS):
            yield found


def seen(site: PluginSite, name: str, namespace: str) -> str:
    """What the container of a pod has printed."""
    running(site.api, name, namespace)
    path = f"{PODS.path(namespace, name)}/log"
    return eventually(lambda: text if "\nend\n" in (text := site.api.raw_get(path)) else "", "the pod's log")


def capabilities(text: str) -> set[str]:
    """The device nodes of MIG instances that a container has."""
    return set(re.findall(r"^node (/dev/nvidia-caps/nvidia-cap\d+) ", text, re.MULTILINE))


def test_pods_share_a_gpu_under_mps_beside_a_partition_and_a_pod_for_the_whole_gpu_waits_for_both(
    site: PluginSite, namespace: str
) -> None:
    gpu = site.machine.node.cards[0].uuid
    daemons, daemon = simulated_hardware(site.machine).mps, daemon_name(gpu)
    writes = ("sh", "-c", f"touch /dev/shm/from-small; {SHOWS}; exec sleep 100000")

    ask(site, "small", namespace, SHARE, {"memory": "10Gi", "multiprocessors": "24"}, writes)
    small = seen(site, "small", namespace)
    ask(site, "large", namespace, SHARE, {"memory": "20Gi", "multiprocessors": "49"}, LOOKS)
    ask(site, "part", namespace, PART, command=LOOKS)
    ask(site, "whole", namespace, WHOLE.format(0), command=LOOKS)
    large, part = (seen(site, name, namespace) for name in ("large", "part"))
    why = refusal(site.api, "whole", namespace)
    answered, mode = daemons.answers(daemon), site.machine.gpus.compute_mode(gpu)
    end(site, "small", namespace)
    goes_on = daemons.answers(daemon)
    still = refusal(site.api, "whole", namespace)
    end(site, "large", namespace)
    whole = seen(site, "whole", namespace)
    after = daemons.names()
    for name in ("whole", "part"):
        end(site, name, namespace)

    for text in (small, large):
        assert "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps\n" in text
        assert "\ncontrol\n" in text
    assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M\n" in small
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=24\n" in small
    assert "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=20480M\n" in large
    assert "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50\n" in large
    assert "\nfrom-small\n" in large
    assert "CUDA_MPS" not in part + whole
    assert re.search(r"^TANGRAM_DEVICE_GPU_1_MIG_3G_20GB_\w+=MIG-", part, re.MULTILINE)
    assert VERDICT in why
    assert VERDICT in still
    assert answered
    assert goes_on
    assert mode is ComputeMode.EXCLUSIVE_PROCESS
    assert f"TANGRAM_DEVICE_GPU_0={gpu}\n" in whole
    assert after == ()
    assert site.nothing_is_left()
    assert site.machine.gpus.compute_mode(gpu) is ComputeMode.DEFAULT


def test_pods_have_parts_of_one_gpu_instance_and_one_of_them_an_imex_channel_for_itself(
    site: PluginSite, namespace: str
) -> None:
    ask(site, "training", namespace, COMPUTE.format("2c.3g.20gb"), command=LOOKS)
    training = seen(site, "training", namespace)
    ask(site, "evaluation", namespace, COMPUTE.format("1c.3g.20gb"), command=LOOKS)
    ask(site, "channel", namespace, CHANNEL, command=LOOKS)
    ask(site, "whole", namespace, WHOLE.format(1))
    evaluation, channel = (seen(site, name, namespace) for name in ("evaluation", "channel"))
    ask(site, "same", namespace, CHANNEL, command=LOOKS)
    refused = [refusal(site.api, name, namespace) for name in ("whole", "same")]
    (instance,) = site.instances()
    for name in ("whole", "training", "channel"):
        end(site, name, namespace)
    same = seen(site, "same", namespace)
    (left,) = site.instances()
    for name in ("evaluation", "same"):
        end(site, name, namespace)

    uuids = [one.uuid for one in instance.compute_instances]
    assert sorted(sum(f"={one}\n" in text for one in uuids) for text in (training, evaluation)) == [1, 1]
    assert len(capabilities(training)) == len(capabilities(evaluation)) == 2
    assert len(capabilities(training) & capabilities(evaluation)) == 1
    assert len(uuids) == 2
    assert [f"={one.uuid}\n" in evaluation for one in left.compute_instances] == [True]
    for text in (channel, same):
        assert "node /dev/nvidia-caps-imex-channels/channel1 200:1\n" in text
        assert "TANGRAM_DEVICE_IMEX_CHANNEL_1=1\n" in text
    assert all(VERDICT in why for why in refused)
    assert site.nothing_is_left()
