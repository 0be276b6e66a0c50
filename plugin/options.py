"""The options of the plugin, checked once: a value of this type can be used without further checks.

Takes texts and paths; returns the paths of all files. Nothing is opened or made here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent.health import state_file
from agent.inventory.model import LinkedGpus, SplitGpus
from agent.inventory.modes import GpuModes
from agent.inventory.numbers.number_file import folder_of
from agent.inventory.options.settings import Settings
from agent.inventory.vfs.rules import VfRules
from agent.policy.effect_file import EffectFile
from daemon.command_line import require
from plugin.base.claim_uid import UID_RULE, is_uid
from plugin.kubelet import sockets
from plugin.kubelet.sockets import PATH_BYTES
from scheduler_core.base.limits import DOMAIN_LENGTH
from scheduler_core.model.names import DRIVER_RULE, is_driver, is_pool

GRACE_S: Final = 20.0
"""Below the 30 s that a pod has by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """For which node and driver the plugin works, and where its files are.

    Shape: paths absolute; ``host_root`` where the host's files are mounted here; ``pod_uid`` becomes part of
           the sockets' names, so that the plugins of two versions can serve side by side; ``linked`` the
           node's table of partitions, ``split`` the GPUs whose GPU instances claims may share, ``vfs`` how
           many VFs its NICs shall have, None without any; ``modes`` in which the GPUs are offered;
           ``imex_channels`` how many of them are offered;
           ``cdi_hook`` NVIDIA's program that updates loaders' caches, as the host names it, None for none;
           ``machine_dir`` the folder of a simulated machine, None for this machine;
           ``has_metadata`` whether containers find metadata files of their devices; ``policy`` the file with
           the policy of the fleet's nodes, None without any; ``replaced`` the given options that it replaces.
    Units: ``call_wait_s`` how many seconds a call may wait for everything together, unless its caller waits
           less long: below the kubelet's 45 s. Of these ``holder_wait_s`` for devices that another claim is
           about to release, ``device_wait_s`` for a device that a NIC's driver makes a moment later.
           ``grace_s`` how many seconds calls may go on after the signal that ends the plugin.
    Raises: InvalidOption naming the option, the value and the rule.
    """

    driver_name: str
    node_name: str
    kubelet_dir: Path = Path("/var/lib/kubelet")
    cdi_dir: Path = Path("/var/run/cdi")
    call_wait_s: float = 40.0
    holder_wait_s: float = 5.0
    device_wait_s: float = 5.0
    grace_s: float = GRACE_S
    pod_uid: str | None = None
    host_root: Path = Path("/")
    linked: LinkedGpus | None = None
    has_metadata: bool = False
    cdi_hook: Path | None = None
    modes: GpuModes = field(default_factory=GpuModes)
    imex_channels: int = 0
    vfs: VfRules | None = None
    split: SplitGpus | None = None
    machine_dir: Path | None = None
    policy: Path | None = None
    replaced: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(is_driver(self.driver_name), "--driver-name", self.driver_name, DRIVER_RULE)
        rule = "must start with a letter: it is the vendor of our CDI devices"
        require(self.driver_name[0].isalpha(), "--driver-name", self.driver_name, rule)
        rule = f"must be a lower-case DNS subdomain of at most {DOMAIN_LENGTH} characters"
        require(_is_node(self.node_name), "--node-name", self.node_name, rule)
        require(self.pod_uid is None or is_uid(self.pod_uid), "--pod-uid", self.pod_uid, UID_RULE)
        for name in ("kubelet_dir", "cdi_dir", "host_root"):
            path, option = getattr(self, name), f"--{name.replace('_', '-')}"
            require(path.is_absolute(), option, path, "must be absolute")
        is_usable = self.cdi_hook is None or self.cdi_hook.is_absolute()
        require(is_usable, "--nvidia-cdi-hook", self.cdi_hook, "must be absolute")
        require(0 < self.call_wait_s < 45, "call wait", self.call_wait_s, "must lie between 0 and 45 s")
        rule = f"must be at least 0 s, and at most the {self.call_wait_s:g} s that a call may wait"
        require(0 <= self.holder_wait_s <= self.call_wait_s, "holder wait", self.holder_wait_s, rule)
        require(0 <= self.device_wait_s <= self.call_wait_s, "device wait", self.device_wait_s, rule)
        require(0 < self.grace_s <= 3600, "--grace-period", self.grace_s, "must lie between 0 and 3600 s")
        for socket in (self.dra_socket, self.registration_socket):
            size = len(os.fsencode(socket))
            rule = f"has {size} bytes; the path of a unix socket has at most {PATH_BYTES}"
            require(size <= PATH_BYTES, "--kubelet-dir and --driver-name", socket, rule)

    @property
    def settings(self) -> Settings:
        """Return what the node offers by these options."""
        return Settings(
            linked=self.linked,
            modes=self.modes,
            split=self.split,
            imex_channels=self.imex_channels,
            vfs=self.vfs,
        )

    @property
    def effect_file(self) -> EffectFile:
        """Return the file that says what is in effect of the policy, which the agent reads."""
        return EffectFile(self.gpu_numbers_dir, self.node_name)

    @property
    def data_dir(self) -> Path:
        """Return the folder of everything that must survive a restart."""
        return self.kubelet_dir / "plugins" / self.driver_name

    @property
    def registry_dir(self) -> Path:
        """Return the folder that the kubelet watches."""
        return self.kubelet_dir / "plugins_registry"

    @property
    def dra_socket(self) -> Path:
        """Return the socket that the kubelet calls."""
        return sockets.dra(self.data_dir, self.pod_uid)

    @property
    def registration_socket(self) -> Path:
        """Return the socket by which the kubelet finds the plugin."""
        return sockets.registration(self.registry_dir, self.driver_name, self.pod_uid)

    @property
    def claims_dir(self) -> Path:
        """Return the folder of the records."""
        return self.data_dir / "claims"

    @property
    def metadata_dir(self) -> Path:
        """Return the folder of the metadata files."""
        return self.data_dir / "dra-device-metadata"

    @property
    def hook_dir(self) -> Path:
        """Return the folder where the hook of container runtimes and the plugin meet."""
        return self.data_dir / "hook"

    @property
    def made_vfs_dir(self) -> Path:
        """Return the folder with the files that say which VFs this driver made."""
        return self.data_dir / "made-vfs"

    @property
    def mig_modes_dir(self) -> Path:
        """Return the folder with one file for each GPU whose MIG mode this driver turned on."""
        return self.data_dir / "mig-modes"

    @property
    def gpu_numbers_dir(self) -> Path:
        """Return the folder of the numbers of the GPUs, which the agent uses too."""
        return folder_of(self.kubelet_dir, self.driver_name, self.machine_dir)

    @property
    def health_dir(self) -> Path:
        """Return the folder where the agent keeps what is wrong with devices."""
        return state_file.folder_of(self.kubelet_dir, self.driver_name, self.machine_dir)

    @property
    def folders_of_agent(self) -> tuple[Path, ...]:
        """Return the folders beside the plugin's files in which the agent, which is not root, writes."""
        return self.gpu_numbers_dir, self.health_dir

    @property
    def lock_file(self) -> Path:
        """Return the file whose bytes are the locks."""
        return self.data_dir / "lock"

    @property
    def folders(self) -> tuple[Path, ...]:
        """Return every folder that the plugin writes to, outer ones first."""
        own = self.data_dir, self.claims_dir, self.made_vfs_dir, self.mig_modes_dir
        return (*own, self.registry_dir, self.cdi_dir)


def _is_node(name: str) -> bool:
    return "/" not in name and is_pool(name)
