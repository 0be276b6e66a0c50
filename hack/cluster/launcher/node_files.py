"""The files that a node's programs read: containerd's, the kubelet's, CNI's and the runtime's wrapper.

In go the node's name, folder and the machine's abilities; out comes text. Paths are the usual ones, since
each node has a mount namespace of its own. Nothing here writes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from launcher.settings import node_address, node_number

CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CNI_PLUGINS = "/usr/lib/cni"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """What the machine lets a container runtime do.

    ``snapshotter`` is overlayfs or native; ``is_cgroup_cured`` says that cgroups cannot be written, so that
    containers get none; ``knows_oci_1_0_only`` says that the runtime refuses newer bundles, without reason.
    """

    program: str
    snapshotter: str
    is_cgroup_cured: bool
    knows_oci_1_0_only: bool


def containerd_toml(folder: Path, runtime: Runtime) -> str:
    """Return containerd's configuration, version 3."""
    return f"""version = 3
root = "{folder}/containerd"
state = "/run/containerd/state"
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins.'io.containerd.cri.v1.runtime']
  disable_apparmor = true
  restrict_oom_score_adj = true
  cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]
  [plugins.'io.containerd.cri.v1.runtime'.containerd]
    default_runtime_name = "crun"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.crun]
      runtime_type = "io.containerd.runc.v2"
      [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.crun.options]
        BinaryName = "{folder}/oci-runtime"
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["{CNI_PLUGINS}"]
    conf_dir = "{folder}/cni.d"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "{runtime.snapshotter}"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "localhost/pause:1"
"""


def oci_runtime(runtime: Runtime) -> str:
    """Return the program that containerd calls: the runtime with the cures that this machine needs."""
    cure = ""
    if runtime.knows_oci_1_0_only:
        cure = """
previous=
for argument in "$@"; do
    [ "$previous" = --bundle ] &&
        sed -i 's/"ociVersion":"[^"]*"/"ociVersion":"1.0.2"/' "$argument/config.json"
    previous=$argument
done"""
    options = "--cgroup-manager=disabled " if runtime.is_cgroup_cured else ""
    return f'#!/bin/sh{cure}\nexec {runtime.program} {options}"$@"\n'


def cni_conflist(name: str) -> str:
    """Return the pods' network: a veth pair and an address for each, reachable from the node."""
    network = {
        "type": "ptp",
        "ipam": {
            "type": "host-local",
            "dataDir": "/run/cni",
            "ranges": [[{"subnet": f"10.244.{node_number(name)}.0/24"}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [network]})


def kubelet_configuration(name: str) -> str:
    """Return the kubelet's configuration: no cgroups of its own, no eviction, no firewall rules."""
    return json.dumps(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "address": node_address(name),
            "healthzPort": 0,
            "readOnlyPort": 0,
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "failCgroupV1": False,
            "localStorageCapacityIsolation": False,
            "makeIPTablesUtilChains": False,
            "resolvConf": "",
            # Nothing answers there: without an address every pod would get a warning.
            "clusterDNS": ["10.96.0.10"],
            "clusterDomain": "cluster.local",
            "volumePluginDir": "/var/lib/kubelet/volume-plugins",
            "evictionHard": {
                "memory.available": "0%",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
                "imagefs.inodesFree": "0%",
            },
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "syncFrequency": "2s",
            "fileCheckFrequency": "2s",
            "nodeStatusUpdateFrequency": "2s",
            # Tests kill containers again and again; each time the usual wait would be twice as long.
            "crashLoopBackOff": {"maxContainerRestartPeriod": "2s"},
        },
        indent=1,
    )
